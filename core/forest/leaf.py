"""A leaf: the rows that end in it, and the Gaussian process over them."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from core._types import Floats, Indices, Table
from core.evidence import tune
from core.forest.rows import RowStore
from core.histograms import Histograms
from core.kernels import IntersectionKernel, Kernel
from core.linalg import DenseOperator, HistogramOperator, Operator
from core.posterior import LabelRegression, probit
from core.settings import Reader, Settings, dense

Need = Literal["mean", "probabilities", "all"]
LEAST_ROWS = 20  # to learn hyperparameters from


@dataclass(frozen=True, eq=False)
class Theory:
    """What all leaves have in common: how rows are read and compared, and how large a leaf may be."""

    settings: Settings
    reader: Reader
    kernel: Kernel
    noise: float
    leaf_size: int

    def query(self, x: Table) -> Any:
        """Checked rows as a query."""
        return self.reader(x)

    def operator(self, x: Table, kernel: Kernel) -> Operator:
        """Of checked rows; histograms keep every value of a leaf as a level, as far as `levels` allows."""
        if isinstance(kernel, IntersectionKernel):
            return HistogramOperator(Histograms.of(self.reader.coded(x), self.settings.levels), kernel)
        return DenseOperator(dense(x), kernel)  # type: ignore[arg-type]


@dataclass(eq=False)
class Answer:
    """What one leaf says of some rows."""

    mean: Floats  # rows x M
    variance: Floats | None  # rows; None where it was not needed
    noise: float
    pure: int | None = None  # the class, where there is one only

    @property
    def probabilities(self) -> Floats:
        """Of the classes: one for the only class of a pure leaf (paper 004, section 4)."""
        if self.pure is not None:
            return (self.mean > 0.0).astype(np.float64)
        assert self.variance is not None
        return probit(self.mean, self.variance + self.noise)


@dataclass(eq=False)
class Leaf:
    """`members` are numbers of rows in the store. The model is built when it is needed and may be dropped again.

    Classes that no member has share one function, whose targets are all -1. A pure leaf says +1 and -1; its variance is
    that given at most `leaf_size` of its rows, an upper bound.
    """

    members: Indices
    classes: Indices  # numbers of those that the members have
    kernel: Kernel | None = None  # its own, where leaves tune for themselves
    noise: float | None = None
    model: LabelRegression | None = None
    weights: Floats | None = None  # of a model that was dropped: enough for the mean
    tried: int = 0  # rows it had when it could not be split

    @classmethod
    def of(cls, members: Indices, store: RowStore, kernel: Kernel | None = None, noise: float | None = None) -> "Leaf":
        """Of these rows of the store."""
        return cls(members, np.unique(store.labels[members]), kernel, noise)

    @property
    def pure(self) -> int | None:
        """The number of the only class, or None."""
        return int(self.classes[0]) if len(self.classes) == 1 else None

    def build(self, store: RowStore, theory: Theory) -> LabelRegression:
        """The model over the members, made if it is not there."""
        if self.model is None:
            rows = self.members if self.pure is None else self.members[: theory.leaf_size]
            x, labels, factors = store.take(rows), store.labels[rows], None
            if len(rows) > 2 * theory.leaf_size:  # that could not be split
                x, labels, factors = _merged(x, labels)
            operator = theory.operator(x, self.kernel or theory.kernel)
            numbers = np.searchsorted(self.classes, labels)
            noise = self.noise or theory.noise
            self.model = LabelRegression(operator, numbers, len(self.classes) + 1, noise=noise)
            if factors is not None:
                self.model.factors = factors
                self.model.refit()
        return self.model

    def dropped(self) -> "Leaf":
        """Without the factor, and with what the mean needs."""
        if self.model is None:
            return self
        whole = self.pure is None and len(self.model.labels) == len(self.members)
        return replace(self, model=None, weights=self.model.posterior.weights if whole else None)

    def learn(self, rows: Indices, store: RowStore, theory: Theory) -> None:
        """Rows of the store that end here: the posterior of all members, exactly."""
        was_pure, self.weights = self.pure is not None, None
        self.members = np.concatenate([self.members, rows])
        before, self.classes = self.classes, np.union1d(self.classes, store.labels[rows])
        if was_pure and (self.pure is None or len(self.members) > theory.leaf_size):
            self.model = None
        if self.model is not None:
            self.model = self.model.draft()  # others may have this leaf as it was
            numbers, renumber = (np.searchsorted(self.classes, labels) for labels in (store.labels[rows], before))
            self.model.add(theory.query(store.take(rows)), numbers, renumber, len(self.classes) + 1)

    def answer(self, x: Table, store: RowStore, theory: Theory, n_classes: int, need: Need) -> Answer:
        """Mean of checked rows, and the variance if that is needed: probabilities of a pure leaf do without."""
        query = theory.query(x)
        if self.pure is None:
            mean = self._all_classes(self._means(query, store, theory), n_classes)
        else:
            mean = np.full((x.shape[0], n_classes), -1.0)
            mean[:, self.pure] = 1.0
        needed = need == "all" or (need == "probabilities" and self.pure is None)
        spread = self.build(store, theory).posterior.variance(query) if needed else None
        return Answer(mean, spread, self.noise or theory.noise, self.pure)

    def covariance(self, a: Table, b: Table, store: RowStore, theory: Theory) -> Floats:
        """Posterior covariance of rows that end here, a x b."""
        model = self.build(store, theory)
        seen, known = model.operator.cross(theory.query(a)), model.operator.cross(theory.query(b))
        explained = seen.T @ model.posterior.inverse_times(known)
        return np.asarray(self.prior(a, b, store, theory) - explained)

    def prior(self, a: Table, b: Table, _: RowStore, theory: Theory) -> Floats:
        """Prior covariance of rows that end here, a x b."""
        return theory.operator(b, self.kernel or theory.kernel).cross(theory.query(a)).T

    def tuned(self, store: RowStore, theory: Theory) -> "Leaf":
        """With hyperparameters of its own, by leave-one-out error from where the shared ones are."""
        if len(self.members) < LEAST_ROWS or self.pure is not None:
            return self
        model = self.build(store, theory).draft()
        found = tune(model, "loo", settings=theory.settings.untuned(model.operator))
        model.reset(found.kernel, found.noise)
        return replace(self, kernel=found.kernel, noise=found.noise, model=model, weights=None)

    def _means(self, query: Any, store: RowStore, theory: Theory) -> Floats:
        if self.model is None and self.weights is not None:
            operator = theory.operator(store.take(self.members), self.kernel or theory.kernel)
            return operator.predictor(self.weights)(query)
        return self.build(store, theory).posterior.means(query)

    def _all_classes(self, means: Floats, n_classes: int) -> Floats:
        """From the functions of the model, the last of which is that of all classes without a row here."""
        columns = np.full(n_classes, means.shape[1] - 1)
        columns[self.classes] = np.arange(len(self.classes))
        return means[:, columns]


def _merged(x: Table, labels: Indices) -> tuple[Table, Indices, Floats]:
    """Equal rows with equal labels as one row, with less noise: n of them tell as much as one with noise / n."""
    both = np.column_stack([dense(x), labels])
    distinct, first, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
    return x[first], distinct[:, -1].astype(np.int64), 1.0 / counts
