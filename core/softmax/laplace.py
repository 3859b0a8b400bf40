"""Variances of the latent functions: the Laplace posterior, approximated by a Gaussian process regression.

The Laplace posterior has covariance (K^-1 + W)^-1 over all rows and classes together. Here each row's block of W,
diag(pi) - pi pi^T, is replaced by w (I - 1 1^T / C) with the same trace, w = (1 - sum pi^2) / (C - 1); for two classes
that is no change. What is left of it are C equal problems: the posterior of label regression with noise 1 / w. So one
variance stands for all classes, and the dual, level-space and iterative posteriors, with their pools, give it.
"""

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from core._types import Floats
from core.posterior import POSTERIORS, Posterior, choose
from core.softmax.model import SoftmaxRegression

MIN_WEIGHT = 1e-6  # of a row whose class the model is certain of


def row_weights(probabilities: Floats) -> Floats:
    """w of each row (rows x C to rows): the precision of its pseudo-target.

    >>> row_weights(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [0.5, 1e-06]
    """
    spread = 1.0 - (probabilities**2).sum(axis=1)
    return np.asarray(np.maximum(spread / max(probabilities.shape[1] - 1, 1), MIN_WEIGHT))


def laplace_posterior(model: SoftmaxRegression, max_memory: float = np.inf) -> Posterior:
    """The posterior whose `variance` and `covariance` are those of every class function of the model, as above.

    The prior variance of a function is the mean over the classes; where nodes have kernels of their own, that of the
    first is taken for all. Its means are zero: the model itself has them.
    """
    prior, n = model.prior, len(model.labels)
    variance = float(prior.tree.to_classes(prior.variances[None]).mean())
    kernel = prior.kernels[0].scaled(variance)
    operator = model.operator.with_kernel(replace(kernel, bias=kernel.bias + prior.intercept))
    weights = np.maximum(row_weights(softmax(model.solution.latents[:, 0], axis=1)) * model.counts, MIN_WEIGHT)
    return POSTERIORS[choose(operator, 1, max_memory)](operator, np.zeros((n, 1)), 1.0 / weights + prior.noise)


def left_out(model: SoftmaxRegression, posterior: Posterior) -> Floats:
    """The latents that each row gets from all others, to first order; n x C.

    With v_i the variance of row i under the posterior above, with noise 1 / w_i, that without its label is
    v_i / (1 - v_i w_i), and what the label adds to the latents is that times its weights.
    """
    variance = posterior.variance(model.operator.training_rows(np.arange(len(model.labels))))
    share = np.clip(1.0 - variance / posterior.noise, MIN_WEIGHT, 1.0)
    return centred(model.solution.latents[:, 0] - model.weights * (variance / share)[:, None])


def centred(latents: Floats) -> Floats:
    """Latents without the part that all classes of a row share, which says nothing."""
    return np.asarray(latents - latents.mean(axis=1, keepdims=True)) if latents.size else latents
