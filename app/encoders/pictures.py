"""Pictures from files, whatever is in them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "WEBP")
MOST_PIXELS = 50_000_000  # of a file, before it is unpacked
LEAST_SIDE = 32


class BrokenPictureError(ValueError):
    """A file that is not a picture that can be shown; the text says why."""


def read_picture(path: Path, longest: int, at_least: int) -> Image.Image:
    """The first frame, upright, in RGB, its longer side between `at_least` and `longest` pixels."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BrokenPictureError(f"more than {MOST_PIXELS // 1_000_000} million pixels")
            image.draft("RGB", (longest, longest))  # JPEG is unpacked at the size that is needed
            return _resized(_rgb(ImageOps.exif_transpose(image)), longest, at_least)
    except UnidentifiedImageError as error:
        raise BrokenPictureError("not a JPEG, PNG or WebP picture") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BrokenPictureError(f"more than {MOST_PIXELS // 1_000_000} million pixels") from error
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


def _resized(image: Image.Image, longest: int, at_least: int) -> Image.Image:
    side = max(image.size)
    scale = min(max(side, at_least), longest) / side
    width, height = (max(LEAST_SIDE, round(length * scale)) for length in image.size)
    return image.resize((width, height), Image.Resampling.BICUBIC)


def luma_and_colour(image: Image.Image) -> NDArray[np.uint8]:
    """Height x width x (brightness, blueness, redness)."""
    return np.asarray(image.convert("YCbCr"))
