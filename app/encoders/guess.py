"""Which encoder an upload needs, by looking at its file names or at its first rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from app.encoders.contract import Kind
from app.encoders.learn_columns import kind_of
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
WORDS = {"text": "texts", "image": "pictures", "table": "a table", "vectors": "vectors", "sets": "sets of vectors"}
TEXT_WORDS = 5.0  # words an unnamed column of texts has on average
BESIDE_WORDS = 2.0  # and one with a name of texts that stands beside others
MAX_TEXTS = 4  # columns of texts that are read by themselves
MAX_STRAY_SHARE = 0.05  # of the files may be outside of the folders of their classes
VECTOR_COLUMNS = 16  # columns of numbers from which on they are one vector


@dataclass(frozen=True)
class Guess:
    """What an upload holds, why that is thought, and which columns play which part.

    `ways` are all kinds that it can be read as, with the columns of each; texts are in one of theirs.
    """

    kind: Kind
    why: str
    columns: tuple[str, ...] = ()  # to encode
    key: str | None = None
    label: str | None = None
    folders: tuple[str, ...] = ()  # innermost folders of a zip, where they look like classes
    ways: Mapping[Kind, tuple[str, ...]] = field(default_factory=dict)

    def read_as(self, kind: Kind, chosen: Sequence[str] = ()) -> "Guess":
        """The guess with this kind because somebody says so, texts from those of these columns that are there.

        >>> guess_columns(["name", "size"], [["Ann", "3"], ["Bo", "4"]]).read_as("text").columns
        ('name',)
        """
        if kind not in self.ways:
            raise ValueError(f"this file cannot be read as {kind}, but as {' or '.join(self.ways)}: {self.why}")
        columns = self.ways[kind]
        if kind == "text" and columns:
            own = self.columns if self.kind == "text" else columns[:1]
            columns = tuple(column for column in dict.fromkeys((*own, *columns)) if column in chosen) or own
        if (kind, columns) == (self.kind, self.columns):
            return self
        why = f"the texts are in {_listed(columns)}" if kind == "text" else f"read as {WORDS[kind]}, as you chose"
        return replace(self, kind=kind, columns=columns, why=why)


def guess_files(names: Sequence[str], kind: Kind | None = None) -> Guess:
    """What the files in an archive are: pictures or texts, whichever there are more of, or what somebody says.

    >>> guess_files(["cats/1.jpg", "cats/2.jpg", "dogs/1.png", "dogs/2.png", "read.me"]).folders
    ('cats', 'dogs')
    """
    kinds: tuple[Kind, ...] = ("image", "text")
    found = {one: files for one in kinds if (files := files_of(one, names))}
    if not found:
        raise ValueError(f"the archive has no {', '.join((*IMAGES, *TEXTS))} file among its {len(names)} entries")
    chosen = kind if kind in found else max(found, key=lambda name: len(found[name]))
    folders = _folders(found[chosen])
    why = f"the archive holds {len(found[chosen])} {'pictures' if chosen == 'image' else 'texts'}"
    why += f" in {len(folders)} folders, which may be their classes" if folders else ""
    return Guess(chosen, why, folders=folders, ways=dict.fromkeys(found, ()))


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
    """What JSON objects are: a list of numbers is a vector, a list of lists a set, the rest cells of a table.

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
            others = {key, label, *lists}
            texts = tuple(name for name in header if name not in others)
            ways = {kind: (chosen,)} | ({"text": texts} if texts else {})
            return Guess(kind, f"{chosen!r} holds {noun}", (chosen,), key, label, ways=ways)  # type: ignore[arg-type]
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
    """What a table is, by its header and some rows; a ValueError where nothing is left to learn from.

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
    kinds = {name: kind_of(cells[name]) for name in cells.keys() - set(numeric)} | dict.fromkeys(numeric, "numbers")
    words = _words(cells, [name for name in rest if kinds[name] == "categories"])
    other = [name for name in rest if name not in words]
    named: dict[Kind, tuple[str, ...]] = {"text": (*words, *other), "table": tuple(rest), "vectors": tuple(numeric)}
    ways = {kind: columns for kind, columns in named.items() if columns}
    texts = _text_columns(words)
    if texts:
        lengths = [f"{words[name]:.0f}" for name in texts]
        why = f"the column {texts[0]!r} holds texts of {lengths[0]} words on average"
        if len(texts) > 1:
            why = f"the columns {_listed(texts)} hold texts of {_joined(lengths)} words on average"
        return Guess("text", why, texts, key, label, ways=ways)
    if len(numeric) == len(rest) >= VECTOR_COLUMNS and not any(is_missing(c) for name in rest for c in cells[name]):
        return Guess("vectors", f"all {len(rest)} columns hold numbers", tuple(rest), key, label, ways=ways)
    counts = Counter(kinds.values())
    parts = [f"{counts[kind]} of {kind}" for kind in ("numbers", "dates", "categories") if counts[kind]]
    why = f"columns: {', '.join(parts)}"
    return Guess("table", why, tuple(rest), key, label, ways=ways)


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


def _words(cells: Mapping[str, Sequence[str]], names: Sequence[str]) -> dict[str, float]:
    """Words that cells of these columns have on average, most first."""
    found = {name: sum(len(cell.split()) for cell in cells[name]) / len(cells[name]) for name in names}
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def _text_columns(words: Mapping[str, float]) -> tuple[str, ...]:
    """The columns of texts: what they are about first, then those that stand beside it, like a title."""
    named = _first_named(words, TEXT_NAMES)
    main = named or next((name for name, count in words.items() if count >= TEXT_WORDS), None)
    if main is None:
        return ()
    known = {name for name in words if name.strip().lower() in TEXT_NAMES}
    others = [name for name, count in words.items() if count >= (BESIDE_WORDS if name in known else TEXT_WORDS)]
    return (main, *(name for name in others if name != main))[:MAX_TEXTS]


def _listed(names: Sequence[str]) -> str:
    """In words.

    >>> _listed(["title", "body"])
    "'title' and 'body'"
    """
    return _joined([repr(name) for name in names])


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return any(part.startswith((".", "__MACOSX")) for part in parts)


def _folders(names: Sequence[str]) -> tuple[str, ...]:
    """Innermost folders, if nearly every file has one and they hold several files each on average."""
    counts = Counter(folder_of(name) for name in names)
    stray = counts.pop("", 0)
    several = len(counts) >= 2 and len(names) >= 2 * len(counts) and stray <= MAX_STRAY_SHARE * len(names)
    return tuple(sorted(counts)) if several else ()
