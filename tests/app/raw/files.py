"""Uploads of raw items, drawn and written here."""

import csv
import io
import zipfile

import numpy as np
from PIL import Image, ImageDraw

WORDS = {"sport": "goal match team ball win", "food": "bread soup cake salt spoon"}


def texts(n, seed=0):
    """(label, text) of n items on two topics."""
    rng = np.random.default_rng(seed)
    labels = [list(WORDS)[i % 2] for i in range(n)]
    return [(label, " ".join(rng.choice(WORDS[label].split(), 6))) for label in labels]


def as_csv(rows, names=("key", "text", "label"), first=0):
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(names)
    for i, (label, text) in enumerate(rows, first):
        cells = {"key": f"t{i}", "text": text, "label": label}
        table.writerow([cells[name] for name in names])
    return file.getvalue().encode()


def picture(shape, seed, form="PNG", size=48):
    """A drawn picture: circles or stripes."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (size, size), tuple(rng.integers(0, 80, 3).tolist()))
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        x, y = rng.integers(0, size - 12, 2).tolist()
        ink = tuple(rng.integers(150, 255, 3).tolist())
        if shape == "circle":
            draw.ellipse([x, y, x + 12, y + 12], fill=ink)
        else:
            draw.line([x, 0, x, size], fill=ink, width=3)
    file = io.BytesIO()
    image.save(file, form)
    return file.getvalue()


def pictures(n, first=0, form="PNG"):
    """n files in the folders of their classes."""
    shapes = ["circle", "stripe"]
    return {f"{shapes[i % 2]}/{i}.{form.lower()}": picture(shapes[i % 2], i, form) for i in range(first, first + n)}


def as_zip(files, **options):
    """Files by name; a ZipInfo may stand for a name."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def imported(site, content, state="done", **params):
    """The result of an import, or the message of one that failed."""
    started = site.call("POST", "/import", 202, params={"format": "auto"} | params, content=content)
    job = site.wait(started["job"])
    assert job["state"] == state, job
    return job["result"] if state == "done" else job["message"]
