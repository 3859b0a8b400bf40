"""What every operator must do, against the dense matrix. A test class says how to build it and what the matrix is."""

import numpy as np
import pytest

from core._types import no_rows
from tests.core.data import continuous, size

N, D = size(50, 14), 5
GROUPS, WEIGHTS = np.arange(D) % 3, np.array([0.7, 1.6, 0.4])
STEP = 1e-6  # of finite differences


class OperatorContract:
    tolerance = 1e-11
    overflow = r"row 1 .*not finite"  # what is said of rows that are too large

    def build(self, x):
        """The operator over the rows of an array."""
        raise NotImplementedError

    def matrix(self, kernel, a, b):
        """The kernel matrix of two arrays, slow and obvious."""
        raise NotImplementedError

    def rows(self, operator, x):
        """The rows of an array as the operator reads them."""
        return x

    def assert_close(self, found, expected):
        assert found.shape == expected.shape
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        assert np.abs(found - expected).max(initial=0.0) < self.tolerance * scale

    def check(self, operator, x):
        """Everything that is asked of the operator, whose training rows are these."""
        # Rows that were seen, values between and above the training values, an empty row; more than one block.
        query = np.vstack([x, x * 0.7, x * 1.2 + 0.01, np.zeros((1, D))])
        rows, kernel = self.rows(operator, query), operator.kernel
        K, cross = self.matrix(kernel, x, x), self.matrix(kernel, x, query)
        rng = np.random.default_rng(0)
        assert len(operator) == len(x)
        for columns in (1, 3):
            v = rng.normal(size=(len(x), columns))
            self.assert_close(operator.product(v), K @ v)
            self.assert_close(operator.predictor(v)(rows), cross.T @ v)
        items, by = operator.training_rows(np.arange(len(x))), rng.normal(size=(3, 2))
        self.assert_close(operator.predictor(v).for_items()(items), K @ v)
        self.assert_close(operator.predictor(v).for_items(by)(items), K @ v @ by)
        self.assert_close(operator.cross(rows), cross)
        self.assert_close(operator.cross(rows, len(x) // 2), cross[len(x) // 2 :])
        self.assert_close(operator.diagonal(rows), np.diag(self.matrix(kernel, query, query)))
        beta = rng.normal(size=(len(x), 2))
        two = np.array([0, len(x) - 1])  # whose values are levels: of others, what lies between two levels is left out
        difference = operator.difference(operator.training_rows(two), beta)
        self.assert_close(difference(rows), self.matrix(kernel, query, x[two]) - cross.T @ beta)
        every = operator.training_rows(np.arange(len(x)))
        self.assert_close(operator.cross(every), K)
        operator.check(rows)

    def test_equals_the_dense_matrix(self):
        x = continuous(N, D)
        self.check(self.build(x), x)

    @pytest.mark.parametrize("n", [0, 1])
    def test_hardly_any_rows(self, n):
        x = continuous(3, D)
        operator = self.build(x).only(np.arange(n))
        v = np.ones((n, 2))
        self.assert_close(operator.product(v), self.matrix(operator.kernel, x[:n], x[:n]) @ v)
        self.assert_close(operator.predictor(v)(self.rows(operator, x)), self.matrix(operator.kernel, x, x[:n]) @ v)
        self.assert_close(operator.cross(self.rows(operator, x)), self.matrix(operator.kernel, x[:n], x))

    def test_some_of_the_rows_in_any_order(self):
        x, some = continuous(N, D), np.array([7, 2, 2, 11])
        operator = self.build(x)
        self.check(operator.only(some), x[some])
        own = operator.training_rows(some)
        self.assert_close(operator.cross(own), self.matrix(operator.kernel, x, x[some]))
        assert len(operator.only(no_rows())) == 0
        self.check(operator, x)

    def test_rows_come_and_go(self):
        x, more = continuous(N, D), continuous(9, D, seed=5)
        operator = self.build(x)
        operator.product(np.ones((N, 1)))  # what is kept of the matrix must follow
        operator.append(self.rows(operator, more[:1]))
        operator.append(self.rows(operator, more[1:]))
        x = np.vstack([x, more])
        self.check(operator, x)
        operator.remove(np.array([0, 4, len(x) - 1]))
        self.check(operator, np.delete(x, [0, 4, len(x) - 1], axis=0))

    def test_a_draft_and_what_it_was_drafted_from_do_not_see_each_other(self):
        x, more = continuous(N, D), continuous(4, D, seed=5)
        operator = self.build(x)
        draft = operator.draft()
        draft.append(self.rows(draft, more))
        draft.remove(np.array([1]))
        self.check(operator, x)
        self.check(draft, np.delete(np.vstack([x, more]), 1, axis=0))

    def test_a_predictor_stays_what_it_was_when_the_operator_changes(self):
        x = continuous(N, D)
        operator = self.build(x)
        query = self.rows(operator, x[:5] * 0.9)
        predictor = operator.predictor(np.ones((N, 2)))
        before = predictor(query)
        operator.append(query)
        operator.remove(np.array([0, 3]))
        assert np.array_equal(predictor(query), before)

    def test_another_kernel_for_the_same_rows(self):
        x = continuous(N, D)
        operator = self.build(x)
        self.check(operator, x)
        other = operator.with_kernel(operator.kernel.with_theta(operator.kernel.theta * 1.3))
        self.check(other, x)
        self.check(operator, x)

    def test_gradients_by_finite_differences(self):
        x = continuous(N, D)
        operator, kernel = self.build(x), self.build(x).kernel
        e, f = np.random.default_rng(3).normal(size=(2, N, 2))

        def value(theta):
            return np.vdot(e, self.matrix(kernel.with_theta(theta), x, x) @ f)

        steps = STEP * np.eye(len(kernel.theta))
        expected = [(value(kernel.theta + step) - value(kernel.theta - step)) / (2 * STEP) for step in steps]
        bound = 1e-6 * np.abs(expected).max()
        assert np.allclose(operator.pull_back(e, f), expected, rtol=1e-5, atol=bound)
        symmetric = (e @ f.T + f @ e.T) / 2
        assert np.allclose(operator.pull_back_matrix(symmetric), expected, rtol=1e-5, atol=bound)

    def test_rows_whose_kernel_values_overflow_are_named(self):
        x = continuous(N, D)
        operator = self.build(x)
        with pytest.raises(ValueError, match=self.overflow):
            operator.check(self.rows(operator, np.vstack([x[:1], np.full((1, D), 1.7e308)])))
