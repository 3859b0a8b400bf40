"""satimage as in Seeger2008, section 6.2: an RBF kernel and a variance of its own for each class.

Hyperparameters are found by cross-validated likelihood of training rows alone: from three starts on few of them, from
the best of these on more, from there on all, for each of some random partitions into folds.
"""

import numpy as np
from scipy.special import softmax

from app.commands.labelled_files import read_dataset
from core.classes import ClassTree
from core.kernels import RBFKernel
from core.linalg import StoredOperator
from core.metrics import Quality, error_reject_curve
from core.softmax import CrossValidation, JointKernel, Prior, Search, Targets, fit, tune_prior
from tests.benchmarks.rows import seconds, spent

STARTS = ((1.0, 10.0), (4.0, 20.0), (12.0, 20.0))  # widths (1 / gamma in units of the data's) and variances
FEW, MORE = 700, 1600
ROUNDS = {FEW: 25, MORE: 10}  # of L-BFGS
ALL_ROUNDS = 30


def search(dataset, rows, priors, partition=0, **options):
    """The best that was found from these priors on these rows."""
    found = []
    for prior in priors:
        operator = StoredOperator(dataset.x[rows], prior.kernels[0], single=True)
        criterion = CrossValidation(operator, dataset.y[rows], prior, seed=partition)
        found.append(tune_prior(criterion, prior, Search.of(prior, "node", theta=("gamma",)), **options))
    return min(found, key=lambda one: one.value)


def first_priors(dataset):
    """A common width and variance for all classes; intercepts as in Seeger2008."""
    tree, width = ClassTree.flat(dataset.n_classes), 2 * dataset.x.var(axis=0).sum()
    for gamma, variance in STARTS:
        kernel = RBFKernel(np.ones(1), np.zeros(dataset.x.shape[1], dtype=np.int64), 0.0, gamma / width)
        yield Prior.per_node(tree, (kernel,) * dataset.n_classes, variance, 16.0)


def probabilities(dataset, prior):
    """Of the test rows, by a fit to all training rows."""
    joint = JointKernel(StoredOperator(dataset.x, prior.kernels[0], single=True), prior)
    options = {"newton": False, "tolerance": 1e-4, "max_steps": 2000}
    found = fit(joint, Targets.of(dataset.y, prior.tree), **options)
    return softmax(joint.predictor(found.weights[:, 0])(dataset.x_test), axis=1)


def satimage(folder, partitions):
    """Test error, with and without rejects, for each partition."""
    dataset = read_dataset(folder / "satimage.npz")
    order, errors = np.random.default_rng(0).permutation(len(dataset.y)), []
    priors = list(first_priors(dataset))
    for n, rounds in ROUNDS.items():
        cost, best = spent(lambda n=n, r=rounds: search(dataset, order[:n], priors, max_rounds=r))  # noqa: B023
        priors = [best.prior]
        print(f"satimage, search on {n:,} rows: cross-validated log loss {best.value:.4f}, {seconds(cost)}", flush=True)
    for partition in partitions:
        options = {"max_rounds": ALL_ROUNDS, "first_step": 0.3}
        cost, best = spent(lambda k=partition: search(dataset, order, priors, k, **options))  # noqa: B023
        p = probabilities(dataset, best.prior)
        rejected, curve = error_reject_curve(p, dataset.y_test)
        errors.append(curve[0])
        print(
            f"satimage, search on all rows, partition {partition}: cross-validated log loss {best.value:.4f} after "
            f"{best.evaluations} evaluations, {seconds(cost)}; test error {curve[0]:.2%}, with a tenth rejected "
            f"{curve[np.searchsorted(rejected, 0.1)]:.2%}; {Quality.of(p, dataset.y_test)}",
            flush=True,
        )
    print(
        f"satimage: test error {np.mean(errors):.2%}, sd {np.std(errors):.2%} over partitions (aim 8.0 %)", flush=True
    )
