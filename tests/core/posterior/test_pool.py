import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.histograms import CodedRows, Histograms
from core.kernels import IntersectionKernel, LinearKernel, RBFKernel
from core.linalg import DenseOperator, HistogramOperator
from core.posterior import POSTERIORS, LocalParts, PoolPosterior
from tests.core.data import INTERPRETED, size, word_counts
from tests.reference.dense import DenseGP, targets

KERNELS = ["hik", "rbf", "linear"]
NOISE = 0.2


def build(kind, posterior="dual"):
    """A pool, an empty posterior over its levels, and the pool's kernel matrix."""
    x, y = word_counts(size(40, 14), 6, 3, words=15)
    groups = np.zeros(6, dtype=int)
    if kind == "hik":
        histograms = Histograms.of(x)
        kernel = IntersectionKernel(np.ones(1), groups, 0.5)
        pool = histograms.rows
        K = HistogramOperator(histograms, kernel).cross(pool)
        operator = HistogramOperator(Histograms(histograms.levels, CodedRows.empty(pool.lineage)), kernel)
    else:
        kernel = (RBFKernel if kind == "rbf" else LinearKernel)(np.ones(1), groups, 0.5)
        pool, K, operator = x, kernel.cross(x, x), DenseOperator(x[:0], kernel)
    model = POSTERIORS[posterior](operator, np.empty((0, 3)), np.empty(0))
    return model, PoolPosterior(model, LocalParts.of(pool)), K, y


def take(rows, i):
    numbers = np.atleast_1d(i)
    return rows.take(numbers) if isinstance(rows, CodedRows) else rows[numbers]


class PoolMachine(RuleBasedStateMachine):
    """Labels, retractions, corrections, new classes, pool rows coming: always what a fresh fit gives."""

    @initialize(kind=st.sampled_from(KERNELS), name=st.sampled_from(["dual", "levels"]))
    def start(self, kind, name):
        self.model, self.pool, self.K, _ = build(kind, name if kind == "hik" else "dual")
        self.rows = self.pool.rows if kind != "hik" else self.pool.rows.take(np.arange(len(self.pool)))
        self.shown = list(range(len(self.pool)))  # which rows of K the pool shows
        self.labels, self.learnt, self.m = [], [], 3

    @rule(data=st.data())
    def label(self, data):
        some = data.draw(st.lists(st.integers(0, len(self.K) - 1), min_size=1, max_size=4, unique=True))
        y = [data.draw(st.integers(0, self.m - 1)) for _ in some]
        rows, noise = take(self.rows, some), np.full(len(some), NOISE)
        self.pool.learn(self.model, rows, targets(y, self.m), noise)
        self.model.add(rows, targets(y, self.m), noise)
        self.learnt += some
        self.labels += y

    @precondition(lambda self: self.learnt)
    @rule(data=st.data())
    def retract(self, data):
        j = data.draw(st.integers(0, len(self.learnt) - 1))
        self.pool.forget(self.model, j)
        self.model.remove(np.array([j]))
        del self.learnt[j], self.labels[j]

    @precondition(lambda self: self.learnt)
    @rule(data=st.data())
    def correct(self, data):
        j, y = data.draw(st.integers(0, len(self.learnt) - 1)), data.draw(st.integers(0, self.m - 1))
        self.pool.relabel(self.model, j, targets([y], self.m)[0])
        self.labels[j] = y
        self.model.retarget(targets(np.array(self.labels, dtype=int), self.m))

    @rule()
    def new_class(self):
        self.m += 1
        self.model.retarget(targets(np.array(self.labels, dtype=int), self.m))
        self.pool.retarget(self.model)

    @rule(data=st.data())
    def pool_rows(self, data):
        i = data.draw(st.integers(0, len(self.K) - 1))
        self.pool.append(self.model, take(self.rows, i))
        self.shown.append(i)

    @invariant()
    def equals_the_textbook(self):
        if not hasattr(self, "model"):
            return
        rows = np.array(self.learnt, dtype=int)
        gp = DenseGP(
            self.K[np.ix_(rows, rows)], targets(np.array(self.labels, dtype=int), self.m), np.full(len(rows), NOISE)
        )
        cross = self.K[np.ix_(rows, self.shown)]
        assert np.allclose(self.pool.mean, gp.means(cross), atol=1e-8)
        assert np.allclose(self.pool.variance, gp.variance(cross, np.diag(self.K)[self.shown]), atol=1e-8)
        assert len(self.pool) == len(self.shown)


PoolMachine.TestCase.settings = settings(max_examples=8 if INTERPRETED else 40, stateful_step_count=20, deadline=None)
TestPool = PoolMachine.TestCase


@pytest.mark.jit
@pytest.mark.parametrize("kind", KERNELS)
def test_a_thousand_random_steps_drift_less_than_1e_6(kind):
    rng = np.random.default_rng(0)
    model, pool, _, y = build(kind, "levels" if kind == "hik" else "dual")
    rows = pool.rows
    for _ in range(1000):
        n = len(model.operator)
        step = rng.random()
        if n < 5 or (step < 0.5 and n < 60):
            i = rng.integers(len(y))
            target = targets([rng.integers(3)], 3)
            pool.learn(model, take(rows, i), target, np.array([NOISE]))
            model.add(take(rows, i), target, np.array([NOISE]))
        elif step < 0.8:
            j = rng.integers(n)
            pool.forget(model, j)
            model.remove(np.array([j]))
        else:
            j, other = rng.integers(n), model.targets.copy()
            other[j] = targets([rng.integers(3)], 3)[0]
            pool.relabel(model, j, other[j])
            model.retarget(other)
    mean, variance = pool.mean, pool.variance
    fresh = POSTERIORS[model.name](model.operator, model.targets, model.noise)
    pool.refresh(fresh)
    assert np.abs(mean - pool.mean).max() < 1e-6
    assert np.abs(variance - pool.variance).max() < 1e-6


def test_states_handed_out_do_not_change():
    model, pool, _, y = build("hik")
    mean, variance = pool.mean, pool.variance
    before = mean.copy(), variance.copy()
    pool.learn(model, take(pool.rows, 0), targets([y[0]], 3), np.array([NOISE]))
    assert np.array_equal(mean, before[0])
    assert np.array_equal(variance, before[1])


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_covariance_and_influence(posterior):
    model, pool, K, y = build("hik", posterior)
    learnt = np.arange(8)
    model.add(pool.rows.take(learnt), targets(y[:8], 3), np.full(8, NOISE))
    inverse = np.linalg.inv(K[:8, :8] + NOISE * np.eye(8))
    exact = K - K[:, :8] @ inverse @ K[:8]
    some = np.array([9, 2])
    assert np.allclose(model.covariance(pool.rows.take(some))(pool.rows), exact[:, some], atol=1e-6)
    influence = model.influence(3)
    assert np.allclose(influence.covariance(pool.rows)[:, 0], exact[:, 3], atol=1e-6)
    own = NOISE * inverse[3, 3]
    assert np.isclose(influence.share, own, rtol=1e-6)
    v = np.random.default_rng(0).normal(size=(8, 2))
    assert np.allclose(model.inverse_times(v), inverse @ v, atol=1e-6)
