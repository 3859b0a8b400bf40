"""Slow and obvious twins of core/models/look_ahead.py and core/_jit/ahead.py."""

import numpy as np
from scipy.integrate import quad
from scipy.special import xlogy
from scipy.stats import norm

from tests.reference.dense import DenseGP, targets


def probit(means, variances):
    p = norm.cdf(means / np.sqrt(variances)[:, None])
    return p / p.sum(axis=1, keepdims=True)


def entropy(p):
    return -xlogy(p, p).sum(axis=1)


def loss(p, costs=None):
    return entropy(p) if costs is None else (p @ costs).min(axis=1)


def expected_loss(K, labels, rows, item, reference, noise, n_classes, costs=None, answers=3):
    """Fit again with each of the likeliest answers about an item, and look at the reference; K is of all items."""

    def fit(rows, labels):
        gp = DenseGP(K[np.ix_(rows, rows)], targets(labels, n_classes), np.full(len(rows), noise))
        return lambda of: (gp.means(K[np.ix_(rows, of)]), gp.variance(K[np.ix_(rows, of)], K[of, of]))

    means, variances = fit(rows, labels)(np.array([item]))
    p = probit(means, variances + noise)[0]
    total = 0.0
    likeliest = np.argsort(-p)[:answers]
    for answer in likeliest:
        means, variances = fit(np.append(rows, item), np.append(labels, answer))(reference)
        total += p[answer] / p[likeliest].sum() * loss(probit(means, variances + noise), costs).mean()
    return total


def information(mean_x, var_x, mean_r, var_r, covariance, noise):
    """Between two yes-or-no answers: P(both) by integrating over both functions, first r given x, then x."""
    sd, b = np.sqrt(var_x), covariance / var_x

    def given(f):
        inner = mean_r + b * (f - mean_x)
        left = np.sqrt(var_r - covariance * b)
        value, _ = quad(
            lambda g: norm.cdf(g / np.sqrt(noise)) * norm.pdf(g, inner, left), inner - 9 * left, inner + 9 * left
        )
        return value

    both, _ = quad(
        lambda f: norm.cdf(f / np.sqrt(noise)) * given(f) * norm.pdf(f, mean_x, sd), mean_x - 9 * sd, mean_x + 9 * sd
    )
    one, other = norm.cdf(mean_x / np.sqrt(var_x + noise)), norm.cdf(mean_r / np.sqrt(var_r + noise))
    joint = np.array([[both, one - both], [other - both, 1 - one - other + both]])
    apart = np.array([[one * other, one * (1 - other)], [(1 - one) * other, (1 - one) * (1 - other)]])
    return float((joint * np.log(joint / apart)).sum())
