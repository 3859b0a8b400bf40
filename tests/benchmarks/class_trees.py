"""imclef07d: 26 classes in a tree of three levels, learnt with a tree and without it from the same rows.

The tree is the file's own, and, to see what it is about, one of as many nodes that joins classes whose rows look alike.
Each draw takes training rows at random and tests on the file's test rows and on others that were not drawn. Without the
tree all classes have one RBF kernel and variance, with it one for each level. These and the variance of the intercepts
are found by cross-validated likelihood of some of the drawn rows, from two starts each. For parent accuracy and tree
loss both models decide for the least expected loss, and, beside that, for the most probable class ("0-1"). A third
model learns from the same rows and from twice as many of which only the class's parent is known ("some kind of .."),
which are of no use without the tree.
"""

from dataclasses import replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import softmax

from core.classes import ROOT, ClassTree
from core.classes.labels import class_names
from core.experiments.tree_scores import TreeScores
from core.kernels import RBFKernel
from core.linalg import StoredOperator
from core.metrics import log_loss
from core.softmax import CrossValidation, JointKernel, Prior, Search, Targets, fit, tune_prior
from tests.benchmarks.rows import seconds, spent

SCORES = ("accuracy", "precision", "parent accuracy", "tree loss", "parent accuracy, 0-1", "tree loss, 0-1", "log loss")
MODELS = ("flat", "tree", "tree, parents")
TREES = ("its own", "by looks")
ROUNDS = 8
SEARCH = 500  # rows, of those drawn, to search with
OTHERS = 4000  # rows to test on that are no test rows
NEIGHBOURS = 1000  # rows whose neighbours are looked at


def read(folder):
    """The rows, with values from 0 to 1, and the tree with its names."""
    data = np.load(folder / "imclef07d.npz")
    names = data["classes"]
    paths = [name.split("/") for name in names]
    parents = {"/".join(path[: i + 1]): "/".join(path[:i]) for path in paths for i in range(1, len(path))}
    named = class_names(names, parents)
    x = np.concatenate([data["X_train"], data["X_test"]]).astype(np.float64) / 7
    y = named.numbers(names[np.concatenate([data["y_train"], data["y_test"]])])
    return x, y, len(data["y_train"]), named.tree


def look_alike(x, y, like):
    """A tree with as many nodes at each depth as this one, of the classes whose mean rows are near each other."""
    n_classes = like.n_classes
    joins = linkage([x[y == c].mean(axis=0) for c in range(n_classes)], "ward")
    low, high = (fcluster(joins, (like.depth == depth).sum(), "maxclust") - 1 for depth in (2, 1))
    above = [high[low == group][0] for group in range(low.max() + 1)]
    tops = np.full(high.max() + 1, ROOT)
    return ClassTree(np.concatenate([n_classes + low, n_classes + len(above) + np.array(above), tops]))


