"""Honest figures: projects played to see whether bounds hold, when the advice says stop, and what draws cost.

    python -m tests.benchmarks.honest FOLDER [--seeds N] [--keep FILE] [--shares SHARE ...] [--show]

FOLDER has the data of `make campaign`, whose features these are, and some more. The prior of learning curves was chosen
on other seeds of the sets of the campaign; those in `UNSEEN` are apart. Runs go into the file, a line each, and are not
run again. What is true is the share of the items without a label that the model classes right.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from core import OnlineLearner
from core.insight.accuracy import ENOUGH, MORE, TARGET, Curves, Draws, is_near, lowest_accuracy
from core.insight.track_record import Draw
from core.queries.draws import NEAR_SHARE, random_share
from tests.benchmarks.campaign import Data, Split, features, tables, texts, vectors
from tests.benchmarks.sight.tables import tables_of

UNSEEN = ("heart", "wdbc", "ionosphere", "clean1", "letter", "adult", "shuttle")
COSTS = ("reuters_r52", "sms_spam", "diabetes", "satimage")
LABELS, TUNED, TESTED = 300, (10, 20, 40, 80, 160), (50, 100, 150, 200)
TARGETS = (0.8, 0.85, 0.9, 0.95, 0.975)
FIRST_SEED = 200
SHARES: dict[str, Callable[[int], float]] = {
    "fifth": random_share,
    "5 %": lambda _: 0.05,
    "none": lambda _: 0.0,
    "near": random_share,
}


def unseen(folder: Path) -> Iterator[Data]:
    """Sets that nothing was chosen by."""
    for name in UNSEEN[:4]:
        for _, x, y in tables_of(folder, name):
            yield vectors(name, x, y)
    for name in UNSEEN[4:]:
        with np.load(folder / f"{name}.npz") as arrays:
            some = np.random.default_rng(0).permutation(len(arrays["y_train"]))[:4000]
            yield vectors(name, arrays["X_train"][some].astype(float), arrays["y_train"][some])


class Player:
    """A project that is asked and answered, by a rule for the share of items drawn at random."""

    def __init__(self, split: Split, share: str) -> None:
        self.split, self.share, self.rng = split, share, np.random.default_rng([split.seed, 7])
        self.classes = sorted({*split.data.y})
        self.learner = OnlineLearner(split.data.settings, self.classes)
        self.learner.add_items(split.x)
        self.truth, self.test = (np.searchsorted(self.classes, y) for y in (split.y, split.y_test))
        self.draws: dict[int, Draw] = {}
        self.known = 0

    def answer(self) -> None:
        """One more label."""
        share, learner, n = SHARES[self.share](self.known), self.learner, self.known
        if self.share == "near" and is_near(self.evidence(), n, TARGET):
            share = max(share, NEAR_SHARE)
        is_drawn = bool(self.rng.random() < share)
        if is_drawn:
            item = int(self.rng.choice(np.flatnonzero(learner.labels < 0) if n else np.arange(len(learner))))
        else:
            item = learner.query(1, "unc", seed=self.split.seed * 1_000_003 + n)[0].row
        learner.label(item, self.split.y[item], drawn=is_drawn)
        self.known += 1
        if self.known in TUNED:
            learner.tune()

    def evidence(self) -> Draws:
        """The draws so far."""
        return Draws.of(self.learner.publish().record.draws, np.flatnonzero(self.learner.labels >= 0), len(self.truth))

    def look(self) -> list[float]:
        """Labels, the accuracy on the items without one, and what the model says of it."""
        view = self.learner.publish()
        free = np.flatnonzero(view.labels < 0)
        truth = float((view.predicted_of(free) == self.truth[free]).mean())
        return [self.known, truth, 1.0 - float(view.uncertainty[free].mean())]


def play(split: Split, share: str) -> dict[str, Any]:
    """Looks on the way, draws, and accuracy on the test rows; without draws there is nothing to look at."""
    player, looks, tested = Player(split, share), [], {}
    while player.known < min(LABELS, int(0.7 * len(split.y))):
        player.answer()
        n = player.known
        if share != "none" and n >= 10 and player.learner.n_seen > 1 and (n % 10 == 0 or (n <= 40 and n % 2 == 0)):
            looks.append([round(float(value), 4) for value in player.look()])
        if n in TESTED:
            tested[n] = float(np.mean(player.learner.predict(split.x_test) == player.test))
    draws = [[item, *draw] for item, draw in player.learner.publish().record.draws.items()]
    return {"looks": looks, "draws": draws, "tested": tested, "pool": len(split.y)}


def judged(run: dict[str, Any]) -> np.ndarray:
    """A row for each look: labels, draws, truth, the model's statement, bound, expected now and later, stop or not."""
    rows = []
    for n, truth, stated in run["looks"]:
        before = {item: Draw(*draw) for item, *draw in run["draws"] if draw[1] < n}
        draws = Draws.of(before, np.arange(n), run["pool"])  # which items have labels does not matter: none come later
        curves = Curves.after(draws, n, stated)
        stops = [float(curves.advises_stop(draws, target)) for target in TARGETS]
        expected = curves.accuracy(0), curves.accuracy(MORE)
        rows.append([n, len(draws), truth, stated, lowest_accuracy(draws), *expected, *stops])
    return np.array(rows)


