"""One step ahead: what an answer about an item would change at others (core/DESIGN.md, section 7)."""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from core._jit.compile import BLOCK, INDEX, VECTOR, check_slice, helper, kernel
from core._jit.normal import log_ndtr, ndtr
from core._types import Floats, Indices

CUBE = types.Array(types.float64, 3, "C")
PLACES = types.Array(types.int64, 2, "C")
STEPS = types.Array(types.float64, 4, "C")

PROBIT, SOFTMAX = 0, 1  # links


class Items(NamedTuple):
    """T posteriors of m items, each as likely as the others: one, or the trees of a forest."""

    mean: Floats  # T x m x M; by regression, also in a leaf of one class
    variance: Floats  # T x m
    noise: Floats  # T x m, variance of the noise on a target
    leaves: Indices  # T x m; only items of the same leaf know of each other
    pure: Indices  # T x m; the only class of the leaf, or -1


ITEMS = types.NamedTuple([CUBE, BLOCK, BLOCK, PLACES, PLACES], Items)  # type: ignore[no-untyped-call]


@helper
def to_probabilities(logs: Floats) -> None:
    """Numbers that are logarithms of weights become shares of 1."""
    most = -np.inf
    for m in range(logs.size):
        most = max(most, logs[m])
    total = 0.0
    for m in range(logs.size):
        logs[m] = math.exp(logs[m] - most)
        total += logs[m]
    for m in range(logs.size):
        logs[m] /= total


@helper
def scale_of(link: int, variance: float, noise: float) -> float:
    """What means are multiplied by for the variance of the function (MacKay's rule under softmax)."""
    return 1.0 / math.sqrt(variance + noise if link == PROBIT else 1.0 + math.pi * variance / 8.0)


@helper
def log_weight(link: int, mean: float) -> float:
    """The logarithm of what a class has a share by."""
    return max(log_ndtr(mean), -1e300) if link == PROBIT else mean


@helper
def entropy(logs: Floats) -> float:
    """Of the shares that numbers have whose logarithms these are: log sum w - sum w log w / sum w."""
    most = -np.inf
    for m in range(logs.size):
        most = max(most, logs[m])
    total, moment = 0.0, 0.0
    for m in range(logs.size):
        weight = math.exp(logs[m] - most)
        total += weight
        moment += weight * (logs[m] - most)
    return math.log(total) - moment / total


@helper
def class_probabilities(link: int, pure: int, variance: float, noise: float, means: Floats) -> None:
    """Means of the M classes become their probabilities, in place; a leaf of one class is sure of it."""
    if pure >= 0:
        for m in range(means.size):
            means[m] = 1.0 if m == pure else 0.0
        return
    scale = scale_of(link, variance, noise)
    for m in range(means.size):
        means[m] = log_weight(link, means[m] * scale)
    to_probabilities(means)


@helper
def loss_of(p: Floats, costs: Floats) -> float:
    """Entropy, or where decisions have costs (M x K) the cost of the best one."""
    if costs.shape[1] == 0:
        total = 0.0
        for m in range(p.size):
            if p[m] > 0.0:
                total -= p[m] * math.log(p[m])
        return total
    best = np.inf
    for k in range(costs.shape[1]):
        total = 0.0
        for m in range(p.size):
            total += p[m] * costs[m, k]
        best = min(best, total)
    return best


@helper
def check_items(items: Items) -> None:
    """Raise an IndexError unless all arrays are of the same items."""
    trees, m = items.mean.shape[0], items.mean.shape[1]
    check_slice(0, trees, min(items.variance.shape[0], items.noise.shape[0]))
    check_slice(0, trees, min(items.leaves.shape[0], items.pure.shape[0]))
    check_slice(0, m, min(items.variance.shape[1], items.noise.shape[1]))
    check_slice(0, m, min(items.leaves.shape[1], items.pure.shape[1]))


@helper
def check_pairs(x: Items, r: Items, covariance: Floats) -> None:
    """Raise an IndexError unless covariance (T x q x R) is that of these items and the reference."""
    check_items(x)
    check_items(r)
    check_slice(0, x.mean.shape[0], min(r.mean.shape[0], covariance.shape[0]))
    check_slice(0, x.mean.shape[1], covariance.shape[1])
    check_slice(0, r.mean.shape[1], covariance.shape[2])
    check_slice(0, x.mean.shape[2], r.mean.shape[2])


