"""Slow and obvious twins of core/models/look_ahead.py and core/_jit/ahead.py."""

import numpy as np
from scipy.special import xlogy
from scipy.stats import multivariate_normal, norm

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


def information(mean_x, var_x, mean_r, var_r, covariance, noise, steps=601):
    """Between two yes-or-no answers: P(both) as an integral over both functions, on a grid."""
    f, g = (m + np.sqrt(v) * np.linspace(-8, 8, steps) for m, v in ((mean_x, var_x), (mean_r, var_r)))
    points = np.stack(np.meshgrid(f, g, indexing="ij"), axis=-1)
    density = multivariate_normal([mean_x, mean_r], [[var_x, covariance], [covariance, var_r]]).pdf(points)
    weight = density * (f[1] - f[0]) * (g[1] - g[0])
    both = norm.cdf(f / np.sqrt(noise)) @ weight @ norm.cdf(g / np.sqrt(noise))
    one, other = norm.cdf(mean_x / np.sqrt(var_x + noise)), norm.cdf(mean_r / np.sqrt(var_r + noise))
    joint = np.array([[both, one - both], [other - both, 1 - one - other + both]])
    apart = np.array([[one * other, one * (1 - other)], [(1 - one) * other, (1 - one) * (1 - other)]])
    return float((joint * np.log(joint / apart)).sum())