def show(runs: dict[tuple[str, int, str], dict[str, Any]]) -> None:
    """What the pages tell."""
    for title, chosen in (("fifth", "fifth"), ("near", "near")):
        for which in ("all", "unseen"):
            own = [
                (key, judged(run))
                for key, run in runs.items()
                if key[2] == chosen and len(run["looks"]) and (which == "all" or key[0] in UNSEEN)
            ]
            if own:
                print(f"\n{title}, {which} sets: {len({k[0] for k, _ in own})} sets, {len(own)} runs")
                _bounds([looks for _, looks in own])
                _stops([looks for _, looks in own])
                _forecasts([looks for _, looks in own])
    _costs(runs)


def _bounds(own: list[np.ndarray]) -> None:
    missed = [float((looks[:, 4] > looks[:, 2]).any()) for looks in own]
    print(f"  runs in which the bound was ever above the truth: {100 * np.mean(missed):.1f} %")
    for n in (100, 200, 300):
        at = np.array([row for looks in own for row in looks if row[0] == n])
        if len(at):
            drawn, truth, bound = at[:, [1, 2, 4]].mean(axis=0)
            print(f"  at {n} labels: {drawn:.0f} draws, bound {bound:.3f}, truth {truth:.3f}")


def _stops(own: list[np.ndarray]) -> None:
    for j, target in enumerate(TARGETS):
        stops = false = 0
        ratios: list[tuple[float, float]] = []
        for looks in own:
            met = np.flatnonzero(looks[:, 2] >= target)
            said = np.flatnonzero(looks[:, 7 + j])
            stops += len(said) > 0
            false += len(said) > 0 and looks[said[0], 2] < target
            if len(met) and 2 * looks[met[0], 0] <= looks[-1, 0] and looks[met[0], 0] > looks[0, 0]:
                ratios.append((looks[met[0], 0], (looks[said[0], 0] if len(said) else np.inf) / looks[met[0], 0]))
        table = np.array(ratios).reshape(-1, 2)
        parts = [
            f"needed {low} to {high}: {(some <= 2).sum()} of {len(some)} within twice, median {np.median(some):.1f}"
            for low, high in ((10, 50), (50, 100), (100, 200))
            if len(some := table[(table[:, 0] >= low) & (table[:, 0] < high), 1])
        ]
        print(f"  target {target}: {stops} of {len(own)} stop, {false} too early; " + "; ".join(parts))


def _forecasts(own: list[np.ndarray]) -> None:
    pairs = []
    for looks in own:
        by = {int(row[0]): row for row in looks}
        for n, row in by.items():
            if n % 20 == 0 and row[1] >= ENOUGH and n + MORE in by:
                pairs.append((row[5] - row[2], row[6] - by[n + MORE][2], row[2] - by[n + MORE][2], row[3] - row[2]))
    names = ("expected now", "expected after 50 more", "truth now for after 50 more", "the model's own statement now")
    for name, off in zip(names, np.array(pairs).T, strict=True):
        print(f"  {name}: off by {100 * off.mean():+.1f}, mean absolute {100 * abs(off).mean():.1f} points")


def _costs(runs: dict[tuple[str, int, str], dict[str, Any]]) -> None:
    for name in COSTS:
        for share in ("fifth", "5 %", "near"):
            seeds = [s for n, s, kind in runs if (n, kind) == (name, share) and (name, s, "none") in runs]
            if len(seeds) > 1:
                pairs = [(runs[name, s, share]["tested"], runs[name, s, "none"]["tested"]) for s in seeds]
                off = 100 * np.array([[a[str(n)] - b[str(n)] for n in TESTED] for a, b in pairs])
                errors = off.std(axis=0, ddof=1) / np.sqrt(len(off))
                told = " / ".join(f"{m:+.1f} +- {e:.1f}" for m, e in zip(off.mean(axis=0), errors, strict=True))
                print(f"{name}, {share} less none at {TESTED} labels, {len(off)} runs: {told}")


def main() -> None:
    """Every share, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keep", type=Path, default=Path("honest.jsonl"))
    parser.add_argument("--shares", nargs="+", default=list(SHARES), choices=list(SHARES))
    parser.add_argument("--show", action="store_true", help="only what the file holds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = arguments.keep.read_text().splitlines() if arguments.keep.exists() else []
    runs = {tuple(key): run for key, run in map(json.loads, lines)}
    folder = arguments.folder
    every = [] if arguments.show else [*tables(folder), *texts(folder), *features(folder), *unseen(folder)]
    for share in arguments.shares:
        for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds):
            for data in every:
                wanted = share in ("fifth", "near") or data.name in COSTS
                if wanted and (data.name, seed, share) not in runs:
                    run = json.loads(json.dumps(play(data.split(seed), share)))
                    runs[data.name, seed, share] = run
                    with arguments.keep.open("a") as file:
                        file.write(json.dumps([[data.name, seed, share], run]) + "\n")
    show(runs)


if __name__ == "__main__":
    main()
