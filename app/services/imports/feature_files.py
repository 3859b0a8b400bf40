"""Items from files, in portions: npz, jsonl, csv, svmlight."""

import csv
import io
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from pydantic_core import from_json

from app.services.budgets import Budgets
from app.services.imports.npz import NpzTable
from app.services.imports.portions import BoundedLines, in_portions
from app.services.items import features
from app.services.items.add import NewItem, dense_row, sparse_row
from app.services.plain import check_plain
from app.services.problems import Invalid, Problem
from app.services.runtime.checks import Check, go_on

Format = Literal["npz", "jsonl", "csv", "svmlight"]
PORTION = 500  # rows


@dataclass(frozen=True)
class Row:
    """An item, and its label if the file has one."""

    item: NewItem
    label: str | None = None


@dataclass(frozen=True)
class Portion:
    """Consecutive rows of a file."""

    rows: list[Row]
    width: int | None  # columns, where the format tells
    read: int  # of `total`: bytes or rows
    total: int


def read_portions(
    path: Path, form: Format, index_base: int = 1, budgets: Budgets | None = None, check: Check = go_on
) -> Iterator[Portion]:
    """All items of a file; a ValueError or Problem says what is wrong and where.

    `check` is called for every row or more often: what it raises ends the reading.
    """
    allowed = budgets or Budgets()
    readers: dict[Format, Callable[[], Iterator[Portion]]] = {
        "npz": lambda: _read_npz(path, allowed, check),
        "jsonl": lambda: _read_jsonl(path, allowed, check),
        "csv": lambda: _read_csv(path, allowed, check),
        "svmlight": lambda: _read_svmlight(path, index_base, allowed, check),
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
        elif isinstance(given, list | np.ndarray):
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


def _read_jsonl(path: Path, budgets: Budgets, check: Check) -> Iterator[Portion]:
    size = path.stat().st_size
    with path.open("rb") as file:
        for lines in in_portions(_numbered(BoundedLines(file, budgets.line, check)), PORTION):
            rows, widths = [], set()
            for place, line in lines:
                check()
                if line.strip():
                    entry = _json(line, f"line {place}")
                    rows.append(parsed_item(entry, f"line {place}"))
                    widths |= {len(entry["features"])} if isinstance(entry["features"], list) else set()
                    if len(widths) > 1:
                        raise Invalid(f"line {place}: every line must have as many features as the lines before it")
            yield Portion(rows, widths.pop() if widths else None, file.tell(), size)


def _numbered(lines: BoundedLines[bytes]) -> Iterator[tuple[tuple[int, bytes], int]]:
    """Lines with their numbers, and their sizes."""
    for line in lines:
        lines.end_row()
        yield (lines.number, line), len(line)


def _json(line: bytes, where: str) -> Any:
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise Invalid(f"{where}: not JSON") from error


def _read_csv(path: Path, budgets: Budgets, check: Check) -> Iterator[Portion]:
    """Columns `key` and `label` are what they are called; columns of numbers are features, others are data."""
    size = path.stat().st_size
    with closing(_csv_rows(path, budgets, check)) as table:
        names, _, _ = next(table, ([], 0, 0))
        budgets.check_columns(len(names))
        numeric = _numeric_columns(names, islice(table, PORTION))
    if numeric is None:
        return
    others = sorted(set(range(len(names))) - set(numeric))
    with closing(_csv_rows(path, budgets, check)) as table:
        next(table)
        rows = (
            ((_csv_row(names, numeric, others, line, place), read), length)
            for place, (line, length, read) in enumerate(table, 2)
            if line
        )
        for part in in_portions(rows, PORTION):
            yield Portion([row for row, _ in part], len(numeric), part[-1][1], size)


def _csv_rows(path: Path, budgets: Budgets, check: Check) -> Generator[tuple[list[str], int, int]]:
    """Cells of each row, how many characters they took, and how far the file is read."""
    with path.open("rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        lines = BoundedLines(file, budgets.line, check)
        before = 0
        try:
            for row in csv.reader(lines):
                lines.end_row()
                yield row, lines.size - before, raw.tell()
                before = lines.size
        except UnicodeDecodeError as error:
            raise Invalid("the csv file is not UTF-8 text: save it again as UTF-8") from error
        except csv.Error as error:
            raise Invalid("not a csv file, or a cell is longer than 131072 characters") from error


def _numeric_columns(names: list[str], rows: Iterable[tuple[list[str], int, int]]) -> list[int] | None:
    """Columns that hold numbers in all of these rows; None where there is no row."""
    found: list[int] | None = None
    for line, _, _ in rows:
        if found is None:
            found = [column for column, name in enumerate(names) if name not in ("key", "label")]
        if line:
            found = [column for column in found if column < len(line) and _is_number(line[column])]
    if found is not None and not found:
        raise Invalid("the csv file has no column of numbers under its header; texts need a project with an encoder")
    return found


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _csv_row(names: list[str], numeric: list[int], others: list[int], line: list[str], place: int) -> Row:
    where = f"line {place}"
    if len(line) != len(names):
        raise Invalid(f"{where}: {len(line)} cells, but the header has {len(names)} columns")
    try:
        values = [float(line[column]) for column in numeric]
    except ValueError as error:
        raise Invalid(f"{where}: a column of numbers has something else here") from error
    cells: dict[str, Any] = {names[column]: line[column] for column in others}
    entry = {
        "key": cells.pop("key", None),
        "label": cells.pop("label", None) or None,
        "features": values,
        "data": cells or None,
    }
    return parsed_item(entry, where, place - 1)


def _read_svmlight(path: Path, index_base: int, budgets: Budgets, check: Check) -> Iterator[Portion]:
    from sklearn.datasets import load_svmlight_file

    size = path.stat().st_size
    with path.open("rb") as file:
        for numbered in in_portions(_numbered(BoundedLines(file, budgets.line, check)), PORTION):
            first, lines = numbered[0][0], [line for _, line in numbered]
            try:
                x, y = load_svmlight_file(io.BytesIO(b"".join(lines)), zero_based=True, dtype=np.float64)
            except (ValueError, OverflowError, MemoryError) as error:
                raise Invalid(f"lines {first} to {first + len(lines) - 1}: not in svmlight format") from error
            rows = []
            for i in range(x.shape[0]):
                check()
                entries = slice(x.indptr[i], x.indptr[i + 1])
                where = f"row {first + i}"
                indices = x.indices[entries] - index_base
                if len(indices) and indices.min() < 0:
                    raise Invalid(f"{where}: index 0 in a file whose indices begin with {index_base}: set index_base=0")
                given, label = {"indices": indices, "values": x.data[entries]}, _number_text(y[i])
                rows.append(parsed_item({"features": given, "label": label}, where, first + i))
            yield Portion(rows, None, file.tell(), size)


def _number_text(number: float) -> str:
    """Class numbers as people write them.

    >>> _number_text(-1.0), _number_text(1234567.0), _number_text(0.5)
    ('-1', '1234567', '0.5')
    """
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _read_npz(path: Path, budgets: Budgets, check: Check) -> Iterator[Portion]:
    """X dense, or the parts of a CSR matrix as scipy saves them; keys and y beside it if you like."""
    with closing(NpzTable(path, budgets, check)) as table:
        n, width = table.shape
        number = 0
        for block in table.blocks(PORTION):
            rows = []
            for i in range(block.x.shape[0]):
                check()
                number += 1
                entry = {
                    "key": str(block.keys[i]) if block.keys is not None else None,
                    "label": str(block.labels[i]) if block.labels is not None else None,
                    "features": _npz_features(block.x, i),
                }
                rows.append(parsed_item(entry, f"row {number}", number))
            yield Portion(rows, width, number, n)


def _npz_features(part: Any, i: int) -> Any:
    if not sp.issparse(part):
        return part[i]
    entries = slice(part.indptr[i], part.indptr[i + 1])
    return {"indices": part.indices[entries], "values": part.data[entries]}
