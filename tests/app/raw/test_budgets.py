"""Small uploads that would become large: refused as they are read, whatever they say of themselves."""

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tests.app.raw.files import as_zip, imported

MAX_GROWTH = 300_000  # kB


def empty_entries(path, n=1_500_000):
    """A directory of entries, all of the same empty file."""
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, 0, 0, 0, 5, 0) + b"a.txt"
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0) + b"a.txt"
    here, size = len(local), n * len(entry)
    end64 = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, size, here)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, here + size, 1)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    with path.open("wb") as file:
        file.write(local)
        for _ in range(0, n, 10_000):
            file.write(entry * 10_000)
        file.write(end64 + locator + end)


def few_more_entries(path):
    """Fewer than the directory may take, more than there may be."""
    empty_entries(path, 210_000)


def long_texts(path):
    """900 texts of 1 MB in 1 MB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(900):
            archive.writestr(f"{i}.txt", b"word " * 200_000)


def zeros(path):
    path.write_bytes(_npz(np.savez_compressed, X=np.zeros((206_500, 148))))


def small_numbers(path):
    """A set of bytes becomes eight times as large when it is read as floats."""
    path.write_bytes(_npz(np.savez_compressed, **{name: np.zeros((49 * 2**20, 1), dtype=np.uint8) for name in "ab"}))


def many_rows(path):
    """A few columns, and rows that are all empty."""
    rows = 10_000_000
    parts = {"data": np.empty(0), "indices": np.empty(0, dtype=int), "shape": np.array([rows, 3])}
    path.write_bytes(_npz(np.savez_compressed, indptr=np.zeros(rows + 1, dtype=np.int32), **parts))


def declared(shape):
    def write(path):
        parts = {"data": np.ones(1), "indices": np.zeros(1, dtype=int), "indptr": np.array([0, 1])}
        path.write_bytes(_npz(np.savez_compressed, **parts, shape=np.array(shape)))

    return write


def wide_array(path):
    """A dense row that is declared, and not there."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1, 2**33)})
    path.write_bytes(as_zip({"X.npy": header.getvalue()}))


def long_header(path):
    path.write_bytes(as_zip({"X.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b" " * 100_000_000}))


def one_line(content):
    """It goes on with NULs, which take no room on the disk."""

    def write(path):
        path.write_bytes(content)
        os.truncate(path, 400 * 2**20)

    return write


def repeated(head, unit, size, tail=b""):
    def write(path):
        path.write_bytes(head + unit * (size // len(unit)) + tail)

    return write


FILES = {
    "empty entries": (empty_entries, "directory of an archive"),
    "a few entries too many": (few_more_entries, "200000 entries"),
    "long texts": (long_texts, "may unpack to"),
    "zeros": (zeros, "may unpack to"),
    "small numbers": (small_numbers, ""),
    "many rows": (many_rows, "2000000 items"),
    "declared columns": (declared([1, 2**31]), "columns"),
    "declared rows": (declared([2**40, 3]), "CSR matrix"),
    "a wide array": (wide_array, "columns"),
    "a long header": (long_header, "plain arrays"),
    "a long jsonl line": (one_line(b'{"key": "a'), "longer than 4194304"),
    "a long csv header": (one_line(b"a,b,c,d"), "longer than 4194304"),
    "a long svmlight line": (one_line(b"1 1:0.5 2:1"), "longer than 4194304"),
    "nested lists": (repeated(b'{"features": [', b"[],", 4 * 2**20 - 100, b"[]]}"), ""),
    "columns of a csv": (repeated(b"", b"ab,", 4 * 2**20 - 100, b"ab\n1\n"), "columns"),
    "quoted lines": (repeated(b'a,b\n"x', b'\n","y', 16 * 2**20), "longer than 4194304"),
    "columns of a jsonl": (repeated(b'{"key": "a", "features": [', b"1,", 4 * 2**20 - 100, b"1]}\n"), ""),
}


def test_memory_that_refused_uploads_take(tmp_path):
    """All in one process, whose peak is looked at after each."""
    for name, (write, _) in FILES.items():
        write(tmp_path / name)
    command = [sys.executable, "-m", "tests.app.raw.refused", *(tmp_path / name for name in FILES)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    for (name, (_, words)), line in zip(FILES.items(), lines, strict=True):
        said, grown = json.loads(line)
        assert all(words in one for one in said), (name, said)
        assert grown < MAX_GROWTH, (name, grown)


@pytest.mark.parametrize("form", ["csv", "jsonl", "svmlight", "npz", "npz csr", "body", "sparse body"])
def test_columns_are_limited_however_they_come(site, form):
    project = site.project()
    most = project.service.settings.max_columns
    if form.endswith("body"):
        given = {"indices": [most], "values": [1.0]} if form == "sparse body" else [1] * (most + 1)
        problem = project.post("/items", {"items": [{"key": "a", "features": given}]}, 422)
        assert f"{most} columns" in problem["detail"] or "at most 1000000" in problem["detail"]
        return
    files = {
        "csv": b"key" + b",a" * (most + 1) + b"\nk" + b",1" * (most + 1) + b"\n",
        "jsonl": b'{"key": "k", "features": [' + b"1," * most + b"1]}\n",
        "svmlight": b"1 %d:1\n" % (most + 1),
        "npz": _npz(np.savez, X=np.ones((1, most + 1), dtype=np.uint8)),
        "npz csr": _npz(
            np.savez, data=np.ones(1), indices=np.zeros(1, int), indptr=np.array([0, 1]), shape=np.array([1, most + 1])
        ),
    }
    message = imported(project, files[form], "failed", format=form.split()[0])
    assert f"{most} columns" in message
    assert project.get("/items")["items"] == []


def test_items_are_limited(site):
    project = site.project()
    running = project.service.running(project.path.rsplit("/", 1)[1])
    running.project.budgets = replace(running.project.budgets, items=600)
    lines = b"".join(b'{"key": "k%d", "features": [1, 2]}\n' % i for i in range(700))
    assert "600 items, not 700" in imported(project, lines, "failed", format="jsonl")
    assert len(project.get("/items?limit=1000")["items"]) == 500


def _npz(save, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()
