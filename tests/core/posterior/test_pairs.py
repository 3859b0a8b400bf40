import numpy as np
import pytest
import scipy.sparse as sp

from core.histograms import Complement, Histograms, raw_rows
from core.kernels import IntersectionKernel
from core.linalg import HistogramOperator
from core.posterior import POSTERIORS, pairs
from core.rows import Size
from tests.core.data import continuous, size
from tests.reference.dense import targets

PAY = {"dual": pairs.pay_in_dual, "levels": pairs.pay_in_level_space}


def build(name, x, n):
    """A pool, coded, and the posterior of its first n rows."""
    operator = HistogramOperator(Histograms.of(x, 6), IntersectionKernel(np.ones(1), np.zeros(x.shape[1], int), 0.5))
    pool = operator.training_rows(np.arange(x.shape[0]))
    operator.remove(np.arange(n, x.shape[0]))
    return POSTERIORS[name](operator, targets(np.arange(n) % 2, 2), np.full(n, 0.1)), pool


def complement(x):
    return Complement.of(x)(x)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, complement])
@pytest.mark.parametrize("name", PAY)
def test_a_large_pool_is_looked_up_and_a_few_rows_are_not(name, form):
    x = form(np.tile(continuous(50, 8, seed=1), (size(200, 40), 1)))
    posterior, pool = build(name, x, 45)
    few = pool.take(np.arange(50))
    assert PAY[name](Size.of(pool), posterior.operator)
    assert not PAY[name](Size.of(few), posterior.operator)
    assert not PAY[name](Size.of(raw_rows(x)), posterior.operator)
    by_row = np.tile(posterior.variance(few), len(pool) // 50)
    assert np.abs(posterior.variance(pool) - by_row).max() < 1e-12


@pytest.mark.parametrize("name", PAY)
def test_a_table_that_memory_does_not_hold_is_not_built(name, monkeypatch):
    posterior, pool = build(name, np.tile(continuous(50, 8, seed=1), (200, 1)), 45)
    monkeypatch.setattr(pairs, "MAX_MEMORY", 1000.0)
    assert not PAY[name](Size.of(pool), posterior.operator)


@pytest.mark.parametrize("name", PAY)
def test_no_rows(name):
    posterior, pool = build(name, continuous(20, 3), 10)
    assert posterior.variance(pool.take(np.arange(0))).shape == (0,)
