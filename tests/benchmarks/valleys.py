"""Searches that take all for noise: runs of active learning whose model is left there.

`python -m tests.benchmarks.valleys FOLDER [SEEDS [LABELS]]` reads binary_tables.npz there; labels are asked by `unc`,
and hyperparameters found at 10, 20, 40, ... labels. A run is lost if its last search ended where the noise is more than
a hundred times the mean of k(x, x).
"""

import sys
from pathlib import Path

import numpy as np

from core import OnlineLearner, Settings

TABLES = ("tictactoe", "german", "checkerboard")
LOST = 100.0


def run(x, y, seed, labels):
    """Final accuracy on the rest of the rows, and the noise over the mean of k(x, x)."""
    order = np.random.default_rng(seed).permutation(len(y))
    pool, test = order[: len(y) * 2 // 3], order[len(y) * 2 // 3 :]
    learner = OnlineLearner(Settings(complement=True), [str(c) for c in np.unique(y)])
    learner.add_items(x[pool])
    retune_at = 10
    for n in range(1, min(labels, len(pool)) + 1):
        item = learner.query(1, "unc", seed=seed * 1_000_003 + n)[0].row
        learner.label(item, str(y[pool[item]]))
        if n == retune_at:
            learner.tune()
            retune_at *= 2
    names = np.array(learner.classes)
    operator = learner._model.operator
    noise = learner.noise / float(operator.diagonal(operator.training_rows(np.arange(len(operator)))).mean())
    return float(np.mean(names[learner.predict(x[test])] == y[test].astype(str))), noise


def main(arguments):
    """All tables, a line for each run."""
    folder, *numbers = arguments
    seeds, labels = [*map(int, numbers), *(10, 170)[len(numbers) :]]
    tables = np.load(Path(folder) / "binary_tables.npz")
    for name in TABLES:
        lost, found = 0, []
        for seed in range(seeds):
            accuracy, noise = run(tables[f"{name}_X"], tables[f"{name}_y"], seed, labels)
            lost += noise > LOST
            found.append(accuracy)
            print(f"{name} {seed}: accuracy {accuracy:.3f}, noise {noise:.2g}", flush=True)
        print(f"{name}: mean accuracy {np.mean(found):.3f}, least {min(found):.3f}, {lost} of {seeds} lost", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