@kernel((ITEMS, INDEX, CUBE, INDEX, INDEX))
def probabilities(items: Items, link: int, out: Floats, first: int, last: int) -> None:
    """out[t, i] = class probabilities of items from `first` to `last`, by each posterior; T x m x M."""
    trees, n_classes = items.mean.shape[0], items.mean.shape[2]
    check_items(items)
    check_slice(0, trees, out.shape[0])
    check_slice(first, last, min(items.mean.shape[1], out.shape[1]))
    check_slice(0, n_classes, out.shape[2])
    for t in range(trees):
        for i in range(first, last):
            p = out[t, i, :n_classes]
            p[:] = items.mean[t, i]
            class_probabilities(link, items.pure[t, i], items.variance[t, i], items.noise[t, i], p)


@kernel((ITEMS, ITEMS, CUBE, CUBE, CUBE, INDEX, STEPS, PLACES, BLOCK, BLOCK, BLOCK, INDEX, INDEX))
def expected_losses(
    x: Items,
    r: Items,
    covariance: Floats,
    reach: Floats,
    now: Floats,
    link: int,
    steps: Floats,
    answers: Indices,
    chances: Floats,
    costs: Floats,
    out: Floats,
    first: int,
    last: int,
) -> None:
    """For items x from `first` to `last`: the mean loss over the reference r once there is an answer.

    out[i, 0] is what is expected over the A answers (q x A) with their chances, out[i, 1] the loss of the class
    probabilities averaged over them: the difference of entropies is what an answer tells of the reference. covariance
    is T x q x R, now = class probabilities of the reference (T x R x M); an answer moves means by reach (T x q x R)
    times steps (T x q x A x M).
    """
    trees, n_items, n_classes = x.mean.shape
    n_reference, n_answers = r.mean.shape[1], answers.shape[1]
    check_pairs(x, r, covariance)
    check_pairs(x, r, reach)
    check_slice(first, last, min(n_items, out.shape[0], answers.shape[0], chances.shape[0]))
    check_slice(0, 2, out.shape[1])
    check_slice(0, trees, min(now.shape[0], steps.shape[0]))
    check_slice(0, n_reference, now.shape[1])
    check_slice(0, n_items, steps.shape[1])
    check_slice(0, n_answers, min(chances.shape[1], steps.shape[2]))
    check_slice(0, n_classes, min(now.shape[2], steps.shape[3], costs.shape[0]))
    p, mixed, every = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for i in range(first, last):
        expected, apart = 0.0, 0.0
        for j in range(n_reference):
            every[:] = 0.0
            for a in range(n_answers):
                mixed[:] = 0.0
                for t in range(trees):
                    if x.leaves[t, i] != r.leaves[t, j] or r.pure[t, j] == answers[i, a]:  # it changes nothing here
                        for m in range(n_classes):
                            mixed[m] += now[t, j, m]
                        continue
                    c = covariance[t, i, j]
                    for m in range(n_classes):
                        p[m] = r.mean[t, j, m] + reach[t, i, j] * steps[t, i, a, m]
                    variance = r.variance[t, j] - c * c / (x.variance[t, i] + x.noise[t, i])
                    class_probabilities(link, -1, max(variance, 0.0), r.noise[t, j], p)
                    for m in range(n_classes):
                        mixed[m] += p[m]
                for m in range(n_classes):
                    mixed[m] /= trees
                    every[m] += chances[i, a] * mixed[m]
                expected += chances[i, a] * loss_of(mixed, costs)
            apart += loss_of(every, costs)
        out[i, 0] = expected / n_reference
        out[i, 1] = apart / n_reference


@kernel((ITEMS, ITEMS, CUBE, CUBE, INDEX, STEPS, BLOCK, VECTOR, INDEX, INDEX))
def expected_entropies(
    x: Items,
    r: Items,
    covariance: Floats,
    reach: Floats,
    link: int,
    steps: Floats,
    chances: Floats,
    out: Floats,
    first: int,
    last: int,
) -> None:
    """out[i] = the first column of `expected_losses` for the entropy and one posterior, by logarithms alone."""
    n_reference, n_answers, n_classes = r.mean.shape[1], chances.shape[1], x.mean.shape[2]
    check_pairs(x, r, covariance)
    check_pairs(x, r, reach)
    check_slice(first, last, min(x.mean.shape[1], out.size, chances.shape[0], steps.shape[1]))
    check_slice(0, 1, min(x.mean.shape[0], steps.shape[0]))
    check_slice(0, n_answers, steps.shape[2])
    check_slice(0, n_classes, steps.shape[3])
    logs = np.empty(n_classes)
    for i in range(first, last):
        total, spread = 0.0, x.variance[0, i] + x.noise[0, i]
        for j in range(n_reference):
            left = max(r.variance[0, j] - covariance[0, i, j] ** 2 / spread, 0.0)
            scale = scale_of(link, left, r.noise[0, j])
            for a in range(n_answers):
                for m in range(n_classes):
                    mean = r.mean[0, j, m] + reach[0, i, j] * steps[0, i, a, m]
                    logs[m] = log_weight(link, mean * scale)
                total += chances[i, a] * entropy(logs)
        out[i] = total / n_reference


