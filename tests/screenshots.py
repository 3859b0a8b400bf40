"""`python -m tests.screenshots`: the pictures of README, of drawn things and scikit-learn's digits."""

import shutil
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np
from playwright.sync_api import expect, sync_playwright

from app.commands.demo import make_demo
from tests.app.live import ADMIN, in_thread
from tests.app.page.drawings import zip_of_shapes
from tests.app.page.people import digit, made_key

PICTURES = Path(__file__).parent / "pictures"
ITEM = "() => document.getElementById('item').dataset.key"
ANSWERS, MISTAKES = 240, 0.03
PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "color_scheme": "dark", "device_scale_factor": 2}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, in_thread(None, Path(folder)) as (address, service):
        make_demo(service)
        project = taught(address)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = signed_in(browser, address, viewport={"width": 1280, "height": 800})
            create(page, address)
            label(page, address, project)
            look(page, address, project)
            label(signed_in(browser, address, **PHONE), address, project, "phone.png")
            browser.close()


def taught(address):
    """The demo, labelled by two people who err now and then; its id."""
    rng = np.random.default_rng(0)
    with httpx.Client(base_url=f"{address}/v1", timeout=60, headers={"Authorization": f"Bearer {ADMIN}"}) as http:
        project = http.get("/projects").json()["projects"][0]["id"]
        people = [{"Authorization": f"Bearer {made_key(address, name)}"} for name in ("Ann", "Bob")]
        for i in range(ANSWERS):
            ask = {"count": 1, "explore": 0.25}
            key = http.post(f"/projects/{project}/query", json=ask, headers=people[i % 2]).json()["items"][0]["key"]
            name = str(rng.integers(10)) if rng.random() < MISTAKES else digit(key)
            body = {"labels": [{"key": key, "label": name}]}
            http.post(f"/projects/{project}/labels", json=body, headers=people[i % 2]).raise_for_status()
        job = http.post(f"/projects/{project}/train", json={"tune": True}).json()["job"]
        while http.get(f"/projects/{project}/jobs/{job}").json()["state"] in ("queued", "running"):
            time.sleep(0.2)
    return project


def signed_in(browser, address, **options):
    page = browser.new_context(**options).new_page()
    page.goto(f"{address}/#key={ADMIN}")
    expect(page.locator("a.project").first).to_be_visible()
    return page


def create(page, address):
    page.goto(f"{address}/#view=new")
    shapes = {"name": "drawn_shapes.zip", "mimeType": "application/zip", "buffer": zip_of_shapes(60)}
    page.locator("input[type=file]").set_input_files(shapes)
    expect(page.get_by_role("button", name="Start labelling")).to_be_enabled(timeout=120_000)
    page.get_by_role("textbox", name="Classes").fill("circle\nsquare")
    page.screenshot(path=PICTURES / "create.png")


def label(page, address, project, name="label.png"):
    """Some items labelled, with guesses shown."""
    page.goto(f"{address}/#project={project}&view=label")
    for _ in range(8):
        page.wait_for_function(ITEM)
        page.wait_for_timeout(700)  # until it was seen
        page.keyboard.press(digit(page.wait_for_function(ITEM).json_value()))
    page.keyboard.press("g")
    expect(page.locator(".guessed")).to_be_visible()
    page.wait_for_timeout(1000)
    page.screenshot(path=PICTURES / name)
    page.keyboard.press("g")


def look(page, address, project):
    page.set_viewport_size({"width": 1280, "height": 1480})
    page.goto(f"{address}/#project={project}&view=look")
    expect(page.locator("canvas")).to_have_count(3, timeout=60_000)
    page.wait_for_timeout(1000)
    page.screenshot(path=PICTURES / "look.png")


if __name__ == "__main__":
    main()
