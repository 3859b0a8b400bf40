"""Stated less true error of what has no label, asked for as the service asks: a fifth of the first hundred by lot."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.encoders import fit
from app.services.model.training import FIRST_TRAINING, GROWTH
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.state import StoredEncoder
from core import OnlineLearner, Settings
from tests.benchmarks.sight.curves import Kept, Result
from tests.benchmarks.sight.tables import tables_of
from tests.benchmarks.sight.texts import texts_of

POOL, TEST = 1000, 1000  # items; of small sets three quarters are the pool
MARKS = (50, 100, 200)  # labels
LEFT = 20  # items that keep no label, at least
FEATURES = ("satimage", "pendigits", "letter", "spam", "adult", "reuters_r8", "scene15_bovw200")


@dataclass(frozen=True, eq=False)
class Data:
    """Items of a kind as they come, with their classes."""

    name: str
    kind: str | None  # of encoder
    items: list
    labels: np.ndarray

    def split(self, seed: int) -> "Split":
        """Encoded items of a pool and of a test, with the settings that a project of them begins with."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        cut = min(POOL, int(0.75 * len(order)))
        pool, test = order[:cut], order[cut : cut + TEST]
        some, others = ([self.items[i] for i in part] for part in (pool, test))
        if self.kind is None:
            rows, parts = (np.array(some), np.array(others)), ProjectSettings().model_parts()
        else:
            encoder = fit(self.kind, some, {"model": None} if self.kind == "text" else None)
            stored = StoredEncoder(self.kind, "", encoder.channels, {"model": encoder.model()})
            suited = stored.model(len({*self.labels[pool], *self.labels[test]}), len(pool))
            parts = ProjectSettings().model_parts(self.kind, stored.columns, suited)
            rows = encoder.encode(some).table, encoder.encode(others).table
        first = (zlib.crc32(self.name.encode()) + seed * 1_000_003) * 1000
        return Split(learner_settings(parts), rows[0], self.labels[pool], rows[1], self.labels[test], first)


@dataclass(frozen=True, eq=False)
class Split:
    settings: Settings
    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    seed: int

    def play(self) -> Result:
        """Accuracy on the test, and stated less true error of what has no label, as it is at so many labels."""
        classes = sorted({*self.y, *self.y_test})
        learner, trained, found = OnlineLearner(self.settings, classes), 0, {}
        learner.add_items(self.x)
        for n in range(1, min(MARKS[-1], len(self.y) - LEFT) + 1):
            pick = learner.query(1, seed=self.seed + n - 1, explore=0.2 if n <= 100 else 0.05)[0]
            learner.label_many({pick.row: self.y[pick.row]}, drawn=[pick.row] if pick.explored else ())
            if n >= max(FIRST_TRAINING, GROWTH * trained):
                learner, trained = OnlineLearner.build(self.settings, self.x, learner.labelling(), train=True), n
            if n in MARKS:
                found[n] = self.score(learner, np.array(classes))
        return found

    def score(self, learner: OnlineLearner, classes: np.ndarray) -> tuple[float, float]:
        """At this moment."""
        free = learner.labels < 0
        stated = learner.predictive(self.x[free])[2]
        error = float(np.mean(classes[stated.argmax(axis=1)] != self.y[free]))
        right = float(np.mean(classes[learner.predictive(self.x_test)[2].argmax(axis=1)] == self.y_test))
        return right, float(1.0 - stated.max(axis=1).mean()) - error


def data(folder: Path, only: str | None) -> Iterator[Data]:
    """Tables, texts, and numbers without an encoder."""
    for name, x, y in tables_of(folder, None):
        if only in (None, name):
            rows = [{f"c{d}": repr(float(value)) for d, value in enumerate(row)} for row in x]
            yield Data(name, "table", rows, y)
    for file, items, labels in texts_of(folder):
        if only in (None, file.removesuffix(".csv")):
            yield Data(file.removesuffix(".csv"), "text", items, labels)
    for name in FEATURES:
        if only in (None, name):
            with np.load(folder / f"{name}.npz") as arrays:
                parts = [("X_train", "X_test"), ("y_train", "y_test")] if "X_train" in arrays else [("X",), ("y",)]
                x, y = (np.concatenate([arrays[key] for key in keys]) for keys in parts)
            yield Data(name, None, list(x.astype(float)), y.astype(str))


def stated(folder: Path, seeds: int, only: str | None = None, keep: Path | None = None) -> None:
    """Seed by seed, so that what is done is balanced at any time; runs are kept in a file."""
    kept = Kept(keep)
    everything = list(data(folder, only))
    for seed in range(seeds):
        for one in everything:
            kept.run((one.name, seed, "AskNext"), lambda one=one, seed=seed: one.split(seed).play())  # type: ignore[misc]
    show(kept, [one.name for one in everything])


def show(kept: Kept, names: list[str]) -> None:
    """A line for each set, in percent: accuracy of the test, and stated less true error, with standard errors."""
    title = " | ".join(f"{n}: accuracy | {n}: stated - true" for n in MARKS)
    print(f"| data | seeds | {title} |\n" + "| --- " * (2 + 2 * len(MARKS)) + "|")
    everything: dict[int, list[np.ndarray]] = {n: [] for n in MARKS}
    for name in names:
        runs, cells = [run for key, run in kept.runs.items() if key[0] == name], []
        for n in MARKS:
            own = 100.0 * np.array([run[n] for run in runs if n in run])
            cells += [told(own[:, 0], ""), told(own[:, 1], "+")] if len(own) else ["", ""]
            everything[n] += [own[:, 1]] if len(own) else []
        print(f"| {name} | {len(runs)} | " + " | ".join(cells) + " |")
    for n, offs in everything.items():
        means, runs_off = np.array([off.mean() for off in offs]), np.abs(np.concatenate(offs))
        print(
            f"{n} labels, {len(offs)} sets: off by {np.abs(means).mean():.1f} (mean of the sets' means), at most 3 in "
            f"{np.sum(np.abs(means) <= 3)} of them; single runs by {runs_off.mean():.1f}, at most 3 in "
            f"{100.0 * np.mean(runs_off <= 3):.0f} %"
        )


def told(values: np.ndarray, sign: str) -> str:
    """A mean with its standard error."""
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{values.mean():{sign}.1f} +- {error:.1f}"
