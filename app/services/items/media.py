"""Media of projects: pictures under names made here, one folder for each project."""

import hashlib
import os
import re
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from app.encoders.pictures import FORMATS
from app.services.problems import NotFound
from app.services.runtime.ids import new_id

TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
SUFFIXES = {"JPEG": "jpg", "MPO": "jpg", "PNG": "png", "WEBP": "webp"}
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombWarning, Image.DecompressionBombError)
warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
_NAME = re.compile(rf"[0-9a-f]{{40}}\.({'|'.join(TYPES)})")


@dataclass(frozen=True)
class Medium:
    """A stored picture."""

    name: str
    content: bytes
    content_type: str


class Media:
    """The folder of all media, whose pictures have so many pixels at most."""

    def __init__(self, folder: Path, max_pixels: int) -> None:
        self._folder = folder
        self._max_pixels = max_pixels

    def open(self, project_id: str) -> None:
        """Make room for a project; what is put later finds it gone if the project is deleted."""
        self.folder_of(project_id).mkdir(parents=True, exist_ok=True)

    def put(self, project_id: str, file: Path) -> str:
        """Take a picture in, all or nothing: its name is the hash of its content. A ValueError says why not."""
        suffix = checked_picture(file, self._max_pixels)
        content = file.read_bytes()
        name = f"{hashlib.sha256(content).hexdigest()[:40]}.{suffix}"
        kept = self.folder_of(project_id) / name
        if not kept.exists():
            part = kept.with_suffix(f".{new_id()}")  # others may be at the same picture
            with part.open("wb") as copy:
                copy.write(content)
                copy.flush()
                os.fsync(copy.fileno())
            part.replace(kept)
        return name

    def get(self, project_id: str, name: str) -> Medium:
        """The picture of a name that `put` gave; NotFound for any other."""
        known = _NAME.fullmatch(name)
        try:
            if known is not None:
                return Medium(name, (self.folder_of(project_id) / name).read_bytes(), TYPES[known[1]])
        except FileNotFoundError:
            pass
        raise NotFound("there is no such picture in this project")

    def remove(self, project_id: str) -> None:
        """All media of a project."""
        shutil.rmtree(self.folder_of(project_id), ignore_errors=True)

    def folder_of(self, project_id: str) -> Path:
        """Where a project's media are; ids of projects are made here, too."""
        if not re.fullmatch(r"[0-9a-f]{32}", project_id):
            raise NotFound("there is no such project")
        return self._folder / project_id


def checked_picture(file: Path, max_pixels: int) -> str:
    """The suffix of a picture by its content, never by its name; a ValueError if it is none that encoders read."""
    try:
        with Image.open(file, formats=FORMATS) as picture:
            width, height = picture.size
            form = str(picture.format)
    except UNREADABLE as error:
        raise ValueError("not a JPEG, PNG or WebP picture") from error
    if width * height > max_pixels:
        raise ValueError(f"{width} x {height} pixels are more than {max_pixels}")
    return SUFFIXES[form]
