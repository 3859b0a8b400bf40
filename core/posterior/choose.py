"""Choice of the cheapest posterior, by estimates of time and memory."""

from dataclasses import dataclass
from typing import Literal

from core.linalg import COARSE_LEVELS, HistogramOperator, Operator
from core.posterior.base import Posterior
from core.posterior.dual import DualPosterior
from core.posterior.iterative import IterativePosterior
from core.posterior.level_space import LevelPosterior
from core.posterior.pairs import cost_in_dual, cost_in_level_space
from core.posterior.speed import DUAL_UPDATE, FLOP, GATHER, LEVEL_UPDATE, PAIR, SOLVE
from core.rows import NO_ROWS, Size

PosteriorName = Literal["dual", "levels", "iterative"]

POSTERIORS: dict[PosteriorName, type[Posterior]] = {
    "dual": DualPosterior,
    "levels": LevelPosterior,
    "iterative": IterativePosterior,
}

ROUNDS = 100  # of preconditioned CG
UPDATES = 100  # labels that a fit should serve, before it pays to fit again


@dataclass(frozen=True)
class Cost:
    """Estimated seconds of a fit, its updates and the pool's predictions, and bytes besides the rows."""

    seconds: float
    memory: float


def costs(n: int, n_levels: int, nnz: int, n_columns: int, pool: Size = NO_ROWS) -> dict[PosteriorName, Cost]:
    """What each posterior of n rows with nnz codes over n_levels levels needs, for n_columns functions.

    With a pool, the variance of each of its rows is computed once, and a covariance with all of them per label.

    >>> table = costs(n=50_000, n_levels=6_261, nnz=6_400_000, n_columns=10)
    >>> sorted(table, key=lambda name: table[name].seconds)
    ['levels', 'iterative', 'dual']
    """
    solve = ROUNDS * 4 * nnz * GATHER  # of one column: a product and a preconditioner, two passes each
    coarse = min(n_levels, COARSE_LEVELS) ** 3 / 3 * FLOP + nnz**2 / max(n, 1) / 2 * PAIR
    nanoseconds: dict[PosteriorName, float] = {
        "dual": n**3 / 3 * FLOP + n * nnz * GATHER + UPDATES * n**2 * DUAL_UPDATE,
        "levels": n_levels**3 / 3 * FLOP + nnz**2 / max(n, 1) / 2 * PAIR + UPDATES * n_levels**2 * LEVEL_UPDATE,
        # Each label is a new preconditioner and a solve, from a good start.
        "iterative": n_columns * solve * (1 + UPDATES / 3) + (1 + UPDATES) * coarse,
    }
    if pool.rows:
        nanoseconds["dual"] += min(cost_in_dual(pool, n, n_levels, nnz)) + UPDATES * 2 * n**2 * SOLVE
        nanoseconds["levels"] += min(cost_in_level_space(pool, n_levels)) + UPDATES * 2 * n_levels**2 * SOLVE
        nanoseconds["iterative"] += (pool.rows + UPDATES) * solve
    memory: dict[PosteriorName, float] = {
        "dual": 8.0 * n**2,
        "levels": 16.0 * n_levels**2,
        "iterative": 80.0 * n * n_columns,
    }
    return {name: Cost(nanoseconds[name] / 1e9, memory[name]) for name in nanoseconds}


def choose(operator: Operator, n_columns: int, max_memory: float, pool: Size = NO_ROWS) -> PosteriorName:
    """The cheapest posterior that fits into memory; the one that needs least if none does.

    A pool never gets the iterative one, however little memory there is: it would be solved for hours at each refresh.
    """
    if not isinstance(operator, HistogramOperator):
        return "dual"
    table = costs(len(operator), len(operator.levels), operator.rows.nnz, n_columns, pool)
    if not operator.in_level_space:
        return "dual" if pool.rows or table["dual"].memory <= max_memory else "iterative"
    if pool.rows:
        del table["iterative"]
    fitting = [name for name, cost in table.items() if cost.memory <= max_memory]
    if not fitting:
        return min(table, key=lambda name: table[name].memory)
    return min(fitting, key=lambda name: table[name].seconds)
