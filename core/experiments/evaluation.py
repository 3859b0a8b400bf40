"""How far probabilities can be trusted: regression, softmax and logistic regression side by side on labelled data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from core._types import Floats, Indices
from core.estimators.classifier import GPHIKClassifier
from core.experiments.simulation import Dataset
from core.metrics import Quality, error_reject_curve
from core.settings import KernelRule

Likelihood = Literal["gaussian", "softmax", "logistic"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Probabilities of one likelihood for the rows to test on, and what they are worth."""

    likelihood: Likelihood
    probabilities: Floats  # m x C
    labels: Indices  # m

    @property
    def quality(self) -> Quality:
        """Accuracy, log loss, Brier score and calibration error."""
        return Quality.of(self.probabilities, self.labels)

    def error(self, rejected: float) -> float:
        """On the rows that are left when this share of them, the least sure, is rejected."""
        _, errors = error_reject_curve(self.probabilities, self.labels)
        return float(errors[min(int(rejected * len(errors)), len(errors) - 1)])


def evaluate(
    dataset: Dataset,
    likelihoods: Sequence[Likelihood] = ("gaussian", "softmax", "logistic"),
    *,
    kernel: KernelRule = "rbf",
    rows: int | None = None,
    seed: int = 0,
    on_progress: Callable[[], object] = lambda: None,
) -> list[Evaluation]:
    """Fit each to the same rows (at most `rows` of them, drawn by the seed) with hyperparameters that it finds itself.

    "gaussian" is label regression with probit probabilities, tuned by leave-one-out error, "softmax" is tuned by
    cross-validated likelihood, "logistic" is scikit-learn's logistic regression. All see columns of variance 1, except
    that the kernels "hik" and "auto" see the numbers as they are. `on_progress` is called after each.
    """
    order = np.random.default_rng(seed).permutation(len(dataset.y))[:rows]
    x, y = dataset.x[order], dataset.y[order]
    scale = StandardScaler(with_mean=not sp.issparse(x)).fit(x)
    found = []
    for likelihood in likelihoods:
        model = _model(likelihood, kernel)
        as_it_is = likelihood != "logistic" and kernel in ("hik", "auto")
        own, own_test = (x, dataset.x_test) if as_it_is else (scale.transform(part) for part in (x, dataset.x_test))
        p = np.zeros((len(dataset.y_test), dataset.n_classes))
        model.fit(own, y)
        p[:, model.classes_] = model.predict_proba(own_test)
        found.append(Evaluation(likelihood, p, dataset.y_test))
        on_progress()
    return found


def _model(likelihood: Likelihood, kernel: KernelRule) -> GPHIKClassifier | LogisticRegression:
    match likelihood:
        case "gaussian":
            return GPHIKClassifier(kernel, tune="loo")
        case "softmax":
            return GPHIKClassifier(kernel, likelihood="softmax", tune="cv")
        case "logistic":
            return LogisticRegression(max_iter=1000)
