"""A small project to try: handwritten digits as histograms of ink, with pictures."""

import base64
import struct
import zlib
from typing import Any

import numpy as np

from app.db import projects
from app.services.items.add import AddItems, NewItem, dense_row
from app.services.project import catalogue
from app.services.project.settings import ProjectSettings
from app.services.registry.service import Service

NAMES = list("0123456789")  # the page takes the key 3 for the class "3"
MAGNIFIED = 12


def make_demo(service: Service) -> None:
    """Make it, unless there is a project already."""
    with service.database.read() as connection:
        if projects.every_id(connection):
            return
    from sklearn.datasets import load_digits  # a second, which other starts need not wait for

    digits = load_digits()
    project = catalogue.create(service.database, "Demo: handwritten digits", dict.fromkeys(NAMES), ProjectSettings())
    items = [
        NewItem(f"digit-{i:04d}", dense_row(row.tolist()), {"image": picture(image)})
        for i, (row, image) in enumerate(zip(digits.data, digits.images, strict=True))
    ]
    running = service.open(project["id"])
    running.writer.do(AddItems(running.project, items, digits.data.shape[1]))


def picture(image: Any) -> str:
    """A small PNG as a data URL: ink of 0 to 16, magnified."""
    grey = (255 - np.kron(image, np.ones((MAGNIFIED, MAGNIFIED))) * 255 / 16).astype(np.uint8)
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in parts)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
