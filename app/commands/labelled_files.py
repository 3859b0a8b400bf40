"""Labelled tables from files: npz, csv, svmlight."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.datasets import load_svmlight_file

from core.checks import check_finite
from core.experiments.simulation import Dataset

TEST_SHARE = 0.3


def load(path: Path, seed: int, test_share: float = TEST_SHARE) -> Dataset:
    """The file for a command, or a sentence that says what is wrong with it."""
    try:
        return read_dataset(path, seed, test_share)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error


def read_dataset(path: Path, seed: int = 0, test_share: float = TEST_SHARE) -> Dataset:
    """A pool and a test set; what comes without a test set is split at random, by the seed."""
    x, y, x_test, y_test = _read(path)
    _check(path, x, y)
    if x_test is not None:
        _check(path, x_test, y_test)
        if x_test.shape[1] != x.shape[1]:
            raise ValueError(f"{path}: {x.shape[1]} columns to learn from, {x_test.shape[1]} to test on")
    if x_test is None:
        order = np.random.default_rng(seed).permutation(len(y))
        test, pool = np.split(order, [max(int(test_share * len(y)), 1)])
        x, y, x_test, y_test = x[pool], y[pool], x[test], y[test]
    classes = np.unique(np.concatenate([y, y_test]))
    return Dataset(x, np.searchsorted(classes, y), x_test, np.searchsorted(classes, y_test), len(classes))


def _check(path: Path, x: Any, y: Any) -> None:
    if x.ndim != 2 or y.ndim != 1 or x.shape[0] != len(y) or len(y) < 2:
        raise ValueError(f"{path}: expected n rows of numbers and n labels; got shapes {x.shape} and {y.shape}")
    check_finite(x)


def _read(path: Path) -> tuple[Any, Any, Any, Any]:
    match path.suffix.lower():
        case ".npz":
            return _read_npz(path)
        case ".csv":
            return _read_csv(path)
        case ".svm" | ".svmlight" | ".libsvm":
            x, y = load_svmlight_file(str(path))
            return x, y, None, None
        case other:
            raise ValueError(f"{path}: expected a file ending in .npz, .csv or .svmlight, not {other!r}")


def _read_csv(path: Path) -> tuple[Any, Any, Any, Any]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row][1:]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"{path}: expected a header and rows with at least one column of numbers and the label last")
    try:
        numbers = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    except ValueError as error:
        raise ValueError(f"{path}: all columns but the last (the label) must be numbers: {error}") from error
    return numbers, np.array([row[-1] for row in rows]), None, None


def _read_npz(path: Path) -> tuple[Any, Any, Any, Any]:
    with np.load(path, allow_pickle=False) as file:
        if {"X_train", "y_train", "X_test", "y_test"} <= set(file):
            return tuple(_numbers(file[name]) for name in ("X_train", "y_train", "X_test", "y_test"))
        if {"X", "y"} <= set(file):
            return _numbers(file["X"]), file["y"], None, None
        raise ValueError(f"{path}: expected arrays X, y or X_train, y_train, X_test, y_test; there are {sorted(file)}")


def _numbers(array: Any) -> Any:
    return array.astype(np.float64) if array.ndim == 2 else array
