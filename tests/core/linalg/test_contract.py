"""Each operator under the contract of all."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from core.histograms import Histograms, code_rows, raw_rows
from core.kernels import IntersectionKernel, LinearKernel, NormalisedIntersectionKernel, RBFKernel, SumKernel
from core.linalg import (
    DenseOperator,
    HistogramOperator,
    LinearOperator,
    StoredOperator,
    SumOperator,
    histogram_operator,
)
from core.rows import ChannelRows
from tests.core.data import continuous
from tests.core.linalg.operator_contract import GROUPS, WEIGHTS, D, N, OperatorContract
from tests.reference.dense import hik


class TestHistogram(OperatorContract):
    transform, eta, unit = None, 1.0, 1.0
    overflow = r"in column .*not finite"

    def build(self, x):
        kernel = IntersectionKernel(WEIGHTS, GROUPS, 0.3, self.transform, self.eta, self.unit)
        return HistogramOperator(Histograms.of(x), kernel)

    def matrix(self, kernel, a, b):
        a, b = a / kernel.unit, b / kernel.unit
        own = {"transform": kernel.transform, "eta": kernel.eta, "weights": kernel.dim_weights, "bias": kernel.bias}
        return hik(a, b, **own)

    def rows(self, operator, x):
        return raw_rows(x)


class TestPowerHistogram(TestHistogram):
    transform, eta = "power", 1.7


class TestExpHistogram(TestHistogram):
    transform, eta, unit = "exp", 3.0, 1.6


class TestCodedHistogram(TestHistogram):
    """Queries are coded, with all their values as levels."""

    def rows(self, operator, x):
        operator.learn_levels(raw_rows(x))
        return code_rows(raw_rows(x), operator.levels)

    def test_rows_whose_kernel_values_overflow_are_named(self):
        """They are checked before they are coded, while they are raw."""
        operator = self.build(continuous(N, D))
        with pytest.raises(ValueError, match=self.overflow):
            operator.check(raw_rows(np.full((1, D), 1.7e308)))


class TestNormalised(TestHistogram):
    """k = bias + amplitude h / sqrt(h h): the constant stands outside, and a row without entries has nothing else."""

    transform, eta = "power", 1.7

    def build(self, x):
        kernel = NormalisedIntersectionKernel(WEIGHTS, GROUPS, 0.3, self.transform, self.eta, self.unit, 1.4)
        return histogram_operator(Histograms.of(x), kernel)

    def matrix(self, kernel, a, b):
        h = super().matrix(replace(kernel, bias=0.0), np.vstack([a, b]), np.vstack([a, b]))
        own = np.sqrt(np.diag(h))
        factors = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0.0)
        return (kernel.bias + kernel.amplitude * h * factors[:, None] * factors)[: len(a), len(a) :]


class TestCodedNormalised(TestNormalised, TestCodedHistogram):
    """Queries are coded, with all their values as levels."""


class TestNormalisedExp(TestNormalised):
    transform, eta, unit = "exp", 3.0, 1.6


class TestRBF(OperatorContract):
    operator = DenseOperator

    def build(self, x):
        return self.operator(x, RBFKernel(WEIGHTS, GROUPS, 0.2, 3.0, 1.4))

    def matrix(self, kernel, a, b):
        squares = (a[:, None, :] - b[None, :, :]) ** 2 @ kernel.dim_weights
        return kernel.bias + kernel.amplitude * np.exp(-kernel.gamma * squares)


class TestStoredRBF(TestRBF):
    operator = StoredOperator


class TestStoredInSinglePrecision(TestRBF):
    tolerance = 1e-5

    def build(self, x):
        return StoredOperator(x, RBFKernel(WEIGHTS, GROUPS, 0.2, 3.0, 1.4), single=True)

    def test_gradients_by_finite_differences(self):
        """As exact as single precision."""
        x = np.random.default_rng(0).random((20, len(GROUPS)))
        e, f = np.random.default_rng(1).normal(size=(2, 20, 2))
        found, expected = (build(x).pull_back(e, f) for build in (self.build, TestRBF().build))
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)


class TestDenseLinear(OperatorContract):
    operator = DenseOperator

    def build(self, x):
        return self.operator(x, LinearKernel(WEIGHTS, GROUPS, 0.2))

    def matrix(self, kernel, a, b):
        return kernel.bias + np.einsum("id,jd,d->ij", a, b, kernel.dim_weights)


class TestLinear(TestDenseLinear):
    operator = LinearOperator


class TestSparseLinear(TestLinear):
    def build(self, x):
        return super().build(sp.csr_array(x))

    def rows(self, operator, x):
        return sp.csr_array(x)


ONE = np.ones(1)


class TestSum(OperatorContract):
    """An intersection, normalised or not, an RBF and a linear kernel, each of its own columns."""

    columns = (slice(0, 3), slice(2, 5), slice(0, 5), slice(1, 4))
    overflow = r"not finite"

    def build(self, x):
        zeros = [np.zeros(len(range(*own.indices(D))), dtype=int) for own in self.columns]
        kernels = (
            IntersectionKernel(ONE, zeros[0], 0.0, "power", 1.7),
            RBFKernel(ONE, zeros[1], 0.0, gamma=3.0),
            NormalisedIntersectionKernel(ONE, zeros[2], 0.0),
            LinearKernel(ONE, zeros[3], 0.0),
        )
        channels = [
            DenseOperator(x[:, own], kernel)
            if isinstance(kernel, RBFKernel | LinearKernel)
            else histogram_operator(Histograms.of(x[:, own]), kernel)
            for own, kernel in zip(self.columns, kernels, strict=True)
        ]
        weights = np.array([0.7, 1.3, 0.4, 0.2])
        return SumOperator(channels, SumKernel(weights, np.arange(4), 0.3, kernels))

    def matrix(self, kernel, a, b):
        tests = (TestHistogram(), TestRBF(), TestNormalised(), TestDenseLinear())
        parts = zip(tests, kernel.channels, self.columns, kernel.weights, strict=True)
        return kernel.bias + sum(w * one.matrix(own, a[:, c], b[:, c]) for one, own, c, w in parts)

    def rows(self, operator, x):
        parts = zip(operator.channels, self.columns, strict=True)
        return ChannelRows(tuple(x[:, c] if op.levels is None else raw_rows(x[:, c]) for op, c in parts))

    def test_kept_matrices_follow_the_kernel(self):
        x = continuous(N, D)
        operator = self.build(x).keeping_matrices()
        for factor in (1.0, 1.2):
            kernel = operator.kernel.with_theta(operator.kernel.theta * factor)
            found = operator.with_kernel(kernel).kernel_matrix()
            self.assert_close(found, self.matrix(kernel, x, x))

    def test_a_channel_of_weight_zero_counts_for_nothing(self):
        x = continuous(N, D)
        operator = self.build(x)
        operator = operator.with_kernel(replace(operator.kernel, weights=np.array([0.0, 1.3, 0.0, 0.2])))
        self.check(operator, x)
