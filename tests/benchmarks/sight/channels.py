"""The sum of an encoder's channels beside each of them alone, on photographs."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from app.encoders import fit
from app.services.project.settings import ProjectSettings, learner_settings
from core.factory import make_operator, make_reader, make_regression
from core.tuning import tune
from tests.benchmarks.sight.pictures import photographs

BUDGETS = (60, 150)  # labels drawn at random; all other photographs are the test


def channels(folder: Path, seeds: int, only: str | None = None) -> None:
    """Label regression with weights that training learns, with equal ones, and with one channel; noise as trained."""
    with photographs(folder) as (paths, labels):
        encoder = fit("image", paths)
        x, names = encoder.encode(paths).table, [channel.name for channel in encoder.channels]
    parts = ProjectSettings(likelihood="gaussian").model_parts("image", [c.columns for c in encoder.channels])
    settings, y = learner_settings(parts), np.unique(labels, return_inverse=True)[1]
    operator, reader = make_operator(settings, x, make_reader(settings, x)), make_reader(settings, x)
    shares = {"learnt weights": None, "equal weights": np.ones(len(names))}
    shares |= dict(zip(names, np.eye(len(names)), strict=True))
    for budget in BUDGETS:
        right: dict[str, list[float]] = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(y))
            known, others = np.sort(order[:budget]), order[budget:]
            for name, weights in shares.items():
                kernel = operator.kernel if weights is None else replace(operator.kernel, weights=weights)
                model = make_regression(settings, operator.only(known).with_kernel(kernel), y[known], y.max() + 1)
                found = tune(model, weights=weights is None)
                model.reset(found.kernel, found.noise)
                means = model.posterior.means(reader(x[others]))
                right.setdefault(name, []).append(100.0 * float((means.argmax(axis=1) == y[others]).mean()))
        _show(budget, right, max(names, key=lambda name: float(np.mean(right[name]))))


def _show(budget: int, right: dict[str, list[float]], best: str) -> None:
    """A line each: accuracy, and by how much it is above the best single channel."""
    seeds = len(right[best])
    print(f"\n15 scenes, {budget} labels, {seeds} draws: accuracy, and less that of {best}, +- standard errors")
    for name, own in right.items():
        pairs = [np.array(own), np.subtract(own, right[best])]
        told = [f"{part.mean():+.1f} +- {part.std(ddof=1) / seeds**0.5:.1f}" for part in pairs]
        print(f"  {name:16s} {told[0].removeprefix('+')}   {told[1]}", flush=True)
