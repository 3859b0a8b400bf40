"""`make campaign DATA=folder`: learning curves to 200 labels, paired with those of `unc` and of scikit-activeml.

Features are made once, without labels: tables by the table encoder, texts by the text encoder and a truncated SVD, all
else as it comes. All strategies of a seed see the same pool and the same test rows. With --keep runs go into a file and
are not run again, so that a campaign can be cut short at any time.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import Badge, DropQuery, ProbCover, TypiClust, UncertaintySampling
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from app.encoders import fit
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.state import StoredEncoder
from core import OnlineLearner, Settings, _jit
from core._types import Floats
from tests.benchmarks.sight.curves import Kept, Result, area
from tests.benchmarks.sight.tables import tables_of
from tests.benchmarks.sight.texts import texts_of

POOL, TEST = 1000, 1000  # rows at most; where there are few, 60 % are the pool
MARKS = (10, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200)  # labels at which accuracy is measured
SHOWN = (50, 100, 200)
TUNED = (10, 20, 40, 80, 160)  # labels at which hyperparameters are found
TOPICS = 100  # columns of a text
LARGEST = 8  # topics of Reuters, which has 52
STEP = 10  # scikit-activeml asks for so many at a time, as its models are fitted anew for each
OURS = ("unc", "random", "mean", "eer", "epig", "uherding")


@dataclass(frozen=True, eq=False)
class Data:
    """Rows of a data set, and the settings that a project with them begins with."""

    name: str
    x: Floats
    y: np.ndarray  # class names
    settings: Settings

    def split(self, seed: int) -> "Split":
        """A pool, and rows to test on."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        cut = min(POOL, int(0.6 * len(order)))
        pool, test = order[:cut], order[cut : cut + TEST]
        return Split(self, self.x[pool], self.y[pool], self.x[test], self.y[test], seed)


@dataclass(frozen=True, eq=False)
class Split:
    data: Data
    x: Floats
    y: np.ndarray
    x_test: Floats
    y_test: np.ndarray
    seed: int


def tables(folder: Path) -> Iterator[Data]:
    """By the table encoder: a histogram kernel of its bins and an RBF kernel of its numbers."""
    for name in ("diabetes", "german", "tictactoe", "checkerboard", "phoneme", "ringnorm", "spambase"):
        for _, x, y in tables_of(folder, name):
            rows = [{f"c{d}": repr(float(value)) for d, value in enumerate(row)} for row in x]
            encoder = fit("table", rows)
            stored = StoredEncoder("table", "", encoder.channels, {"model": encoder.model()})
            suited = stored.model(len(set(y)), POOL)
            settings = ProjectSettings(likelihood="gaussian").model_parts("table", stored.columns, suited)
            yield Data(name, np.asarray(encoder.encode(rows).table.toarray()), y, learner_settings(settings))


def texts(folder: Path) -> Iterator[Data]:
    """The words of the text encoder: directions of most variance of the square roots of their shares."""
    for name, items, labels in texts_of(folder):
        topics, counts = np.unique(labels, return_counts=True)
        largest = np.flatnonzero(np.isin(labels, topics[np.argsort(-counts)[:LARGEST]]))
        some = np.random.default_rng(0).permutation(largest)[: 4 * POOL]
        chosen = [items[i] for i in some]
        words = fit("text", chosen, {"model": None, "characters": 0}).encode(chosen).table
        x = TruncatedSVD(TOPICS, random_state=0).fit_transform(normalize(np.sqrt(normalize(words, "l1"))))
        yield vectors(name.removesuffix(".csv"), np.asarray(x), labels[some])


def features(folder: Path) -> Iterator[Data]:
    """Pictures as visual words or pixels, and measurements."""
    digits = load_digits(return_X_y=True)
    yield vectors("digits", *digits)
    for name in ("pendigits", "satimage", "scene15_bovw200"):
        with np.load(folder / f"{name}.npz") as arrays:
            x = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(float)
            y = np.concatenate([arrays["y_train"], arrays["y_test"]])
        if name == "scene15_bovw200":
            x = np.sqrt(normalize(x, "l1"))
        yield vectors(name, x, y)


def vectors(name: str, x: Floats, y: np.ndarray) -> Data:
    """Numbers under an RBF kernel."""
    settings = ProjectSettings(likelihood="gaussian", kernel="rbf").model_parts()
    return Data(name, np.asarray(x, dtype=float), np.asarray(y).astype(str), learner_settings(settings))


def learn(split: Split, ask: Callable[[OnlineLearner, int], int]) -> Result:
    """Ask, answer, learn; hyperparameters are found at doubling numbers of labels."""
    classes = sorted({*split.data.y})
    learner, found = OnlineLearner(split.data.settings, classes), {}
    learner.add_items(split.x)
    for n in range(1, MARKS[-1] + 1):
        item = ask(learner, n)
        learner.label(item, split.y[item])
        if n in TUNED:
            learner.tune()
        if n in MARKS:
            found[n] = float(np.mean(np.array(classes)[learner.predict(split.x_test)] == split.y_test)), np.nan
    return found


def by_strategy(split: Split, strategy: str) -> Result:
    """One of ours."""
    return learn(split, lambda learner, n: learner.query(1, strategy, seed=split.seed * 1_000_003 + n)[0].row)


def by_order(split: Split, asked: Callable[[], tuple[list[int], Result]]) -> Result:
    """Our predictions from labels that another strategy asked for."""
    items = asked()[0]
    return learn(split, lambda _, n: items[n - 1])


