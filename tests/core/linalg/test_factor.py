import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.linalg import Factor


def spd(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def factor_of(a):
    return Factor(len(a), lambda out: np.copyto(out[: len(a), : len(a)], np.tril(a)))


def matches(factor, a):
    b = np.random.default_rng(1).normal(size=(len(a), 3))
    return np.allclose(factor.solve(b), np.linalg.solve(a, b) if len(a) else b, atol=1e-10)


@given(st.integers(0, 12), st.data())
def test_the_factor_follows_its_matrix(n, data):
    rng = np.random.default_rng(7)
    a = spd(n)
    factor = factor_of(a)
    for step in data.draw(st.lists(st.sampled_from(["append", "delete", "update", "downdate"]), max_size=8)):
        if step == "append":
            column = rng.normal(size=len(a))
            a = np.block([[a, column[:, None]], [column[None], np.array([[40.0]])]])
            assert factor.append(column[:, None], np.array([[40.0]]))
        elif len(a) and step == "delete":
            j = data.draw(st.integers(0, len(a) - 1))
            a = np.delete(np.delete(a, j, axis=0), j, axis=1)
            factor.delete(j)
        elif len(a):
            v = rng.normal(size=len(a)) * (rng.random(len(a)) < 0.6)
            sign = 1.0 if step == "update" else -0.01
            a = a + sign * np.outer(v, v)
            if sign > 0:
                factor.update(v)
            else:
                assert factor.downdate(np.sqrt(-sign) * v)
        assert factor.n == len(a)
        assert matches(factor, a)
    assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(a)[1])


def test_it_grows_beyond_its_buffer():
    factor, a = factor_of(np.eye(2)), np.eye(2)
    for i in range(100):
        column = np.full(len(a), 0.01 * i / 100)
        a = np.block([[a, column[:, None]], [column[None], np.array([[2.0]])]])
        assert factor.append(column[:, None], np.array([[2.0]]))
    assert matches(factor, a)


def test_many_rows_at_once_grow_beyond_the_buffer():
    a = spd(100)
    factor = factor_of(a[:3, :3])
    assert factor.append(a[:3, 3:], a[3:, 3:])
    assert matches(factor, a)


def test_a_row_that_would_make_it_indefinite_is_refused_and_changes_nothing():
    factor = factor_of(np.eye(2))
    assert not factor.append(np.array([[2.0], [0.0]]), np.array([[1.0]]))
    assert factor.n == 2
    assert matches(factor, np.eye(2))


def test_a_downdate_that_would_make_it_indefinite_is_reported():
    assert not factor_of(np.eye(2)).downdate(np.array([0.0, 1.5]))


def test_jitter_is_added_where_rounding_made_the_matrix_singular():
    factor = factor_of(np.full((5, 5), 1e150))
    assert 0.0 < factor.jitter < 1e-9
    assert np.isfinite(factor.solve(np.ones((5, 1)))).all()


def test_a_matrix_beyond_repair_is_an_error_that_says_what_to_do():
    with pytest.raises(np.linalg.LinAlgError, match="raise the noise"):
        factor_of(-np.eye(3))


def test_the_corner_of_the_inverse():
    a, b = spd(5), np.arange(6.0).reshape(2, 3)
    assert np.allclose(factor_of(a).solve_last(b), np.linalg.inv(a)[-2:, -2:] @ b)


def test_half_solve():
    a = spd(6)
    assert np.allclose(factor_of(a).half_solve(np.eye(6)), np.linalg.inv(np.linalg.cholesky(a)))


@pytest.mark.parametrize("n", [0, 6])
def test_quadratic(n):
    a, b = spd(n), np.random.default_rng(3).normal(size=(n, 4))
    expected = b.T @ np.linalg.inv(a) @ b
    assert np.allclose(np.tril(factor_of(a).quadratic(b)), np.tril(expected))


def test_changes_by_whole_numbers():
    """Zeros are passed over, ones are not."""
    a, v = spd(6), np.array([0.0, 1.0, 0.0, 1.0, 2.0, 1.0])
    factor = factor_of(a)
    factor.update(v)
    assert matches(factor, a + np.outer(v, v))
    assert factor.downdate(v)
    assert matches(factor, a)


def test_the_inverse_is_whole():
    a = spd(150)  # several tiles of the kernel that mirrors it
    assert np.allclose(factor_of(a).inverse() @ a, np.eye(150))


@given(st.lists(st.sampled_from(["append", "delete", "update", "downdate"]), min_size=1, max_size=8), st.data())
def test_drafts_know_nothing_of_each_other(steps, data):
    """Whoever keeps a factor keeps it, and what nobody keeps may be written over."""
    rng, a = np.random.default_rng(3), spd(6)
    factor, kept = factor_of(a), []
    for step in steps:
        if data.draw(st.booleans()):
            kept.append((factor, a))
        factor = factor.draft()
        if step == "append":
            column = rng.normal(size=len(a))
            a = np.block([[a, column[:, None]], [column[None], np.array([[40.0]])]])
            factor.append(column[:, None], np.array([[40.0]]))
        elif step == "delete" and len(a):
            a = a[1:, 1:]
            factor.delete(0)
        elif len(a):
            v, sign = rng.normal(size=len(a)) * (rng.random(len(a)) < 0.6), 1.0 if step == "update" else -0.01
            a = a + sign * np.outer(v, v)
            if sign > 0:
                factor.update(v)
            else:
                factor.downdate(np.sqrt(-sign) * v)
    for other, b in [*kept, (factor, a)]:
        assert matches(other, b)


def test_a_factor_is_pickled_without_what_it_wrote_over():
    factor = factor_of(spd(50))
    size = len(pickle.dumps(factor))
    for _ in range(2):
        factor = factor.draft()
        factor.update(np.ones(50))
    assert len(pickle.dumps(factor)) < 1.2 * size


def test_two_drafts_of_one_factor():
    a, v = spd(6), np.arange(6.0)
    factor = factor_of(a).draft()
    for _ in range(2):  # there is a sheet that nobody has
        factor = factor.draft()
        factor.update(v)
    first, second = factor.draft(), factor.draft()
    first.update(v)
    assert second.downdate(v)
    for other, count in ((factor, 2), (first, 3), (second, 1)):
        assert matches(other, a + count * np.outer(v, v))
