"""Files of many columns take as long as they are."""

import time

import pytest

from app.encoders import fit
from app.services.item_files import read_portions
from app.services.raw_items import form_of
from app.services.raw_tables import Lines

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
    lines = Lines(path, "csv", None, None)
    assert sum(len(portion.items) for portion in lines.portions()) == 3


def seconds(work, path):
    """Of this thread, the least of three times: others may be busy."""
    taken = []
    for _ in range(3):
        begun = time.thread_time()
        work(path)
        taken.append(time.thread_time() - begun)
    return min(taken)


@pytest.mark.parametrize("word", ["", "w"], ids=["numbers", "words and numbers"])
@pytest.mark.parametrize("work", [read_features, read_raw])
def test_work_is_linear_in_columns(tmp_path, work, word):
    few, many = (seconds(work, table(tmp_path / f"{n}.csv", n, word)) for n in (FEW, MANY))
    assert many < SLACK * MANY / FEW * few


def test_many_columns_are_read_guessed_and_encoded(tmp_path):
    """Work that is not linear would not come to an end."""
    path = table(tmp_path / "many.csv", 100_000, "w")
    read_features(path)
    lines = Lines(path, "csv", None, None)
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