def scaled(split: Split) -> tuple[Floats, Floats]:
    """Rows as linear models and clusters want them: columns of variance 1."""
    scale = StandardScaler().fit(split.x)
    return scale.transform(split.x), scale.transform(split.x_test)


def scikit_activeml(split: Split, name: str) -> tuple[list[int], Result]:
    """The items in the order they were asked for, and the accuracy of logistic regression on the way.

    Strategies that look at a model begin with ten labels drawn at random.
    """
    x, x_test = scaled(split)
    classes = np.unique(split.data.y)
    truth, y = np.searchsorted(classes, split.y), np.full(len(x), np.nan)
    model = SklearnClassifier(LogisticRegression(max_iter=100), classes=np.arange(len(classes)), random_state=0)
    query, items = queries(name, x, len(classes), model, split.seed), []
    if name in ("margin", "BADGE", "DropQuery"):
        items = np.random.default_rng(split.seed).permutation(len(x))[:STEP].tolist()
    found: Result = {}
    while True:
        y[items] = truth[items]
        if len(items) in MARKS:
            fitted = model.fit(x, y)
            found[len(items)] = float(np.mean(classes[fitted.predict(x_test).astype(int)] == split.y_test)), np.nan
        if len(items) >= MARKS[-1]:
            return items, found
        items += [int(item) for item in query(y)]


def queries(
    name: str, x: Floats, n_classes: int, model: SklearnClassifier, seed: int
) -> Callable[[np.ndarray], Iterable[int]]:
    """The next items by scikit-activeml, from labels that are not numbers where there are none."""
    if name == "TypiClust":
        chosen = TypiClust(random_state=seed, cluster_algo_dict={"n_init": 1})
        return lambda y: chosen.query(x, y, batch_size=STEP)
    if name == "ProbCover":  # its radii are for rows of about this size
        some = x[:100]
        near = x / np.median(np.linalg.norm(some[:, None] - some, axis=2))
        cover = ProbCover(n_classes, random_state=seed, cluster_algo=KMeans)
        return lambda y: cover.query(near, y, batch_size=STEP)
    looking = {
        "margin": partial(UncertaintySampling, method="margin_sampling"),
        "BADGE": Badge,
        "DropQuery": DropQuery,
    }[name](random_state=seed)
    return lambda y: looking.query(x, y, model, batch_size=STEP)


THEIRS = ("margin", "TypiClust", "ProbCover", "DropQuery", "BADGE")


def runs(data: Data, seed: int, theirs: bool) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Name of each side, and what runs it."""
    split = data.split(seed)
    for strategy in OURS:
        yield strategy, partial(by_strategy, split, strategy)
    for name in THEIRS if theirs else ():
        asked = cache(partial(scikit_activeml, split, name))
        yield name, partial(by_order, split, asked)
        yield f"{name}, LR", lambda asked=asked: asked()[1]  # type: ignore[misc]


def differences(kept: Kept, name: str, side: str, value: Callable[[Result], float]) -> Floats:
    """Of a side and `unc`, in points, seed by seed."""
    pairs = [
        (kept.runs[key], kept.runs[name, key[1], "unc"])
        for key in kept.runs
        if key[0] == name and key[2] == side and (name, key[1], "unc") in kept.runs
    ]
    return np.array([100.0 * (value(one) - value(other)) for one, other in pairs])


def told(values: Floats) -> str:
    """A mean with its standard error."""
    if not len(values):
        return ""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():+.1f} +- {error:.1f}"


def show(kept: Kept) -> None:
    """Two tables: area under the curve by data set, and means over the sets by number of labels."""
    names = list(dict.fromkeys(key[0] for key in kept.runs))
    sides = [side for side in dict.fromkeys(key[2] for key in kept.runs) if side != "unc"]
    print("| data | runs | unc | " + " | ".join(sides) + " |\n" + "| --- " * (len(sides) + 3) + "|")
    for name in names:
        own = np.array([area(run) for key, run in kept.runs.items() if key[0] == name and key[2] == "unc"])
        cells = [told(differences(kept, name, side, area)) for side in sides]
        print(f"| {name} | {len(own)} | {100 * own.mean():.1f} | " + " | ".join(cells) + " |")
    measures: dict[str, Callable[[Result], float]] = {"area": area}
    measures |= {f"at {n}": lambda run, n=n: run[n][0] for n in SHOWN}  # type: ignore[misc]
    for title, value in measures.items():
        means = [[found.mean() for name in names if len(found := differences(kept, name, s, value))] for s in sides]
        print(f"| {title}, mean of sets |  |  | " + " | ".join(told(np.array(mean)) for mean in means) + " |")


def main() -> None:
    """Seed by seed, so that what is done is balanced at any time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--theirs", type=int, default=4, help="every so many seeds scikit-activeml runs, too")
    parser.add_argument("--keep", type=Path, help="a file for the runs: those in it are not run again")
    parser.add_argument("--show", action="store_true", help="only what the file holds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = Kept(arguments.keep)
    if not arguments.show:
        _jit.compile_all()
        folder = arguments.folder
        everything = [*tables(folder), *texts(folder), *features(folder)]
        for seed in range(arguments.seeds):
            for data in everything:
                for side, run in runs(data, seed, seed % arguments.theirs == 0):
                    kept.run((data.name, seed, side), run)
    show(kept)


if __name__ == "__main__":
    main()
