"""Features times 1e-6 to 1e6: the curves should be the same."""

from pathlib import Path

import numpy as np

from tests.benchmarks.sight.curves import Result, add, of_features, play, show

FACTORS = (1e-6, 1e-3, 1.0, 1e3, 1e6)
BUDGETS = (50, 100)
FIRST = 20  # labels drawn at random, the same for all
POOL = 500
SETS = ("scene15_bovw200", "satimage")  # counts, and numbers that have a joint meaning


def scale(folder: Path, seeds: int, only: str | None = None) -> None:
    """Projects without an encoder, which choose their kernel by themselves."""
    for name in SETS if only is None else [only]:
        with np.load(folder / f"{name}.npz") as arrays:
            x, y, x_test, truth = (arrays[key] for key in ("X_train", "y_train", "X_test", "y_test"))
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            pool = np.random.default_rng(seed).permutation(len(y))[:POOL]
            rows, labels, known = x[pool].astype(float), y[pool].astype(str), truth.astype(str)
            for factor in FACTORS:
                run = play(of_features(), factor * rows, labels, factor * x_test, known, np.arange(FIRST), BUDGETS)
                add(curves, f"AskNext, x {factor:g}", run)
        show(name, curves)
