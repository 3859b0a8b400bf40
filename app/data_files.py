"""Labelled tables from files: npz, csv, svmlight."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from core.simulation import Task

TEST_SHARE = 0.3


def read_task(path: Path, seed: int = 0) -> Task:
    """A pool and a test set; what comes without a test set is split at random, by the seed."""
    x, y, x_test, y_test = _read(path)
    if x_test is None:
        order = np.random.default_rng(seed).permutation(len(y))
        test, pool = np.split(order, [int(TEST_SHARE * len(y))])
        x, y, x_test, y_test = x[pool], y[pool], x[test], y[test]
    classes = np.unique(np.concatenate([y, y_test]))
    return Task(x, np.searchsorted(classes, y), x_test, np.searchsorted(classes, y_test), len(classes))


def _read(path: Path) -> tuple[Any, Any, Any, Any]:
    match path.suffix.lower():
        case ".npz":
            return _read_npz(path)
        case ".csv":
            table = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=np.str_, encoding="utf-8")
            if table.ndim != 2 or table.shape[1] < 2:
                raise ValueError(
                    f"{path}: expected a header and at least one column of numbers before the label column"
                )
            try:
                return table[:, :-1].astype(np.float64), table[:, -1], None, None
            except ValueError as error:
                raise ValueError(f"{path}: all columns but the last (the label) must be numbers: {error}") from error
        case ".svm" | ".svmlight" | ".libsvm":
            x, y = load_svmlight_file(str(path))
            return x, y, None, None
        case other:
            raise ValueError(f"{path}: expected a file ending in .npz, .csv or .svmlight, not {other!r}")


def _read_npz(path: Path) -> tuple[Any, Any, Any, Any]:
    with np.load(path, allow_pickle=False) as file:
        if {"X_train", "y_train", "X_test", "y_test"} <= set(file):
            return tuple(_numbers(file[name]) for name in ("X_train", "y_train", "X_test", "y_test"))
        if {"X", "y"} <= set(file):
            return _numbers(file["X"]), file["y"], None, None
        raise ValueError(f"{path}: expected arrays X, y or X_train, y_train, X_test, y_test; there are {sorted(file)}")


def _numbers(array: Any) -> Any:
    return array.astype(np.float64) if array.ndim == 2 else array
