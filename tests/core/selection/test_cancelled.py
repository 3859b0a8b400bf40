"""Every comparison that a training makes ends when a person waits for something else, wherever it is."""

import sys

import numpy as np
import pytest

from core import Labelling, OnlineLearner, Settings

COMPARED = [
    (Settings(kernel="auto", likelihood="auto", tune="loo"), ("choose_kernel", "choose_likelihood")),
    (Settings(kernel="auto", model="auto", leaf_size=20, n_trees=2, tune="loo"), ("choose_kernel", "choose_model")),
]


class EnoughError(Exception):
    """What ends a training."""


class Steps:
    """Notes in which of some functions each step is taken, and ends the work at one of them."""

    def __init__(self, functions, last=None):
        self.functions, self.last, self.taken = functions, last, []

    def __call__(self):
        frame, inside = sys._getframe(1), None
        while frame is not None and inside is None:
            inside = frame.f_code.co_name if frame.f_code.co_name in self.functions else None
            frame = frame.f_back
        self.taken.append(inside)
        if len(self.taken) - 1 == self.last:
            raise EnoughError


def trained(settings, steps):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 1.0, size=(60, 2))
    y = np.where((x[:, 0] > 0.5) == (x[:, 1] > 0.5), "a", "b")
    old = OnlineLearner(settings, ["a", "b"])
    old.add_items(x)
    old.label_many(dict(enumerate(y.tolist())))
    before = old.mean.copy()
    try:
        OnlineLearner.build(settings, x, Labelling(("a", "b"), dict(enumerate(y.tolist()))), train=True, on_step=steps)
    finally:
        assert np.array_equal(old.mean, before)  # what is in use answers on as it did
    return steps.taken


@pytest.mark.parametrize(("settings", "functions"), COMPARED)
def test_a_comparison_ends_at_its_next_step(settings, functions):
    taken = trained(settings, Steps(functions))
    for name in functions:
        own = [step for step, inside in enumerate(taken) if inside == name]
        assert len(own) > 5  # it looks up before each fit
        for last in (own[0], own[len(own) // 2], own[-1]):
            steps = Steps(functions, last)
            with pytest.raises(EnoughError):
                trained(settings, steps)
            assert steps.taken == taken[: last + 1]
