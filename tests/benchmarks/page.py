"""The labelling page in a real Chromium on loopback: its first load, and from key press to the next item painted."""

import io
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from app.encoders.pictures import MAX_PIXELS
from app.services.items.media import Media
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, seconds
from tests.benchmarks.service import ADMIN, NAMES, call, client_of, entries, new_project, serving, spread

ITEMS, PICTURES, KNOWN, PRESSES = 10_000, 1_000, 300, 60
SIDE = 320  # pixels of a picture
FLAGS = "--headless --no-sandbox --disable-gpu"
HOLD = 200  # milliseconds between two presses of somebody who is fast

# Press keys, and take the time until the next item with its picture is on the screen.
PRESS = """async ({keys, hold}) => {
    const item = document.getElementById("item");
    const frame = () => new Promise(done => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(null);
    }));
    const spent = [];
    for (const key of keys) {
        const before = item.dataset.key, begun = performance.now();
        item.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
        const isThere = () => item.dataset.key && item.dataset.key !== before
            && item.querySelector("img")?.complete && item.querySelector("img").naturalWidth;
        do await frame(); while (!isThere());
        spent.push((performance.now() - begun) / 1000);
        await new Promise(done => setTimeout(done, hold));
    }
    return spent;
}"""
LOADED = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .reduce((sum, entry) => sum + entry.transferSize, 0)"""
SHOWN = """() => document.querySelector("#content img")?.naturalWidth > 0 && performance.now()"""


def labelling():
    """A project of 10,000 pictures with some labels, opened and labelled in."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as server, client_of(server) as http:
        project = new_project(http, kernel="hik")
        y = _fill(http, project, Media(Path(folder) / "media", MAX_PIXELS))
        call(http, "POST", f"{project}/labels", json=entries(y, range(KNOWN)))
        with _browser() as browser:
            address = f"{server.address}/#key={ADMIN}&project={project.removeprefix('/v1/projects/')}"
            loads = [_load(browser, address) for _ in range(5)]
            page = loads[-1][2]
            slow, fast = (page.evaluate(PRESS, {"keys": NAMES * (PRESSES // 10), "hold": hold}) for hold in (HOLD, 0))
    sizes, times = [size for size, _, _ in loads], [time for _, time, _ in loads]
    yield Row("the page, all that is loaded until a picture is seen", f"{max(sizes) / 1e3:.0f} kB", aim="300 kB")
    yield Row("  seconds until then", seconds(float(np.median(times))), aim="1 s")
    yield Row("key press to next picture painted, 10,000 pictures", spread(slow), aim="p50 100 ms")
    yield Row("  as fast as keys can be pressed", spread(fast))


def _fill(http, project, media):
    """Pictures as uploads leave them, and histograms that are worth asking about; the right labels."""
    x, y = word_histograms(ITEMS)
    project_id = project.removeprefix("/v1/projects/")
    media.open(project_id)
    rng = np.random.default_rng(0)
    images = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture"
        for _ in range(PICTURES):  # each is stored durably, which takes its time
            file.write_bytes(_picture(rng))
            images.append(f"/v1/projects/{project_id}/media/{media.put(project_id, file)}")
    for first in range(0, ITEMS, 1000):
        rows = [
            {
                "key": f"row-{i + 1}",
                "features": {"indices": x[i].indices.tolist(), "values": x[i].data.tolist()},
                "data": {"image": images[i % PICTURES]},
            }
            for i in range(first, first + 1000)
        ]
        call(http, "POST", f"{project}/items", json={"items": rows})
    return y


def _picture(rng):
    """A JPEG of some 10 kB."""
    coarse = rng.integers(0, 255, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(file, "JPEG", quality=80)
    return file.getvalue()


@contextmanager
def _browser():
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError("this section needs a chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield browser
        browser.close()


def _load(browser, address):
    """Bytes, and seconds until the first picture is seen, with nothing cached; and the page."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(address)
    shown = page.wait_for_function(SHOWN).json_value()
    return page.evaluate(LOADED), shown / 1000, page
