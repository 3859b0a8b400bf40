"""Pictures that are drawn, for projects of pictures."""

import io
import zipfile

import numpy as np
from PIL import Image, ImageDraw

SHAPES = {"circle": "ellipse", "square": "rectangle"}


def drawn(shape, seed):
    """A circle or a square somewhere on a light ground, as a PNG."""
    rng = np.random.default_rng(seed)
    picture = Image.new("RGB", (96, 72), tuple(rng.integers(180, 240, 3).tolist()))
    x, y, size = (int(one) for one in rng.integers([4, 4, 24], [40, 24, 44]))
    draw = getattr(ImageDraw.Draw(picture), SHAPES[shape])
    draw((x, y, x + size, y + size), fill=tuple(rng.integers(20, 120, 3).tolist()))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def zip_of_shapes(count, **more):
    """Circles and squares by turns, named after what they show, and other files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for i in range(count):
            shape = "circle" if i % 2 else "square"
            archive.writestr(f"{shape}-{i}.png", drawn(shape, i))
        for name, content in more.items():
            archive.writestr(name, content)
    return file.getvalue()
