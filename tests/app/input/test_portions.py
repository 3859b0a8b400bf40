"""Bodies that are read in portions: the same as in one piece, and what is no JSON is none."""

import json

import pytest
from pydantic_core import from_json

from app.api import strict_json
from app.api.strict_json import read_json

TEXT = 'a "quoted" \\ text}, {"with": ["brackets"]}, [of all], kinds'
LONG = {
    "objects": {"items": [{"key": f"k{i}", "features": [i, 0.5], "data": {"text": "é" * (i % 5)}} for i in range(99)]},
    "lists": {"features": [[i, 0.25] for i in range(300)]},
    "texts": {"more": 1, "keys": [f"item {i}" for i in range(300)], "next": None},
    "numbers": {"indices": list(range(999))},
}
OTHERS = [
    {"items": [{"text": TEXT, "n": i} for i in range(50)]},
    {"items": [{"nested": [{"a": 1}, {"b": 2}, {"c": 3}]} for _ in range(80)]},
    {"keys": ["a", "b"] * 200, "texts": ["c", "d"] * 200},
    {"outer": {"keys": ["a", "b"] * 200}},
    {"text": "[" + "1, 2, " * 300 + "]", "keys": ["here"]},
    {"text": "[" + '", "' * 300 + "]", "keys": ["here"], "more": ["here"]},
    {"keys": ["here"] * 500, "more": ["here"]},
    {"text": "x" * 2000, "keys": []},
    [["a", "b"] * 300],
    "x" * 2000,
]


@pytest.fixture(autouse=True)
def short_portions(monkeypatch):
    monkeypatch.setattr(strict_json, "PORTION", 100)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("what", [*LONG.values(), *OTHERS])
def test_it_is_what_it_would_be_in_one_piece(what, indent):
    body = json.dumps(what, indent=indent).encode()
    assert read_json(body) == what


@pytest.mark.parametrize("what", LONG)
def test_no_piece_is_long(what, monkeypatch):
    pieces = []

    def read(text, **options):
        pieces.append(len(text))
        return from_json(text, **options)

    monkeypatch.setattr(strict_json, "from_json", read)
    assert read_json(json.dumps(LONG[what]).encode()) == LONG[what]
    assert max(pieces) < 200 or what == "numbers"


@pytest.mark.parametrize("what", LONG)
def test_whatever_is_missing_or_too_much_it_is_no_json(what):
    body = json.dumps(LONG[what]).encode()
    for place in range(0, len(body), 7):
        for other in (body[:place] + body[place + 1 :], body[:place] + b"," + body[place:], body[:place] + b"NaN"):
            assert told(read_json, other) == told(lambda text: from_json(text, allow_inf_nan=False), other)


def told(read, body):
    try:
        return read(body)
    except ValueError:
        return None
