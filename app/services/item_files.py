"""Items from files, in portions: npz, jsonl, csv, svmlight."""

import csv
import io
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from pydantic_core import from_json

from app.services import features
from app.services.plain import check_plain
from app.services.pool import NewItem, dense_row, sparse_row
from app.services.problems import Invalid, Problem

Format = Literal["npz", "jsonl", "csv", "svmlight"]
PORTION = 500  # rows
MOST_UNPACKED = 2**30  # bytes of a compressed file
CSR_NAMES = {"data", "indices", "indptr", "shape"}
NOT_NPZ = (
    ValueError,
    TypeError,
    SyntaxError,
    OSError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
)


@dataclass(frozen=True)
class Row:
    """An item, and its label if the file has one."""

    item: NewItem
    label: str | None = None


@dataclass(frozen=True)
class Portion:
    """Some rows of a file."""

    rows: list[Row]
    width: int | None  # columns, where the format tells
    read: int  # of `total`: bytes or rows
    total: int


def read_portions(path: Path, form: Format, index_base: int = 1) -> Iterator[Portion]:
    """All items of a file; a ValueError or Problem says what is wrong and where."""
    readers: dict[Format, Callable[[], Iterator[Portion]]] = {
        "npz": lambda: _read_npz(path),
        "jsonl": lambda: _read_jsonl(path),
        "csv": lambda: _read_csv(path),
        "svmlight": lambda: _read_svmlight(path, index_base),
    }
    return readers[form]()


def parsed_item(entry: Any, where: str, number: int | None = None) -> Row:
    """An item from JSON, checked by hand: files may hold millions. One without a key may be known by its number."""
    if numbered := number is not None and not entry.get("key"):
        entry = entry | {"key": f"row-{number}"}
    if not isinstance(entry, dict) or not isinstance(entry.get("key"), str) or not entry["key"]:
        raise Invalid(f'{where}: expected an object with a text "key"')
    data, label = entry.get("data"), entry.get("label")
    if data is not None and not isinstance(data, dict):
        raise Invalid(f'{where}: "data" must be an object')
    if label is not None and not isinstance(label, str):
        raise Invalid(f'{where}: "label" must be a text')
    check_text(entry["key"], where)
    try:
        check_plain(data)
    except ValueError as error:
        raise Invalid(f'{where}: "data": {error}') from error
    return Row(NewItem(entry["key"], _parsed_features(entry.get("features"), where), data, numbered), label)


def check_text(text: str, where: str) -> None:
    """PostgreSQL takes no NUL, and its indices no long keys."""
    if "\0" in text or len(text) > 500:
        raise Invalid(f"{where}: keys are texts of at most 500 characters without NUL")


def _parsed_features(given: Any, where: str) -> bytes:
    try:
        if isinstance(given, dict) and set(given) == {"indices", "values"}:
            row = sparse_row(_numbers(given["indices"], "iu"), _numbers(given["values"], "fiu"))
        elif isinstance(given, list):
            row = dense_row(_numbers(given, "fiu"))
        else:
            raise Invalid('"features" must be a list of numbers or {"indices": [..], "values": [..]}')
        values = features.values_of(row)
    except Problem as problem:
        raise Invalid(f"{where}: {problem.detail}") from problem
    except (ValueError, TypeError, OverflowError) as error:
        raise Invalid(f'{where}: "features" must be numbers') from error
    if not np.isfinite(values).all():
        raise Invalid(f'{where}: "features" must be finite numbers')
    return row


def _numbers(given: Any, kinds: str) -> Any:
    """A list of numbers as they are: 1.5 is no index, and a text no number."""
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in kinds):
        raise TypeError("not a list of such numbers")
    return array


def _read_jsonl(path: Path) -> Iterator[Portion]:
    size = path.stat().st_size
    with path.open("rb") as file:
        first = 1
        while lines := list(islice(file, PORTION)):
            rows, widths = [], set()
            for place, line in enumerate(lines, first):
                if line.strip():
                    entry = _json(line, f"line {place}")
                    rows.append(parsed_item(entry, f"line {place}"))
                    widths |= {len(entry["features"])} if isinstance(entry["features"], list) else set()
                    if len(widths) > 1:
                        raise Invalid(f"line {place}: as many features are needed as in the lines before")
            yield Portion(rows, widths.pop() if widths else None, file.tell(), size)
            first += len(lines)


def _json(line: bytes, where: str) -> Any:
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise Invalid(f"{where}: not JSON") from error


