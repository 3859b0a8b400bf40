"""Pictures from files, whatever is in them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "WEBP")
MAX_PIXELS = 50_000_000  # of a file, before it is unpacked
MIN_SIDE = 32
LARGE = 16_000_000  # pixels from which on a picture is brought to RGB in strips
STRIP = 1_000_000  # pixels


class BrokenPictureError(ValueError):
    """A file that is not a picture that can be shown; the text says why."""


def read_picture(path: Path, longest: int, at_least: int) -> Image.Image:
    """The first frame, upright, in RGB, its longer side between `at_least` and `longest` pixels."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise BrokenPictureError(f"more than {MAX_PIXELS // 1_000_000} million pixels")
            image.draft("RGB", (longest, longest))  # JPEG is unpacked at the size that is needed
            ImageOps.exif_transpose(image, in_place=True)
            return _resized(image, _size(image, longest, at_least))
    except UnidentifiedImageError as error:
        raise BrokenPictureError("not a JPEG, PNG or WebP picture") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BrokenPictureError(f"more than {MAX_PIXELS // 1_000_000} million pixels") from error
    except FileNotFoundError as error:
        raise BrokenPictureError("there is no such file") from error
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError, OverflowError) as error:
        if isinstance(error, BrokenPictureError):
            raise
        raise BrokenPictureError("damaged or cut short") from error


def _rgb(image: Image.Image) -> Image.Image:
    """Colours on white where the picture is transparent; 16 bits a pixel are brought to 8."""
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray((np.asarray(image, dtype=np.float64) / 257).clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        above = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", above.size, "white"), above).convert("RGB")
    return image.convert("RGB")


def _size(image: Image.Image, longest: int, at_least: int) -> tuple[int, int]:
    """Width and height that it is to have."""
    side = max(image.size)
    scale = min(max(side, at_least), longest) / side
    width, height = (max(MIN_SIDE, round(length * scale)) for length in image.size)
    return width, height


def _resized(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """In RGB. What a resizing makes of a narrow picture first is as large as that of a wide one."""
    if max(image.width, MIN_SIDE) * max(image.height, MIN_SIDE) <= LARGE:
        return _rgb(image).resize(size, Image.Resampling.BICUBIC)
    across, down = (max(1, length // (2 * target)) for length, target in zip(image.size, size, strict=True))
    box = 0, 0, image.width / across, image.height / down
    return _shrunk(image, across, down).resize(size, Image.Resampling.BICUBIC, box)


def _shrunk(image: Image.Image, across: int, down: int) -> Image.Image:
    """In RGB, with the mean of so many pixels for each; strip by strip, so that only one of them is copied."""
    small = Image.new("RGB", (-(-image.width // across), -(-image.height // down)))
    wide, high = max(1, STRIP // down // across) * across, max(1, STRIP // image.width // down) * down
    for top in range(0, image.height, high):
        for left in range(0, image.width, wide):
            part = left, top, min(left + wide, image.width), min(top + high, image.height)
            small.paste(_rgb(image.crop(part)).reduce((across, down)), (left // across, top // down))
    return small


def luma_and_colour(image: Image.Image) -> NDArray[np.uint8]:
    """Height x width x (brightness, blueness, redness)."""
    return np.asarray(image.convert("YCbCr"))
