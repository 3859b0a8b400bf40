"""Variances of the class functions under a kernel that stays: found in seconds, on few rows and by their matrix."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from core._types import Floats, Indices
from core.linalg import AtBound, Operator
from core.softmax.cross_validation import CrossValidation
from core.softmax.prior import Prior
from core.softmax.search import BOUNDS, Search, TunedPrior, tune_prior

ROWS = 600  # that tell them
MILD = 10.0  # variance to begin with, in units of the data
MAX_ROUNDS = 10
GAIN = 5e-4  # of the log loss, for which another round is worth while


def find_variances(
    operator: Operator,
    labels: Indices,
    prior: Prior,
    *,
    last: Prior | None = None,
    counts: Floats | None = None,
    most: float = BOUNDS[1],
    on_step: Callable[[], object] = lambda: None,
) -> TunedPrior:
    """The variances (one a depth) and the intercept of least cross-validated log loss, under the prior's kernel.

    A search starts from what the prior has, from what the `last` one found, or from mild variances, whichever is best.
    No variance is above `most`, in units of the data. `on_step` is called before each evaluation.
    """
    certain = np.flatnonzero(labels < prior.tree.n_classes)
    rows = certain[np.unique(np.linspace(0, len(certain) - 1, ROWS).astype(np.int64))]
    few = operator.only(rows).with_kernel(prior.kernels[0])
    matrix = few.cross(few.training_rows(np.arange(len(rows))))
    unit = float(np.diag(matrix).mean()) or 1.0
    weights = None if counts is None else counts[rows]
    single = (matrix / unit).astype(np.float32)
    criterion = CrossValidation(few, labels[rows], prior, counts=weights, matrix=single)
    now = replace(prior, variances=prior.variances * unit)
    share = MILD / float(now.variances.mean())
    mild = replace(now, variances=np.full_like(now.variances, MILD), intercept=now.intercept * share)
    begins = [now, mild]
    if last is not None:
        size = float(few.with_kernel(last.kernels[0]).diagonal(few.training_rows(np.arange(len(rows)))).mean())
        begins.append(replace(now, variances=last.variances * size, intercept=last.intercept))
    search = replace(Search.of(now, "depth", intercept=bool(now.intercept > 0.0)), most=most)
    begins = [search.at(begin, search.logs(begin)) for begin in begins]
    on_step()
    start = min(begins, key=lambda begin: criterion(begin, gradient=False)[0])
    found = tune_prior(criterion, start, search, max_rounds=MAX_ROUNDS, gain=GAIN, on_step=on_step)
    best = replace(found.prior, variances=found.prior.variances / unit)
    values = dict(zip(search.names(best), np.exp(search.free(best)).tolist(), strict=True))
    met = search.at_bounds(found.prior)
    at_bounds = tuple(AtBound(name, values[name], bound, bound > 1.0) for name, bound in met)
    return replace(found, prior=best, at_bounds=at_bounds)
