"""Files of many columns take as long as they are."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from app.encoders import fit
from app.services.imports import npz
from app.services.imports.feature_files import read_portions
from app.services.imports.raw_items import form_of
from app.services.imports.tables import Lines
from app.services.items import features

FORMS = {
    "csv": b"key,x\n" + b"".join(b"k%d,1\n" % i for i in range(50)),
    "jsonl": b"".join(b'{"key": "k%d", "features": [1]}\n' % i for i in range(50)),
    "svmlight": b"1 1:1\n" * 50,
    "npz": None,
}
FEW, MANY = 4_000, 32_000
SLACK = 2.0  # times linear: larger tables also fit less well into caches; quadratic work would be 8 times


def table(path, columns, word=""):
    """Three rows of numbers; every other cell begins with a word."""
    lines = [["key", *(f"c{i}" for i in range(columns))]]
    lines += [[f"k{r}", *(f"{word * (i % 2)}{(r + i) % 7}" for i in range(columns))] for r in range(3)]
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    return path


def read_features(path):
    assert sum(len(portion.rows) for portion in read_portions(path, "csv")) == 3


def read_raw(path):
    lines = Lines(path, "csv", None, ())
    assert sum(len(portion.items) for portion in lines.portions()) == 3


def seconds(work, path, times=1):
    """Of this thread, the least of five tries: others may be busy."""
    taken = []
    for _ in range(5):
        begun = time.thread_time()
        for _ in range(times):
            work(path)
        taken.append(time.thread_time() - begun)
    return min(taken)


@pytest.mark.parametrize("word", ["", "w"], ids=["numbers", "words and numbers"])
@pytest.mark.parametrize("work", [read_features, read_raw])
def test_work_is_linear_in_columns(tmp_path, work, word):
    few, many = (seconds(work, table(tmp_path / f"{n}.csv", n, word), MANY // n) for n in (FEW, MANY))
    assert many < SLACK * few


def test_many_columns_are_read_guessed_and_encoded(tmp_path):
    """Work that is not linear would not come to an end."""
    path = table(tmp_path / "many.csv", 100_000, "w")
    read_features(path)
    lines = Lines(path, "csv", None, ())
    sample = lines.sample(3)
    assert lines.guess.kind == "table"
    assert fit("table", sample).encode(sample).good == [0, 1, 2]


def test_what_a_file_is_is_seen_at_once(tmp_path):
    """A long first line of digits is no svmlight, and the pattern does not try every place of it again."""
    files = [tmp_path / "few", tmp_path / "many"]
    for file, n in zip(files, (2**12, 2**15), strict=True):
        file.write_bytes(b"1" * n)
    few, many = (seconds(lambda file: form_of(file) == "csv", file) for file in files)
    assert many < SLACK * 8 * max(few, 0.001)


class EnoughError(Exception):
    """Raised by a check."""


@pytest.mark.parametrize("form", FORMS)
def test_reading_may_end_at_any_row(tmp_path, form):
    """So that a cancelled import need not wait for the end of a portion."""
    path, asked = tmp_path / "it.npz", []
    np.savez(path, X=np.ones((50, 1))) if form == "npz" else path.write_bytes(FORMS[form])

    def check():
        asked.append(1)
        if len(asked) == 30:
            raise EnoughError

    with pytest.raises(EnoughError):
        list(read_portions(path, form, check=check))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f4", "<i2", "?", ">f8"])
def test_arrays_are_read_in_any_order_of_storage(tmp_path, order, kind):
    x = np.random.default_rng(0).integers(0, 2, (1203, 7)).astype(kind, order=order)
    np.savez(tmp_path / "it.npz", X=x, y=np.arange(1203) % 3, keys=[f"k{i}" for i in range(1203)])
    rows = [row for portion in read_portions(tmp_path / "it.npz", "npz") for row in portion.rows]
    assert [row.item.key for row in rows] == [f"k{i}" for i in range(1203)]
    assert [row.label for row in rows] == [str(i % 3) for i in range(1203)]
    assert np.array_equal(_dense(rows, 7), x)


def test_sparse_rows_of_any_length(tmp_path, monkeypatch):
    """Long ones come alone, and a column that is named twice is summed."""
    monkeypatch.setattr(npz, "PORTION_BYTES", 16 * 40)
    dense = sp.random(700, 60, 0.2, random_state=0).toarray()
    dense[5] = np.arange(1, 61)
    x = sp.csr_matrix(dense)
    x.indices[x.indptr[5] : x.indptr[5] + 2] = 0
    sp.save_npz(tmp_path / "it.npz", x)
    portions = list(read_portions(tmp_path / "it.npz", "npz"))
    assert len(portions) > 100
    rows = [row for portion in portions for row in portion.rows]
    assert np.allclose(_dense(rows, 60), x.toarray())


def _dense(rows, width):
    table = features.table([row.item.features for row in rows], width)
    return table.toarray() if sp.issparse(table) else table
