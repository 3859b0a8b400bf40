"""Finding all: searches in systematic reviews, played to their end and with the stop rule.

    python -m tests.benchmarks.screening FOLDER [REVIEW ...] [--seeds N] [--no-stop]

FOLDER has screening.zip (a csv file for each review: title, abstract, included). A search begins with one included and
one other record, drawn by its seed, and asks in steps of 5 % of the labels there are. ASReview is measured in the same
way: its own classes `Simulate`, `ActiveLearningCycle` and the model that it recommends, with n_query = labels / 20.
Settings were chosen on every other review by size (`TUNED`); the rest is reported apart.
"""

import argparse
import csv
import io
import time
import zipfile
from pathlib import Path

import numpy as np

from app.commands.searches import Texts, read
from core.experiments.screening import loss, recall_at, work_saved
from core.insight.finding import StopRule

TUNED = (
    *("Antihistamines", "NSAIDS", "Triptans", "AtypicalAntipsychotics", "ProtonPumpInhibitors", "Kitchenham_2010"),
    *("Bannach-Brown_2019", "Nagtegaal_2019"),
)
TITLES = ("loss", "recall at 10 %", "WSS@95", "ms a record", "missed", "recall at stop", "labelled at stop")


def reviews(folder: Path):
    """(name, texts) of each review, the smallest first."""
    csv.field_size_limit(2**24)
    with zipfile.ZipFile(folder / "screening.zip") as archive:
        for entry in sorted(archive.infolist(), key=lambda one: one.file_size):
            with io.TextIOWrapper(archive.open(entry), encoding="utf-8") as file:
                yield Path(entry.filename).stem, Texts.of(*read(file, "included", "1"))


def measured(texts: Texts, seed: int, rule: StopRule | None) -> list[float]:
    """The figures of one search, in the order of TITLES."""
    begun = time.process_time()
    ended = texts.search(None, seed)
    spent = 1000.0 * (time.process_time() - begun) / len(ended.search.wanted)
    figures = [loss(ended.flags), recall_at(ended.flags, 0.1), work_saved(ended.flags), spent]
    if rule is None:
        return figures
    stopped = texts.search(rule, seed)
    return [*figures, float(stopped.recall < rule.target), stopped.recall, stopped.labelled]


def line(name: str, values: np.ndarray) -> str:
    """Means with standard errors."""
    errors = values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.full(values.shape[1], np.nan)
    cells = (f"{mean:.4f} +- {error:.4f}" for mean, error in zip(values.mean(axis=0), errors, strict=True))
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """All reviews, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("reviews", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--no-stop", action="store_true")
    arguments = parser.parse_args()
    rule = None if arguments.no_stop else StopRule()
    titles = TITLES[:4] if arguments.no_stop else TITLES
    print(f"| review | {' | '.join(titles)} |\n| --- |{' --- |' * len(titles)}", flush=True)
    means: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for name, texts in reviews(arguments.folder):
        if arguments.reviews and name not in arguments.reviews:
            continue
        values = np.array([measured(texts, seed, rule) for seed in range(arguments.seeds)])
        means[name in TUNED].append(values.mean(axis=0))
        print(line(name, values), flush=True)
    for tuned, title in ((True, "mean of those tuned on"), (False, "mean of the others")):
        if means[tuned]:
            print(line(title, np.array(means[tuned])), flush=True)


if __name__ == "__main__":
    main()
