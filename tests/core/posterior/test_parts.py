"""What comes out does not depend on how the pool is cut, to the last bit."""

import numpy as np
import pytest

from core import Labelling, OnlineLearner, Settings
from core.histograms import Chunked, Histograms
from core.insight.pool_map import plane_map
from core.posterior import DualPosterior, LevelPosterior
from core.posterior.parts import LocalParts, Moved, Part, concatenate_parts, rows_of
from core.queries import STRATEGIES
from core.rows import Size
from tests.core.cut import CutEngine, CutParts
from tests.core.data import size, word_counts

M = size(700, 90)
X, Y = word_counts(M + 30, 8, 3, words=12)
NAMES = ["ant", "bee", "cat"]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Parts begin where blocks do."""
    monkeypatch.setattr(DualPosterior, "block_rows", 8)
    monkeypatch.setattr(LevelPosterior, "block_rows", 8)


def built(engine, x=X, **settings):
    table = Chunked((M, 8), lambda first, last: x[:M][first:last])
    return OnlineLearner.build(Settings(**settings), table, Labelling(tuple(NAMES)), engine=engine)


def taught(learner):
    """Everything that may happen to a pool; what is seen on the way."""
    seen = [learner.query(3, seed=1)]  # cold start
    learner.label_many({i: NAMES[Y[i]] for i in range(0, M, M // 8)})
    seen.append(learner.query(2, "emoc", seed=2, explore=0.5, among=np.arange(0, M, 2)))
    learner.label(7, NAMES[Y[7]], noise_factor=2.0)
    learner.label(7, "dog")
    learner.retract(0)
    learner.add_items(X[M:])
    learner.label(M + 1, "bee", drawn=True)
    learner.tune()
    learner.label_many({i: NAMES[Y[i]] for i in range(1, M, M // 25) if learner.label_of(i) is None})
    pending = np.array([3, M // 2])
    seen += [learner.query(3, "unc+", pending=pending, variance=name) for name in learner.variances]
    names = list(STRATEGIES)[:: size(1, 4)]
    return seen + [learner.query(3, name, seed=4, pending=pending, wanted=NAMES[0]) for name in names]


@pytest.mark.parametrize(
    ("rows", "settings"), [(16, {}), (64, {"posterior": "levels", "levels": 4}), (64, {"kernel": "auto"})]
)
def test_the_same_bits(rows, settings):
    whole, parts = built(None, **settings), built(CutEngine(rows), **settings)
    assert (whole.is_here, parts.is_here) == (True, False)
    assert taught(parts) == taught(whole)
    assert np.array_equal(parts.mean, whole.mean)
    assert np.array_equal(parts.variance, whole.variance)
    here, there = whole.publish(), parts.publish()
    assert len(there) == len(here) == M + 30
    assert np.array_equal(there.predicted, here.predicted)
    assert np.array_equal(there.uncertainty, here.uncertainty)
    assert np.array_equal(there.left_out.means, here.left_out.means)
    assert there.estimates() == here.estimates()
    assert there.accuracy() == here.accuracy()
    assert there.record.draws == here.record.draws
    assert parts.residual() == whole.residual() < 1e-6
    assert parts.is_finite()
    assert np.array_equal(plane_map(parts.pool_kernel(), 20, 30), plane_map(whole.pool_kernel(), 20, 30))
    assert parts.contributions(5).parts.tolist() == whole.contributions(5).parts.tolist()


@pytest.mark.parametrize("settings", [{"kernel": "rbf"}, {"likelihood": "softmax"}])
def test_what_cannot_live_in_parts_stays_here(settings):
    assert built(CutEngine(64), **settings).is_here


def test_values_that_cannot_be_used_are_found_wherever_they_are():
    x = X.copy()
    x[M - 1, 3] = -1.0
    with pytest.raises(ValueError, match="Negative values"):
        built(CutEngine(64), x)
    x[M - 1, 3] = 1e308
    x[M - 1, 4] = 1e308
    with pytest.raises(ValueError, match="not finite"):
        built(CutEngine(64), x)


def test_what_is_found_in_parts_becomes_one():
    one = np.arange(3)
    assert concatenate_parts([one]) is one
    assert concatenate_parts([one, one + 3]).tolist() == [0, 1, 2, 3, 4, 5]
    assert Size.total([Size(2, 7, coded=True), Size(3, 0, coded=False)]) == Size(5, 7, coded=False)
    assert Size.total([Size(2, 7, coded=True)] * 2) == Size(4, 14, coded=True)


def test_rows_in_parts_are_those_of_the_whole():
    coded = Histograms.of(X).rows
    whole = Part.begin(coded)
    assert rows_of(LocalParts(whole)) is coded
    found = rows_of(CutParts([block for _, block in whole.blocks(size=16)], 16))
    assert len(found) == len(coded)
    assert np.array_equal(found.codes, coded.codes)
    assert np.array_equal(found.starts, coded.starts)


@pytest.mark.parametrize("largest", [1.0, 1e308, np.inf, np.nan])
def test_a_change_sees_whether_what_comes_out_is_finite(largest):
    rows = np.ones((40, 1))
    rows[29] = largest
    part = Part(rows, np.full((40, 3), 0.5), np.ones(40))
    with np.errstate(over="ignore", invalid="ignore"):  # of which only the interpreter warns
        moved = Moved(lambda some: some, np.array([[2.0, -1.0, 0.0]]), 0.5)(part)
    assert moved.finite == np.isfinite(moved.mean).all() == moved.take(np.arange(40)).is_finite == (largest == 1.0)
    assert part.is_finite
