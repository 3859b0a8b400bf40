import io

import numpy as np
import pytest

from app.encoders import archive, fit, restore


def test_what_is_no_state_says_so():
    for wrong in (b"", b"nonsense", archive.pack({"kind": "text"}, {})[:-30]):
        with pytest.raises(ValueError, match="not the state of an encoder"):
            restore(wrong)
    with pytest.raises(ValueError, match="no encoder of kind 'smell'"):
        restore(archive.pack({"kind": "smell"}, {}))


def test_a_later_format_says_so(monkeypatch):
    monkeypatch.setattr(archive, "FORMAT", 99)
    later = archive.pack({"kind": "text"}, {})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="format 99"):
        restore(later)


def test_pickles_are_neither_made_nor_read():
    with pytest.raises(ValueError, match="plain numbers"):
        archive.pack({}, {"objects": np.array([{}], dtype=object)})
    file = io.BytesIO()
    np.savez(file, header=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="not the state"):
        restore(file.getvalue())


def test_an_unknown_kind_lists_what_there_is():
    with pytest.raises(ValueError, match="kind must be one of text"):
        fit("smell", [])