@helper
def positive(items: Items, t: int, i: int, m: int) -> float:
    """P(target > 0) of class m for item i by posterior t, one class against the rest."""
    if items.pure[t, i] >= 0:
        return 1.0 if items.pure[t, i] == m else 0.0
    return ndtr(items.mean[t, i, m] / math.sqrt(items.variance[t, i] + items.noise[t, i]))


@helper
def information(both: float, one: float, other: float) -> float:
    """Of two yes-or-no answers about each other, from P(both), P(one) and P(other)."""
    total = 0.0
    for a in range(2):
        for b in range(2):
            pa, pb = (one if a else 1.0 - one), (other if b else 1.0 - other)
            if a and b:
                joint = both
            elif a:
                joint = one - both
            elif b:
                joint = other - both
            else:
                joint = 1.0 - one - other + both
            if joint > 0.0 and pa > 0.0 and pb > 0.0:
                total += joint * math.log(joint / (pa * pb))
    return max(total, 0.0)


@kernel((ITEMS, ITEMS, CUBE, PLACES, VECTOR, VECTOR, VECTOR, INDEX, INDEX))
def informations(
    x: Items,
    r: Items,
    covariance: Floats,
    columns: Indices,
    nodes: Floats,
    weights: Floats,
    out: Floats,
    first: int,
    last: int,
) -> None:
    """out[i] = what the answer about an item x tells of the answer about one of the reference r (EPIG, probit form).

    Mean over the reference, sum over some classes of each item (q x A), one against the rest. Given the function f at
    x, that at r has the mean mu_r + b (f - mu_x) and the variance v_r - b c, b = c / v_x; f is integrated over `nodes`
    and `weights` of the standard normal distribution. covariance is T x q x R.
    """
    trees, n_reference = x.mean.shape[0], r.mean.shape[1]
    check_pairs(x, r, covariance)
    check_slice(first, last, min(x.mean.shape[1], out.size, columns.shape[0]))
    check_slice(0, nodes.size, weights.size)
    here = np.empty((trees, nodes.size))  # P(target > 0) of x, given f
    for i in range(first, last):
        total = 0.0
        for a in range(columns.shape[1]):
            m = columns[i, a]
            check_slice(m, m + 1, x.mean.shape[2])
            one = 0.0
            for t in range(trees):
                pure = x.pure[t, i]
                for h in range(nodes.size):
                    f = x.mean[t, i, m] + math.sqrt(x.variance[t, i]) * nodes[h]
                    here[t, h] = ndtr(f / math.sqrt(x.noise[t, i])) if pure < 0 else (1.0 if pure == m else 0.0)
                    one += weights[h] * here[t, h]
            one /= trees
            for j in range(n_reference):
                both, other = 0.0, 0.0
                for t in range(trees):
                    c, v = covariance[t, i, j], x.variance[t, i]
                    if x.leaves[t, i] != r.leaves[t, j] or x.pure[t, i] >= 0 or c == 0.0 or v <= 0.0:
                        own = 0.0
                        for h in range(nodes.size):
                            own += weights[h] * here[t, h]
                        there = positive(r, t, j, m)
                        both += own * there
                        other += there
                        continue
                    left = max(r.variance[t, j] - c * c / v, 0.0) + r.noise[t, j]
                    scale, shift = 1.0 / math.sqrt(left), c / math.sqrt(v)
                    for h in range(nodes.size):
                        there = weights[h] * ndtr((r.mean[t, j, m] + shift * nodes[h]) * scale)
                        both += here[t, h] * there
                        other += there
                total += information(both / trees, one, other / trees)
        out[i] = total / n_reference
