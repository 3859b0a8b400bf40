"""Minimising a criterion over positive parameters, in log space."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from core._types import Floats
from core.kernels import Kernel
from core.tuning.criteria import Criterion, Evaluation

WORST = 1e300
NOISE_BOUNDS = (1e-4, 1e4)  # in units of the mean of k(x, x); with less, labels that change lose digits
LADDER = (1.0, 1e-2, 1e-4)  # of noises that are looked at before a search
AT = 1e-3  # of a bound, in logarithms: where the search stopped
STEP = 0.7  # first step of a cold simplex: a factor of two
GAIN = 2e-9  # of the criterion, for which another round of L-BFGS is worth while
WARM_STEP = 0.06  # least size of a simplex that starts from the last one: more where the bottom has moved


@dataclass(frozen=True)
class Stop:
    """End a search after so many evaluations a parameter without such a relative gain."""

    patience: int
    gain: float


COLD = Stop(6, 1e-3)
WARM = Stop(2, 5e-3)  # a setting that was good is left only for a clear gain


@dataclass(frozen=True, eq=False)
class Setting:
    """Values of the parameters (kernel theta, then noise) in units of the data, and the names of the free ones."""

    kernel: Kernel
    noise: float
    free: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.kernel.names, "noise")

    @property
    def logs(self) -> Floats:
        """Logarithms of the free parameters, clipped to their bounds."""
        values, bounds = np.append(self.kernel.theta, self.noise), self._bounds
        return np.asarray(np.log(np.clip(values, bounds[:, 0], bounds[:, 1]))[self._places])

    @property
    def log_bounds(self) -> Floats:
        return np.asarray(np.log(self._bounds)[self._places])

    def at(self, logs: Floats) -> "Setting":
        """The setting with these logarithms of the free parameters, clipped to their bounds."""
        values = np.append(self.kernel.theta, self.noise)
        bounds = self.log_bounds
        values[self._places] = np.exp(np.clip(logs, bounds[:, 0], bounds[:, 1]))
        return Setting(self.kernel.with_theta(values[:-1]), float(values[-1]), self.free)

    def gradient(self, evaluation: Evaluation) -> Floats:
        """By the logarithms of the free parameters."""
        assert evaluation.by_theta is not None
        by_log = np.append(evaluation.by_theta * self.kernel.theta, evaluation.by_log_noise or 0.0)
        return np.asarray(by_log[self._places])

    @property
    def at_bounds(self) -> list[tuple[str, float]]:
        """Names of free parameters that are at a bound, with the bound; weights and noise may be as small as can be."""
        return [
            (name, float(np.exp(bound)))
            for name, log, bounds in zip(self.free, self.logs, self.log_bounds, strict=True)
            for side, bound in enumerate(bounds)
            if abs(log - bound) < AT and (side or not name.startswith(("weight", "noise")))
        ]

    def is_near(self, other: "Setting") -> bool:
        """Whether both are within a step of each other, in all parameters."""
        a, b = (np.append(setting.kernel.theta, setting.noise) for setting in (self, other))
        both = (a > 0.0) & (b > 0.0)
        return bool(((a > 0.0) == (b > 0.0)).all() and np.all(np.abs(np.log(a[both] / b[both])) < STEP))

    @property
    def _bounds(self) -> Floats:
        return np.vstack([self.kernel.bounds, NOISE_BOUNDS])

    @cached_property
    def _places(self) -> list[int]:
        place = {name: i for i, name in enumerate(self.names)}
        return [place[name] for name in self.free]


@dataclass(frozen=True, eq=False)
class Found:
    """The best setting of a search."""

    setting: Setting
    evaluation: Evaluation
    value: float  # of the criterion, penalties included
    evaluations: int
    simplex: Floats | None = None  # where the next search may start


def best_noise(criterion: Criterion, start: Setting, on_step: Callable[[], object] = lambda: None) -> Setting:
    """The start with the best of some noises: leave-one-out error has more than one local minimum."""
    best = _Best(criterion, start, on_step)
    for factor in LADDER:
        best.value(start.logs + np.log(factor) * (np.array(start.free) == "noise"))
    return best.setting or start


def simplex_search(
    criterion: Criterion,
    start: Setting,
    simplex: Floats | None = None,
    tolerance: float = 0.05,
    on_step: Callable[[], object] = lambda: None,
) -> Found:
    """Nelder-Mead, from the last simplex if there is one: few parameters, no gradient, warm starts.

    `on_step` is called before each evaluation; what it raises ends the search.
    """
    best = _Best(criterion, start, on_step, stop=WARM if simplex is not None else COLD)
    centre = start.logs
    if simplex is None:
        simplex = np.vstack([centre, centre + STEP * np.eye(len(centre))])
    else:
        offsets = simplex[1:] - simplex[0]
        small = np.abs(offsets).max(initial=0.0) < WARM_STEP
        simplex = np.vstack([centre, centre + (WARM_STEP * np.eye(len(centre)) if small else offsets)])
    options = {"initial_simplex": simplex, "xatol": tolerance, "fatol": np.inf, "maxfev": 200 * len(centre)}
    try:
        simplex = minimize(best.value, centre, method="Nelder-Mead", options=options).final_simplex[0]
    except _NoGain:
        assert best.setting is not None
        simplex = best.setting.logs + np.vstack([np.zeros(len(centre)), WARM_STEP * np.eye(len(centre))])
    return best.found(simplex)


def gradient_search(
    criterion: Criterion,
    start: Setting,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    max_rounds: int = 100,
    gain: float = GAIN,
    on_step: Callable[[], object] = lambda: None,
) -> Found:
    """L-BFGS on the logarithms, with l1 |weights|_1 + l2 |weights|_2^2 added (Kapoor2010, section 6).

    It ends with a round that gains less than that part of the criterion.
    """
    best = _Best(criterion, start, on_step, l1, l2)
    minimize(
        best.value_and_gradient,
        start.logs,
        jac=True,
        method="L-BFGS-B",
        bounds=start.log_bounds,
        options={"maxiter": max_rounds, "ftol": gain},
    )
    return best.found(None)


class _NoGain(Exception):  # noqa: N818 - the end of a search, not an error
    """Nothing was gained for long: the criterion is flat here, whatever the parameters still do."""


class _Best:
    """Counts evaluations and remembers the best one: a search may end elsewhere."""

    def __init__(
        self,
        criterion: Criterion,
        start: Setting,
        on_step: Callable[[], object],
        l1: float = 0.0,
        l2: float = 0.0,
        stop: "Stop | None" = None,
    ) -> None:
        self._criterion, self._start, self._on_step = criterion, start, on_step
        self._l1, self._l2 = l1, l2
        self._stop = stop
        self._count = self._gained_at = 0
        self._level = np.inf
        self._lowest = np.inf
        self._kept: tuple[Setting, Evaluation] | None = None

    @property
    def setting(self) -> Setting | None:
        return None if self._kept is None else self._kept[0]

    def value(self, logs: Floats) -> float:
        value = self._evaluate(logs, gradient=False)[0]
        if self._stop is None:
            return value
        if np.isinf(self._level) or value < self._level - self._stop.gain * abs(self._level):
            self._level, self._gained_at = value, self._count
        elif self._count > self._gained_at + self._stop.patience * len(self._start.free):
            raise _NoGain
        return value

    def value_and_gradient(self, logs: Floats) -> tuple[float, Floats]:
        value, setting, evaluation = self._evaluate(logs, gradient=True)
        penalty = np.array(
            [
                self._l1 * w + 2.0 * self._l2 * w**2 if name.startswith("weight") else 0.0
                for name, w in self._free(setting)
            ]
        )
        return value, setting.gradient(evaluation) + penalty

    def found(self, simplex: Floats | None) -> Found:
        if self._kept is None:
            raise ValueError("no setting of the hyperparameters gives a finite kernel: scale the features")
        setting, evaluation = self._kept
        return Found(setting, evaluation, self._lowest, self._count, simplex)

    def _evaluate(self, logs: Floats, *, gradient: bool) -> tuple[float, Setting, Evaluation]:
        self._on_step()
        self._count += 1
        setting = self._start.at(logs)
        try:
            evaluation = self._criterion(setting.kernel, setting.noise, gradient=gradient)
        except ValueError:  # a kernel that overflows, a matrix beyond repair: as bad as can be, but no reason to stop
            nothing = np.zeros(len(setting.kernel.theta))
            return WORST, setting, Evaluation(WORST, 1.0, nothing, 0.0)
        weights = np.array([w for name, w in self._free(setting) if name.startswith("weight")])
        value = evaluation.value + self._l1 * float(weights.sum()) + self._l2 * float((weights**2).sum())
        if value < self._lowest:
            self._lowest, self._kept = value, (setting, evaluation)
        return value, setting, evaluation

    def _free(self, setting: Setting) -> list[tuple[str, float]]:
        return list(zip(setting.free, np.exp(setting.logs), strict=True))
