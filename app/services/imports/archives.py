"""Zip files of pictures or texts, read one entry at a time; nothing is written under a name that they bring."""

import stat
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from app.encoders import Kind, Raw
from app.encoders.guess import folder_of, guess_files
from app.services.budgets import Budgets
from app.services.imports.portions import SAMPLE_BYTES, in_portions
from app.services.imports.raw_items import MAX_LABELS, PORTION, Broken, RawItem, RawPortion, checked_item, split
from app.services.imports.zips import UNREADABLE, open_zip
from app.services.items.media import checked_picture
from app.services.problems import Invalid
from app.services.runtime.checks import Check, go_on

MAX_BYTES: dict[str, int] = {"image": 50 * 2**20, "text": 2**20}  # of an entry
PICTURES = 256  # in a portion
JUNK = ("thumbs.db", "desktop.ini")
ARCHIVES = (".zip", ".gz", ".tar", ".tgz", ".7z", ".rar", ".bz2", ".xz")


class Archive:
    """A zip file of pictures or texts; files are unpacked into `folder`, some at a time."""

    def __init__(
        self, path: Path, folder: Path, kind: Kind | None, budgets: Budgets | None = None, check: Check = go_on
    ) -> None:
        self._folder, self._budgets, self._check = folder, budgets or Budgets(), check
        self._zip = open_zip(path, self._budgets, check)
        try:
            self._entries = [entry for entry in self._zip.infolist() if not self._is_junk(entry)]
            guess = guess_files([entry.filename for entry in self._entries], kind)
            self.guess = guess.read_as(kind or guess.kind)
        except BaseException as error:
            self.close()
            if isinstance(error, ValueError):
                raise Invalid(str(error)) from error
            raise
        self.total = len(self._entries)
        self.labels = list(self.guess.folders[:MAX_LABELS])

    def close(self) -> None:
        """Let the file go."""
        self._zip.close()

    def sample(self, most: int) -> list[Raw]:
        """Entries at equal distances; fewer where texts are long."""
        texts = 0 if self.guess.kind == "image" else sum(entry.file_size for entry in self._entries)
        step = max(1, -(-self.total // most), -(-texts // SAMPLE_BYTES))
        return [item.raw for item in self._read(self._entries[::step]).items]

    def portions(self) -> Iterator[RawPortion]:
        """Items in the order of the archive; the files of a portion are gone when the next one comes."""
        pictures = self.guess.kind == "image"
        sizes = ((entry, 0 if pictures else entry.file_size) for entry in self._entries)
        for part in in_portions(sizes, PICTURES if pictures else PORTION):
            portion = self._read(part)
            yield portion
            for item in portion.items:
                if isinstance(item.raw, Path):
                    item.raw.unlink(missing_ok=True)

    def _read(self, entries: Sequence[zipfile.ZipInfo]) -> RawPortion:
        found: list[RawItem | Broken] = []
        for place, entry in enumerate(entries):
            self._check()
            try:
                found.append(checked_item(self._item(entry, place)))
            except ValueError as error:
                reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
                found.append(Broken(entry.filename[:200], reason))
        return split(found)

    def _item(self, entry: zipfile.ZipInfo, place: int) -> RawItem:
        """A ValueError tells what is wrong with it."""
        name = entry.filename.replace("\\", "/")
        if self._zip.NameToInfo.get(entry.filename) is not entry:
            raise ValueError("another file in the archive has the same name")
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise ValueError("its path points outside of the archive")
        label = folder_of(name) or None if self.guess.folders else None
        content = self._content(entry)
        if self.guess.kind == "image":
            file = self._folder / str(place)
            file.write_bytes(content)
            checked_picture(file, self._budgets.pixels)
            return RawItem(name, file, {"file": name}, label)
        if not name.lower().endswith(".txt"):
            raise ValueError("not a .txt file")
        text = content.decode("utf-8-sig")
        return RawItem(name, text, {"text": text}, label)

    def _content(self, entry: zipfile.ZipInfo) -> bytes:
        most = MAX_BYTES[self.guess.kind]
        try:
            with self._zip.open(entry) as file:
                content = file.read(most + 1)  # whatever the archive says of its size
        except UNREADABLE as error:
            raise ValueError("damaged: it cannot be unpacked") from error
        if len(content) > most:
            raise ValueError(f"larger than {most} bytes")
        return content

    def _is_junk(self, entry: zipfile.ZipInfo) -> bool:
        """Folders, links, archives in the archive, and what file managers leave."""
        self._check()
        parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
        hidden = any(part.startswith("__MACOSX") or (part.startswith(".") and part != "..") for part in parts)
        name = entry.filename.lower()
        link = stat.S_ISLNK(entry.external_attr >> 16)
        return entry.is_dir() or link or hidden or not parts or name.endswith((*JUNK, *ARCHIVES))
