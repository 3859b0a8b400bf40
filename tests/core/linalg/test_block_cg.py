import numpy as np
import pytest

from core.linalg import block_cg


def system(n=40, seed=0, condition=1e4):
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return q @ np.diag(np.geomspace(1.0, condition, n)) @ q.T, rng.normal(size=(n, 4))


@pytest.mark.parametrize("preconditioned", [False, True])
def test_it_solves_to_its_tolerance(preconditioned):
    a, b = system()
    diagonal = np.diag(a)[:, None]
    result = block_cg(
        lambda v: a @ v, b, precondition=(lambda r: r / diagonal) if preconditioned else lambda r: r, tolerance=1e-10
    )
    assert result.converged
    assert result.residual <= 1e-10
    assert np.allclose(result.x, np.linalg.solve(a, b), atol=1e-8)


def test_columns_help_each_other():
    a, b = system(n=80)
    together = block_cg(lambda v: a @ v, b).rounds
    alone = max(block_cg(lambda v: a @ v, b[:, j : j + 1]).rounds for j in range(4))
    assert together < 0.7 * alone


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_dependent_zero_and_badly_scaled_columns(scale):
    a, b = system()
    b = np.column_stack([b[:, 0], -b[:, 0], np.zeros(len(b)), scale * b[:, 1], b[:, 0] + b[:, 1]])
    result = block_cg(lambda v: a @ v, b)
    assert result.converged
    assert np.allclose(result.x, np.linalg.solve(a, b), atol=1e-6 * max(1.0, scale))
    assert np.abs(result.x[:, 2]).max() < 1e-14


def test_a_good_start_needs_fewer_rounds():
    a, b = system()
    cold = block_cg(lambda v: a @ v, b)
    assert block_cg(lambda v: a @ v, b, cold.x).rounds == 0
    assert 0 < block_cg(lambda v: a @ v, b * (1 + 1e-6), cold.x).rounds < cold.rounds


def test_it_does_not_start_again_without_need():
    a, b = system(n=200, condition=1e3)  # each round gains little
    products = 0

    def multiply(v):
        nonlocal products
        products += 1
        return a @ v

    result = block_cg(multiply, b[:, :1])
    assert result.converged
    assert products == result.rounds + 1  # the true residual, once


def test_a_start_far_away_is_left_behind():
    a, b = system()
    start = 1e9 * np.random.default_rng(1).normal(size=b.shape)
    result = block_cg(lambda v: a @ v, b, start)
    assert result.converged
    assert np.allclose(result.x, np.linalg.solve(a, b), atol=1e-6)


def test_it_ends_where_rounding_is_the_limit():
    a, b = system()
    result = block_cg(lambda v: a @ v, b, tolerance=0.0)
    assert not result.converged
    assert result.rounds < 1000
    assert result.residual < 1e-10


def test_it_says_when_rounds_run_out_and_how_far_it_came():
    a, b = system(condition=1e9)
    result = block_cg(lambda v: a @ v, b, max_rounds=3)
    assert not result.converged
    assert result.rounds == 3
    assert result.residual == pytest.approx(
        (np.linalg.norm(b - a @ result.x, axis=0) / np.linalg.norm(b, axis=0)).max()
    )
    solution = np.linalg.solve(a, b)
    error, start = result.x - solution, -solution
    assert np.vdot(error, a @ error) < np.vdot(start, a @ start)


def test_a_useless_preconditioner_does_no_harm():
    a, b = system()
    result = block_cg(lambda v: a @ v, b, precondition=lambda r: -r, max_rounds=50)
    assert not result.converged
    assert result.residual == pytest.approx(1.0)


def test_nothing_to_solve():
    assert block_cg(lambda v: v, np.empty((0, 2))).x.shape == (0, 2)
    assert block_cg(lambda v: v, np.empty((3, 0))).x.shape == (3, 0)
