"""Which encoder an upload needs, by looking at its file names or at its first rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from app.encoders.contract import Kind
from app.encoders.numbers import is_missing, is_number

IMAGES = (".jpg", ".jpeg", ".png", ".webp")
TEXTS = (".txt",)
KEY_NAMES = ("key", "id", "uuid", "item_id")
LABEL_NAMES = ("label", "class", "category", "target", "y")
TEXT_NAMES = (
    *("text", "message", "sentence", "review", "comment", "body", "content", "document", "tweet", "question"),
    *("abstract", "description", "title", "headline", "subject"),
)
VECTOR_NAMES = ("features", "vector", "embedding", "embeddings")
SET_NAMES = ("set", "vectors", "points")
TEXT_WORDS = 5.0  # words an unnamed column of texts has on average
VECTOR_COLUMNS = 16  # columns of numbers from which on they are one vector


@dataclass(frozen=True)
class Guess:
    """What an upload holds, why that is thought, and which columns play which part."""

    kind: Kind
    why: str
    columns: tuple[str, ...] = ()  # to encode
    key: str | None = None
    label: str | None = None
    folders: tuple[str, ...] = ()  # innermost folders of a zip, where they look like classes


def guess_files(names: Sequence[str]) -> Guess:
    """Of the files in an archive: pictures or texts, whichever there are more of.

    >>> guess_files(["cats/1.jpg", "cats/2.jpg", "dogs/1.png", "dogs/2.png", "read.me"]).folders
    ('cats', 'dogs')
    """
    images, texts = files_of("image", names), files_of("text", names)
    if not images and not texts:
        raise ValueError(f"the archive has no {', '.join((*IMAGES, *TEXTS))} file among its {len(names)} entries")
    kind: Kind = "image" if len(images) >= len(texts) else "text"
    chosen = images or texts if kind == "image" else texts
    noun = "pictures" if kind == "image" else "texts"
    folders = _folders(chosen)
    why = f"the archive holds {len(chosen)} {noun}"
    why += f" in {len(folders)} folders, which may be their classes" if folders else ""
    return Guess(kind, why, folders=folders)


def files_of(kind: Kind, names: Sequence[str]) -> list[str]:
    """The files of an archive that an encoder of this kind reads; not what file managers leave there."""
    endings = IMAGES if kind == "image" else TEXTS
    return [name for name in names if name.lower().endswith(endings) and not _is_hidden(name)]


def folder_of(name: str) -> str:
    """The innermost folder of a file in an archive.

    >>> folder_of("train/cats/1.jpg")
    'cats'
    """
    return PurePosixPath(name.replace("\\", "/")).parent.name


def guess_entries(entries: Sequence[Mapping[str, Any]]) -> Guess:
    """Of objects, as in JSON lines: a list of numbers is a vector, a list of lists a set, the rest cells of a table.

    >>> guess_entries([{"id": "a", "embedding": [0.1, -0.2]}]).kind
    'vectors'
    """
    header = list(dict.fromkeys(name for entry in entries for name in entry))
    lists = {name: value for entry in entries for name, value in entry.items() if isinstance(value, list) and value}
    rows = [[cell_of(entry.get(name)) for name in header] for entry in entries]
    key, label = _key_and_label(_columns(header, rows))
    for names, nested, kind, noun in (
        (VECTOR_NAMES, False, "vectors", "lists of numbers"),
        (SET_NAMES, True, "sets", "lists of vectors"),
    ):
        found = [name for name, value in lists.items() if isinstance(value[0], list) == nested and name != label]
        if found:
            chosen = min(found, key=lambda name: names.index(name.lower()) if name.lower() in names else len(names))
            return Guess(kind, f"{chosen!r} holds {noun}", (chosen,), key, label)  # type: ignore[arg-type]
    return guess_columns(header, rows)


def cell_of(value: Any) -> str:
    """A JSON value as the cell of a table.

    >>> [cell_of(value) for value in ("a", 1.5, True, None)]
    ['a', '1.5', 'true', '']
    """
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def guess_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Guess:
    """Of the header and some rows of a table of cells; a ValueError where nothing is left to learn from.

    >>> guess_columns(["id", "message", "label"], [["1", "call me", "ham"], ["2", "win now", "spam"]]).columns
    ('message',)
    """
    if not header or all(is_number(name) for name in header):
        raise ValueError("the first line must name the columns")
    if not rows:
        raise ValueError("there is no row under the header")
    cells = _columns(header, rows)
    key, label = _key_and_label(cells)
    cells = {name: column for name, column in cells.items() if name not in (key, label)}
    if not cells:
        raise ValueError(f"there is no column to learn from beside {key}, {label}")
    rest = list(cells)
    numeric = [name for name in rest if all(is_number(cell) or is_missing(cell) for cell in cells[name])]
    text = _text_column(cells, numeric)
    if text is not None:
        return Guess("text", text[1], (text[0],), key, label)
    if len(numeric) == len(rest) >= VECTOR_COLUMNS and not any(is_missing(c) for name in rest for c in cells[name]):
        return Guess("vectors", f"all {len(rest)} columns hold numbers", tuple(rest), key, label)
    why = f"{len(numeric)} columns of numbers and {len(rest) - len(numeric)} of categories"
    return Guess("table", why, tuple(rest), key, label)


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Cells by column, without columns that are empty."""
    columns = {name: [row[place] if place < len(row) else "" for row in rows] for place, name in enumerate(header)}
    return {name: cells for name, cells in columns.items() if not all(map(is_missing, cells))}


def _key_and_label(cells: Mapping[str, Sequence[str]]) -> tuple[str | None, str | None]:
    """Columns called so; a key has another cell in each row."""
    distinct = {name: column for name, column in cells.items() if len(set(column)) == len(column)}
    return _first_named(distinct, KEY_NAMES), _first_named(cells, LABEL_NAMES)


def _first_named(columns: Iterable[str], names: Sequence[str]) -> str | None:
    """The column with the first of these names that any column has."""
    by_name = {column.strip().lower(): column for column in columns}
    return next((by_name[name] for name in names if name in by_name), None)


def _text_column(cells: Mapping[str, Sequence[str]], numeric: Sequence[str]) -> tuple[str, str] | None:
    """The column of texts, and why it is one."""
    words = {
        name: sum(len(cell.split()) for cell in column) / len(column)
        for name, column in cells.items()
        if name not in numeric
    }
    named = _first_named(words, TEXT_NAMES)
    if named is not None:
        return named, f"the column {named!r} holds texts of {words[named]:.0f} words on average"
    longest = max(words, key=lambda name: words[name], default=None)
    if longest is not None and words[longest] >= TEXT_WORDS:
        return longest, f"cells of the column {longest!r} have {words[longest]:.0f} words on average"
    return None


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _folders(names: Sequence[str]) -> tuple[str, ...]:
    """Innermost folders, if every file has one and they hold several files each on average."""
    counts = Counter(folder_of(name) for name in names)
    several = len(counts) >= 2 and "" not in counts and len(names) >= 2 * len(counts)
    return tuple(sorted(counts)) if several else ()