def _read_csv(path: Path) -> Iterator[Portion]:
    """Columns `key` and `label` are what they are called; columns of numbers are features, others are data."""
    size = path.stat().st_size
    with path.open("rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        table = _csv_lines(file)
        names = next(table, [])
        numeric: list[int] | None = None
        first = 2
        while lines := list(islice(table, PORTION)):
            if numeric is None:
                numeric = _numeric_columns(names, lines)
            rows = [_csv_row(names, numeric, line, place) for place, line in enumerate(lines, first) if line]
            yield Portion(rows, len(numeric), raw.tell(), size)
            first += len(lines)


def _csv_lines(file: io.TextIOWrapper) -> Iterator[list[str]]:
    try:
        yield from csv.reader(file)
    except UnicodeDecodeError as error:
        raise Invalid("the csv file is not UTF-8 text") from error
    except csv.Error as error:
        raise Invalid("not a csv file, or a cell is longer than 131072 characters") from error


def _numeric_columns(names: list[str], lines: list[list[str]]) -> list[int]:
    found = [
        column
        for column, name in enumerate(names)
        if name not in ("key", "label")
        and all(len(line) > column and _is_number(line[column]) for line in lines if line)
    ]
    if not found:
        raise Invalid("the csv file has no column of numbers under its header; texts need a project with an encoder")
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _csv_row(names: list[str], numeric: list[int], line: list[str], place: int) -> Row:
    where = f"line {place}"
    if len(line) != len(names):
        raise Invalid(f"{where}: {len(line)} cells under {len(names)} names")
    try:
        values = [float(line[column]) for column in numeric]
    except ValueError as error:
        raise Invalid(f"{where}: a column that held numbers so far holds something else") from error
    cells = {name: cell for column, (name, cell) in enumerate(zip(names, line, strict=True)) if column not in numeric}
    entry = {
        "key": cells.pop("key", None),
        "label": cells.pop("label", None) or None,
        "features": values,
        "data": cells or None,
    }
    return parsed_item(entry, where, place - 1)


def _read_svmlight(path: Path, index_base: int) -> Iterator[Portion]:
    from sklearn.datasets import load_svmlight_file

    size = path.stat().st_size
    with path.open("rb") as file:
        first = 1
        while lines := list(islice(file, PORTION)):
            try:
                x, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True, dtype=np.float64)
            except (ValueError, OverflowError, MemoryError) as error:
                raise Invalid(f"lines {first} to {first + len(lines) - 1}: not in svmlight format") from error
            rows = []
            for i in range(x.shape[0]):
                entries = slice(x.indptr[i], x.indptr[i + 1])
                where = f"row {first + i}"
                indices = x.indices[entries] - index_base
                if len(indices) and indices.min() < 0:
                    raise Invalid(f"{where}: index 0 in a file whose indices begin with {index_base}: set index_base=0")
                given, label = {"indices": indices, "values": x.data[entries]}, _number_text(y[i])
                rows.append(parsed_item({"features": given, "label": label}, where, first + i))
            yield Portion(rows, None, file.tell(), size)
            first += len(lines)


def _number_text(number: float) -> str:
    """Class numbers as people write them.

    >>> _number_text(-1.0), _number_text(1234567.0), _number_text(0.5)
    ('-1', '1234567', '0.5')
    """
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _read_npz(path: Path) -> Iterator[Portion]:
    """X dense, or the parts of a CSR matrix as scipy saves them; keys, y and texts of data beside it if you like."""
    try:
        check_unpacked(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: array for name, array in file.items() if isinstance(array, np.ndarray)}
    except NOT_NPZ as error:
        raise Invalid("not an npz file of plain arrays") from error
    x = _npz_table(arrays)
    n = x.shape[0]
    keys, labels = arrays.get("keys"), arrays.get("y")
    for name, array in (("keys", keys), ("y", labels)):
        if array is not None and array.shape != (n,):
            raise Invalid(f"{name} must be a list of {n}, one for each row of X")
    for first in range(0, n, PORTION):
        part = x[first : first + PORTION]
        rows = []
        for i in range(part.shape[0]):
            number = first + i
            entry = {
                "key": str(keys[number]) if keys is not None else None,
                "label": str(labels[number]) if labels is not None else None,
                "features": _npz_features(part, i),
            }
            rows.append(parsed_item(entry, f"row {number + 1}", number + 1))
        yield Portion(rows, x.shape[1], first + len(rows), n)


def check_unpacked(path: Path) -> None:
    """A small file may unpack to more than the memory holds."""
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > max(MOST_UNPACKED, 2 * path.stat().st_size):
        raise Invalid(f"a compressed npz file may unpack to {MOST_UNPACKED} bytes; save it without compression")


def _npz_table(arrays: dict[str, Any]) -> Any:
    if set(arrays) >= CSR_NAMES:
        try:
            parts = arrays["data"], arrays["indices"], arrays["indptr"]
            x = sp.csr_matrix(parts, shape=tuple(arrays["shape"]))
            x.check_format(full_check=True)
            x.sum_duplicates()
        except (ValueError, TypeError) as error:
            raise Invalid("data, indices, indptr and shape do not make a CSR matrix") from error
        return x
    x = arrays.get("X")
    if x is None or x.ndim != 2 or x.dtype.kind not in "fiub" or 0 in x.shape:
        raise Invalid("expected a table X of numbers or a CSR matrix as scipy saves it")
    return x.astype(np.float64)


def _npz_features(part: Any, i: int) -> Any:
    if not sp.issparse(part):
        return part[i].tolist()
    entries = slice(part.indptr[i], part.indptr[i + 1])
    return {"indices": part.indices[entries], "values": part.data[entries]}