def neighbours(x, y, tree):
    """How often the row next to a row, of those of other classes, is of a sibling's class; and by chance."""
    parents, near, chance = tree.parents[y], [], []
    squares = (x * x).sum(axis=1)
    for i in range(0, len(y), len(y) // NEIGHBOURS):
        others = np.flatnonzero(y != y[i])
        siblings = parents[others] == parents[i]
        near.append(siblings[(squares[others] - 2.0 * x[others] @ x[i]).argmin()])
        chance.append(siblings.mean())
    return float(np.mean(near)), float(np.mean(chance))


def search(x, y, priors):
    """The best prior found from these, by cross-validation."""
    found = []
    for prior in priors:
        criterion = CrossValidation(StoredOperator(x, prior.kernels[0]), y, prior)
        tie = "shared" if prior.tree.is_flat else "depth"
        free = Search.of(prior, tie, theta=("gamma",), intercept=True)
        found.append(tune_prior(criterion, prior, free, max_rounds=ROUNDS))
    return min(found, key=lambda one: one.value)


def flat_starts(x, n_classes):
    """One kernel and variance for all classes."""
    kernel = RBFKernel(np.ones(1), np.zeros(x.shape[1], dtype=np.int64), 0.0, 1.0 / (x.shape[1] * x.var()))
    return [Prior.shared(ClassTree.flat(n_classes), kernel, variance) for variance in (3.0, 100.0)]


def tree_starts(flat, tree):
    """A kernel and variance for each level: nearly what was found without the tree, and mostly above the classes."""
    for shares, widths in (((0.01, 0.01, 1.0), (0.1, 1.0, 1.0)), ((1.0, 0.3, 0.3), (0.3, 1.0, 1.0))):
        kernels = tuple(replace(flat.kernels[0], gamma=flat.kernels[0].gamma * width) for width in widths)
        variances = flat.variances[0] * np.array(shares)[tree.depth - 1]
        yield Prior(tree, variances, kernels, tree.depth - 1, flat.intercept)


def scores(tree, p, y):
    """In the order of SCORES."""
    best, likely = TreeScores.of(tree, p, y), p.argmax(axis=1)
    own = float((tree.parents[likely] == tree.parents[y]).mean()), float(tree.distance(likely, y).mean())
    return np.array(
        [best.accuracy, best.precision, best.parent_accuracy, best.taxo_loss, *own, log_loss(p, y)], dtype=np.float64
    )


def probabilities(prior, x, labels, x_test):
    """Of the classes, after a fit to these labels."""
    joint = JointKernel(StoredOperator(x, prior.kernels[0]), prior)
    found = fit(joint, Targets.of(labels, prior.tree), newton=False, tolerance=1e-4, max_steps=1000)
    return softmax(joint.predictor(found.weights[:, 0])(x_test), axis=1)


def draw(x, y, n_train, tree, sizes, seed):
    """Scores of one draw, trees x sizes x MODELS x SCORES: of the file's tree, and of one that goes by looks."""
    order = np.random.default_rng(seed).permutation(n_train)
    test = np.concatenate([order[-OTHERS:], np.arange(n_train, len(y))])
    few, others = order[:SEARCH], order[:-OTHERS]
    flat = search(x[few], y[few], flat_starts(x[few], tree.n_classes))
    out = []
    for given in (tree, look_alike(x[others], y[others], tree)):
        own = search(x[few], y[few], tree_starts(flat.prior, given))
        near, chance = neighbours(x[others], y[others], given)
        print(
            f"imclef07d, draw {seed}: cross-validated {flat.value:.4f}, with the tree {own.value:.4f}; of neighbours "
            f"that are of another class {near:.1%} are siblings, by chance {chance:.1%}",
            flush=True,
        )
        out.append([_compared(x, y, order[: 3 * n], n, test, flat.prior, own.prior) for n in sizes])
    return np.array(out)


def _compared(x, y, rows, n, test, flat, own):
    """MODELS x SCORES: n of these rows have a label, of the others the parent is known."""
    labels = np.concatenate([y[rows[:n]], own.tree.parents[y[rows[n:]]]])
    learnt = (flat, rows[:n], y[rows[:n]]), (own, rows[:n], y[rows[:n]]), (own, rows, labels)
    return [scores(own.tree, probabilities(prior, x[part], known, x[test]), y[test]) for prior, part, known in learnt]


def imclef(folder, sizes, draws):
    """Means over draws, and what the tree adds on average with its standard error, for each tree and size."""
    x, y, n_train, tree = read(folder)
    cost, drawn = spent(lambda: np.array([draw(x, y, n_train, tree, sizes, seed) for seed in range(draws)]))
    print(f"imclef07d, {draws} draws, {seconds(cost)}\n| tree | rows | score | {' | '.join(MODELS)} |")
    print("| --- | --- | --- | --- | --- | --- |")
    means, gains = drawn.mean(axis=0), drawn - drawn[:, :, :, :1]
    errors = gains.std(axis=0, ddof=1) / np.sqrt(draws)
    for t, i, j in np.ndindex(means.shape[0], len(sizes), len(SCORES)):
        added = [f"{gains[:, t, i, k, j].mean():+.4f} (se {errors[t, i, k, j]:.4f})" for k in range(1, len(MODELS))]
        print(
            f"| {TREES[t]} | {sizes[i]:,} | {SCORES[j]} | {means[t, i, 0, j]:.4f} | {' | '.join(added)} |", flush=True
        )
