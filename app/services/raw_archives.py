"""Zip files of pictures or texts, read one entry at a time; nothing is written under a name that they bring."""

import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from app.encoders import Kind, Raw
from app.encoders.guess import folder_of, guess_files
from app.services.media import checked_picture
from app.services.problems import Invalid
from app.services.raw_items import MOST_LABELS, Broken, RawItem, RawPortion, checked_item, split

MOST_ENTRIES = 500_000
MOST_DIRECTORY = 2**27  # bytes of the list of entries
MOST_UNPACKED = 2**30  # bytes, or
MOST_RATIO = 20  # times the size of the upload, whichever is more
MOST_BYTES: dict[str, int] = {"image": 50 * 2**20, "text": 2**20}  # of an entry
PICTURES = 256  # in a portion
JUNK = ("thumbs.db", "desktop.ini")
ARCHIVES = (".zip", ".gz", ".tar", ".tgz", ".7z", ".rar", ".bz2", ".xz")
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)


class Archive:
    """A zip file of pictures or texts; files are unpacked into `folder`, some at a time."""

    def __init__(self, path: Path, folder: Path, kind: Kind | None) -> None:
        _check_directory(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except UNREADABLE as error:
            raise Invalid("not a zip file that can be read") from error
        self._folder = folder
        self._entries = [entry for entry in self._zip.infolist() if not _is_junk(entry)]
        _check_size(self._entries, path.stat().st_size)
        try:
            guess = guess_files([entry.filename for entry in self._entries], kind)
            self.guess = guess.read_as(kind or guess.kind)
        except ValueError as error:
            raise Invalid(str(error)) from error
        self.total = len(self._entries)
        self.labels = list(self.guess.folders[:MOST_LABELS])

    def close(self) -> None:
        """Let the file go."""
        self._zip.close()

    def sample(self, most: int) -> list[Raw]:
        """Entries at equal distances."""
        step = max(1, -(-self.total // most))
        return [item.raw for item in self._read(self._entries[::step]).items]

    def portions(self) -> Iterator[RawPortion]:
        """In the order of the archive; the files of a portion are gone when the next one comes."""
        size = PICTURES if self.guess.kind == "image" else 500
        entries = iter(self._entries)
        while part := list(islice(entries, size)):
            portion = self._read(part)
            yield portion
            for item in portion.items:
                if isinstance(item.raw, Path):
                    item.raw.unlink(missing_ok=True)

    def _read(self, entries: Sequence[zipfile.ZipInfo]) -> RawPortion:
        found: list[RawItem | Broken] = []
        for place, entry in enumerate(entries):
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
            raise ValueError("the name comes twice")
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise ValueError("the name leads out of the archive")
        label = folder_of(name) or None if self.guess.folders else None
        content = self._content(entry)
        if self.guess.kind == "image":
            file = self._folder / str(place)
            file.write_bytes(content)
            checked_picture(file)
            return RawItem(name, file, {"file": name}, label)
        if not name.lower().endswith(".txt"):
            raise ValueError("not a .txt file")
        text = content.decode("utf-8-sig")
        return RawItem(name, text, {"text": text}, label)

    def _content(self, entry: zipfile.ZipInfo) -> bytes:
        most = MOST_BYTES[self.guess.kind]
        try:
            with self._zip.open(entry) as file:
                content = file.read(most + 1)  # whatever the archive says of its size
        except UNREADABLE as error:
            raise ValueError("it cannot be unpacked") from error
        if len(content) > most:
            raise ValueError(f"larger than {most} bytes")
        return content


def _check_directory(path: Path) -> None:
    """All entries are listed in memory."""
    with path.open("rb") as file:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined] # the module has no other door to it
    if end is not None and end[zipfile._ECD_SIZE] > MOST_DIRECTORY:  # type: ignore[attr-defined]
        raise Invalid(f"the archive may have {MOST_ENTRIES} entries")


def _check_size(entries: Sequence[zipfile.ZipInfo], packed: int) -> None:
    if len(entries) > MOST_ENTRIES:
        raise Invalid(f"the archive may have {MOST_ENTRIES} entries; it has {len(entries)}")
    if sum(entry.file_size for entry in entries) > max(MOST_UNPACKED, MOST_RATIO * packed):
        raise Invalid(f"the archive may unpack to {MOST_UNPACKED} bytes, or {MOST_RATIO} times its size")


def _is_junk(entry: zipfile.ZipInfo) -> bool:
    """Folders, links, archives in the archive, and what file managers leave."""
    parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
    hidden = any(part.startswith("__MACOSX") or (part.startswith(".") and part != "..") for part in parts)
    name = entry.filename.lower()
    link = stat.S_ISLNK(entry.external_attr >> 16)
    return entry.is_dir() or link or hidden or not parts or name.endswith((*JUNK, *ARCHIVES))
