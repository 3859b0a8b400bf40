"""Coded rows in files that are mapped into memory: the same answers to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from core import OnlineLearner, Settings
from core.histograms import Histograms
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator
from core.posterior import POSTERIORS, LocalParts, PoolPosterior, pairs, parts
from core.rows import Size
from tests.core.data import size, word_counts
from tests.reference.dense import targets

M = size(3000, 60)


@pytest.fixture
def mapped(tmp_path):
    """Makes arrays of files; tells how many."""

    def allocate(entries, kind):
        allocate.files += 1
        return np.memmap(tmp_path / str(allocate.files), dtype=kind, mode="w+", shape=max(entries, 1))

    allocate.files = 0
    return allocate


def is_mapped(rows):
    return isinstance(rows._codes.base, np.memmap) and isinstance(rows._starts.base, np.memmap)


def test_rows_grow_and_shrink_in_files(mapped):
    x, _ = word_counts(M, 8, 3)
    plain = Histograms.of(x).rows
    rows = plain.stored(mapped)
    assert is_mapped(rows)
    more = plain.take(np.arange(40))
    for some in (plain, rows):
        some.append(more)
        some.remove(np.arange(5, M, 7))
    assert is_mapped(rows)
    assert np.array_equal(rows.codes, plain.codes)
    assert np.array_equal(rows.starts, plain.starts)
    part = rows.between(10, 20)
    assert np.array_equal(part.codes, plain.take(np.arange(10, 20)).codes)
    assert part.codes.base is not None
    assert len(rows.between(4, 4)) == 0


@pytest.mark.parametrize("name", ["dual", "levels"])
def test_a_pool_in_files_is_scored_and_updated_bit_for_bit(name, mapped, monkeypatch):
    monkeypatch.setattr(parts, "BLOCK_ENTRIES", 200)
    monkeypatch.setattr(parts, "BLOCK_ROWS", 64)
    monkeypatch.setattr(pairs, "PAIR_ROWS", 64)
    x, y = word_counts(M, 8, 3)
    x = np.round(x, 1)  # few levels: a large pool's variance is looked up
    operator = HistogramOperator(Histograms.of(x, 6), IntersectionKernel(np.ones(1), np.zeros(8, int), 0.5))
    rows = operator.training_rows(np.arange(M))
    operator.remove(np.arange(20, M))
    posterior = POSTERIORS[name](operator, targets(y[:20], 3), np.full(20, 0.1))
    if size(True, False):
        assert {"dual": pairs.pay_in_dual, "levels": pairs.pay_in_level_space}[name](Size.of(rows), operator)
    pools = [PoolPosterior(posterior, LocalParts.of(some)) for some in (rows, rows.stored(mapped))]
    whole = PoolPosterior(posterior, LocalParts.of(rows))
    changes = [
        lambda p: p.learn(posterior, rows.take(np.arange(30, 33)), targets(y[30:33], 3), np.full(3, 0.1)),
        lambda p: p.relabel(posterior, 4, -posterior.targets[4]),
        lambda p: p.forget(posterior, 2),
        lambda p: p.append(posterior, rows.take(np.arange(7))),
    ]
    for change in changes:
        for one in pools:
            change(one)
        monkeypatch.setattr(parts, "BLOCK_ENTRIES", 1 << 24)
        change(whole)
        monkeypatch.setattr(parts, "BLOCK_ENTRIES", 200)
        assert np.array_equal(pools[0].mean, pools[1].mean)
        assert np.array_equal(pools[0].variance, pools[1].variance)
        assert np.allclose(pools[0].mean, whole.mean, atol=1e-12)
        assert np.allclose(pools[0].variance, whole.variance, atol=1e-12)
    assert is_mapped(pools[1].rows)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_learner_over_a_pool_in_files(form, mapped):
    x, y = word_counts(size(300, 40), 8, 2)
    learners = [OnlineLearner(Settings(), ["a", "b"]), OnlineLearner(Settings(), ["a", "b"], allocate=mapped)]
    for learner in learners:
        for first in range(0, len(x), len(x) // 4):  # an import, chunk by chunk
            learner.add_items(form(x[first : first + len(x) // 4]))
        learner.label_many({i: "ab"[y[i]] for i in range(12)})
        learner.label(13, "ab"[y[13]])
        learner.label(3, "ab"[1 - y[3]])
        learner.retract(5)
    assert is_mapped(learners[1]._model.pool.rows)
    assert np.array_equal(learners[0].mean, learners[1].mean)
    assert np.array_equal(learners[0].variance, learners[1].variance)
    assert learners[0].query(5) == learners[1].query(5)
    again = OnlineLearner.load(Settings(), learners[1].dump(), mapped)
    again.add_items(x[:2])
    assert np.array_equal(again.mean[:-2], learners[1].mean)
