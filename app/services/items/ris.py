"""References in the RIS format: read as texts of title and abstract, written with the answers."""

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import Any

_FIRST = re.compile(rb"TY  ?- ?\S*\s*")
_TAG = re.compile(r"([A-Z][A-Z0-9])  ?-(?: (.*))?")
_ANSWER = "AskNext label: "
TITLES, ABSTRACTS = ("TI", "T1", "CT"), ("AB", "N2")
FIELDS = {"authors": ("AU", "A1"), "year": ("PY", "Y1"), "journal": ("JO", "T2", "JF"), "doi": ("DO",), "url": ("UR",)}


def entry_of(record: Sequence[str]) -> dict[str, Any]:
    """A reference as a row: its text, its id, its label if we wrote it, and `data`, which keeps it as it came."""
    tags = parsed(record)
    if "TY" not in tags:
        raise ValueError("a reference that does not begin with its type (TY)")
    title, abstract = (_first(tags, names) for names in (TITLES, ABSTRACTS))
    fields = {name: "; ".join(_all(tags, names)) for name, names in FIELDS.items()}
    answers = [note.removeprefix(_ANSWER) for note in tags.get("N1", []) if note.startswith(_ANSWER)]
    entry = {
        "text": "\n\n".join(filter(None, (title, abstract))),
        "id": _first(tags, ("ID", "AN")),
        "label": "".join(answers[-1:]),
    }
    data = {name: value for name, value in fields.items() if value} | {"ris": "\n".join(record)}
    return entry | {"data": data}


def parsed(record: Sequence[str]) -> dict[str, list[str]]:
    """The values of each tag; lines without a tag continue the one before.

    >>> parsed(["TY  - JOUR", "TI  - A long", "title", "ER  - "])
    {'TY': ['JOUR'], 'TI': ['A long title'], 'ER': ['']}
    """
    tags: dict[str, list[str]] = {}
    last: list[str] = []
    for line in record:
        found = _TAG.fullmatch(line)
        if found:
            last = tags.setdefault(found[1], [])
            last.append((found[2] or "").strip())
        elif last:
            last[-1] = f"{last[-1]} {line.strip()}".strip()
    return tags


def written(key: str, data: Mapping[str, Any] | None, label: str | None) -> str:
    """An item as a reference: the one it came as, if it was one, with its label as a note.

    >>> written("a", {"text": "Title\\n\\nAbstract"}, "relevant").splitlines()[2:5]
    ['TI  - Title', 'AB  - Abstract', 'N1  - AskNext label: relevant']
    """
    own = (data or {}).get("ris")
    if isinstance(own, str):
        lines = [line for line in own.splitlines() if not line.startswith(("ER  -", f"N1  - {_ANSWER}"))]
    else:
        text = (data or {}).get("text")
        title, _, abstract = (text if isinstance(text, str) else key).partition("\n")
        lines = ["TY  - GEN", f"ID  - {_line(key)}", f"TI  - {_line(title)}"]
        lines += [f"AB  - {_line(abstract)}"] if abstract.strip() else []
    lines += [] if label is None else [f"N1  - {_ANSWER}{_line(label)}"]
    return "\n".join([*lines, "ER  - "])


def ends(line: str) -> bool:
    """Whether this is the last line of a reference."""
    return re.match(r"ER  ?-", line) is not None


def begins(line: bytes) -> bool:
    """Whether this is the first line of a RIS file."""
    return _FIRST.fullmatch(line.removeprefix(codecs.BOM_UTF8)) is not None


def _all(tags: Mapping[str, list[str]], names: tuple[str, ...]) -> list[str]:
    return next((tags[name] for name in names if name in tags), [])


def _first(tags: Mapping[str, list[str]], names: tuple[str, ...]) -> str:
    return next((value for name in names for value in tags.get(name, []) if value), "")


def _line(text: str) -> str:
    return " ".join(text.split())
