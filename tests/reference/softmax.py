"""Slow and obvious twins of core/softmax. Vectors over rows and classes are n x C; flattened, classes run fastest."""

import numpy as np
from scipy.special import logsumexp, softmax


def joint_kernel(by_node, paths, intercept, noise=0.0):
    """nC x nC: sum over nodes of K_p (x) path_p path_p^T, with intercepts and independent parts; by_node P x n x n."""
    n, n_classes = len(by_node[0]), len(paths)
    total = np.zeros((n * n_classes, n * n_classes))
    for K, path in zip(by_node, paths.T, strict=True):
        total += np.kron(K, np.outer(path, path))
    return total + np.kron(np.full((n, n), intercept), np.eye(n_classes)) + noise * np.eye(n * n_classes)


def hessian(pi, counts=None):
    """W of the likelihood by the latents, nC x nC; each row's part times its count."""
    n, n_classes = pi.shape
    W = np.zeros((n * n_classes, n * n_classes))
    for i, p in enumerate(pi):
        block = slice(i * n_classes, (i + 1) * n_classes)
        W[block, block] = (1.0 if counts is None else counts[i]) * (np.diag(p) - np.outer(p, p))
    return W


def objective(K, targets, weights, counts=None):
    u = (K @ weights.ravel()).reshape(weights.shape)
    losses = logsumexp(u, axis=1) - (targets * u).sum(axis=1)
    return float((losses if counts is None else counts * losses).sum() + np.vdot(weights, u) / 2)


def fit(K, targets, counts=None, steps=60):
    """Full Newton steps with halving, each system solved directly."""
    weights = np.zeros_like(targets)
    counts = np.ones(len(targets)) if counts is None else counts
    for _ in range(steps):
        u = (K @ weights.ravel()).reshape(weights.shape)
        pi = softmax(u, axis=1)
        gradient = counts[:, None] * (pi - targets) + weights
        if np.abs(gradient).max() < 1e-13:
            break
        step = np.linalg.solve(np.eye(K.shape[0]) + hessian(pi, counts) @ K, -gradient.ravel()).reshape(weights.shape)
        length, before = 1.0, objective(K, targets, weights, counts)
        while objective(K, targets, weights + length * step, counts) > before + 1e-12 and length > 1e-6:
            length /= 2
        weights = weights + length * step
    return weights


def solve_by_classes(by_class, pi, right):
    """(I + W K)^-1 r for a flat model in O(C n^3) (Seeger2008, appendix C, derived anew).

    With D = diag(pi), A = I + D^1/2 K D^1/2 (block-diagonal over classes) and U = D^1/2 (1 (x) I), U^T U = I:
    I + W K = D^1/2 (A - U U^T (A - I)) D^-1/2, whose inverse is by the inversion lemma
    D^1/2 (A^-1 + A^-1 U (U^T A^-1 U)^-1 U^T (I - A^-1)) D^-1/2.
    """
    n, n_classes = pi.shape
    root = np.sqrt(pi)
    inverses = [np.linalg.inv(np.eye(n) + root[:, c, None] * by_class[c] * root[:, c]) for c in range(n_classes)]
    x = right / root
    ax = np.column_stack([inverses[c] @ x[:, c] for c in range(n_classes)])
    middle = sum(root[:, c, None] * inverses[c] * root[:, c] for c in range(n_classes))
    z = np.linalg.solve(middle, (root * (x - ax)).sum(axis=1))
    az = np.column_stack([inverses[c] @ (root[:, c] * z) for c in range(n_classes)])
    return root * (ax + az)


def laplace_covariance(K, pi, cross, own):
    """Of the C latents of one row: own - cross^T (K + W^-1)^-1 cross, with cross nC x C and own C x C."""
    W = hessian(pi)
    return own - cross.T @ np.linalg.solve(np.eye(len(K)) + W @ K, W @ cross)
