"""GPHIKClassifier: the scikit-learn door."""

from typing import Any, Literal, Self, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from core._types import Floats, Indices
from core.checks import check_choice, check_finite, check_not_negative, check_number
from core.histograms import CodedRows, Complement, Histograms, LevelRule, RawRows, code_rows, raw_rows
from core.kernels import IntersectionKernel, LinearKernel, RBFKernel, Transform, group_weights
from core.linalg import DenseOperator, HistogramOperator, KernelError, Operator, Query, kernel_error
from core.posterior import POSTERIORS, LabelRegression, PosteriorName, PosteriorRule
from core.variance import BoundName, VarianceBounds


class GPHIKClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian-process classifier by label regression: one function per class, targets +1 and -1, exact inference.

    Parameters
    ----------
    kernel : "hik" for histograms; "rbf" and "linear" for dense vectors (dual posterior only).
    transform : None, "power" (x^eta) or "exp" ((e^(eta x) - 1) / (e^eta - 1)); histogram kernel only.
    eta : parameter of the transform.
    weights : None, one weight per column, or one per group of columns when `groups` is given.
    groups : None, or the group number of each column.
    gamma : of the RBF kernel; "scale" is 1 / (columns * variance of X).
    noise : variance of the noise on the targets.
    bias : variance of the constant term; 0 for none.
    complement : scale columns to [0, 1] and join their complements, for features that are not histograms.
    levels : levels a column may have: "auto" keeps them to some thousands over all columns, None keeps every value.
    balance : noise in proportion to the size of the class, against imbalance. An update then costs a new fit, because
        each label changes the noise of all.
    posterior : "dual", "levels", "iterative", or "auto" for the cheapest.
    max_memory : bytes the posterior may take when it is chosen by "auto".

    Attributes
    ----------
    classes_ : sorted class labels.
    posterior_ : name of the posterior in use.
    n_levels_ : levels over all columns.
    residual_ : largest column of |(K + N) alpha - Y| / |Y|.
    kernel_error_ : what quantisation did to the kernel at the last fit.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> model = GPHIKClassifier().fit(X, ["left", "left", "right"])
    >>> model.predict([[0.7, 0.3]]).tolist()
    ['left']
    >>> model.partial_fit([[0.5, 0.5]], ["middle"]).classes_.tolist()
    ['left', 'middle', 'right']
    """

    def __init__(
        self,
        kernel: Literal["hik", "rbf", "linear"] = "hik",
        transform: Transform = None,
        eta: float = 1.0,
        weights: Any = None,
        noise: float = 0.1,
        bias: float = 1.0,
        complement: bool = False,
        levels: LevelRule = "auto",
        balance: bool = False,
        posterior: PosteriorRule = "auto",
        groups: Any = None,
        gamma: float | Literal["scale"] = "scale",
        max_memory: float = 4 * 2**30,
    ) -> None:
        self.kernel = kernel
        # scikit-learn takes whatever has an attribute of that name for a transformer.
        self._transform = transform
        self.eta = eta
        self.weights = weights
        self.noise = noise
        self.bias = bias
        self.complement = complement
        self.levels = levels
        self.balance = balance
        self.posterior = posterior
        self.groups = groups
        self.gamma = gamma
        self.max_memory = max_memory

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The constructor's arguments."""
        return {name: getattr(self, _attribute(name)) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments; they take effect at the next fit."""
        unknown = set(params) - set(self._get_param_names())
        if unknown:
            raise ValueError(f"unknown parameters {sorted(unknown)}; there are {self._get_param_names()}")
        for name, value in params.items():
            setattr(self, _attribute(name), value)
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from n rows and their labels, forgetting what was learnt before."""
        X, y = self._first_data(X, y)
        return self._start(X, y, np.unique(y))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows: the same posterior as a fit on all of them, at the cost of an update.

        Labels may be new; `classes` may announce labels that no row has yet.
        """
        if not hasattr(self, "_model"):
            X, y = self._first_data(X, y)
            return self._start(X, y, _union(y if classes is None else classes, y))
        X = self._checked(X)
        y = _checked_labels(y, X.shape[0])
        query = self._coded_or_raw(X)
        self._model.operator.diagonal(query)  # raises where the kernel is not finite, before anything has changed
        self._know(_union(y if classes is None else classes, y))
        self._model.add(query, np.searchsorted(self.classes_, y))
        return self

    def forget(self, indices: Any) -> Self:
        """Remove rows exactly, by their number in the order they were learnt; later rows move up."""
        self._model_or_error().remove(self._row_numbers(indices))
        return self

    def relabel(self, indices: Any, y: Any) -> Self:
        """Give learnt rows other labels, by their number; the labels may be new."""
        rows = self._row_numbers(indices)
        y = _checked_labels(y, len(rows))
        self._know(_union(self.classes_, y))
        labels = self._model.labels.copy()
        labels[rows] = np.searchsorted(self.classes_, y)
        self._model.relabel(labels, len(self.classes_))
        return self

    def means(self, X: Any, *, quantised: bool = False) -> Floats:
        """Posterior means, n x M, columns in the order of `classes_`; `quantised` reads each value's nearest level."""
        return self._model_or_error().posterior.means(self._query(X), quantised=quantised)

    def decision_function(self, X: Any) -> Floats:
        """The means, n x M; for two classes those of the second one, n, as scikit-learn has it."""
        means = self.means(X)
        return means[:, 1] if len(self.classes_) == 2 else means

    def predict(self, X: Any) -> Any:
        """The class with the largest mean."""
        best = self.means(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Floats:
        """P(target of the class > 0) by mean and variance, normalised over the classes; n x M."""
        return self._model_or_error().probabilities(self._query(X))

    def predict_variance(
        self, X: Any, *, method: Literal["exact"] | BoundName = "exact", k: int = 2, noisy: bool = False
    ) -> Floats:
        """Variance of the latent functions, n; `noisy` adds the noise.

        Exact, or an upper bound that costs less when n is large: "fapu" with k eigenpairs, "qfapu" in constant time,
        "rapu" and "qrapu", the roughest.

        >>> model = GPHIKClassifier().fit([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [0, 1, 1])
        >>> [round(float(model.predict_variance([[0.4, 0.6]], method=m, k=1)[0]), 3) for m in ("exact", "fapu", "rapu")]
        [0.22, 0.264, 1.178]
        """
        check_choice("method", method, ("exact", *get_args(BoundName)))
        model, query = self._model_or_error(), self._query(X)
        if method == "exact":
            variance = model.posterior.variance(query)
        elif isinstance(model.operator, HistogramOperator) and not isinstance(query, np.ndarray):
            variance = self._variance_bounds(model.operator, int(check_number("k", k, positive=False)))(query, method)
        else:
            raise ValueError(f"method={method!r} is for the histogram kernel; this model has kernel={self.kernel!r}")
        return variance + self.noise if noisy else variance

    def _variance_bounds(self, operator: HistogramOperator, k: int) -> VarianceBounds:
        """Bounds for the model as it is; eigenpairs are found again only after a change."""
        posterior = self._model.posterior
        state = (k, posterior.predictor)  # a posterior makes a new predictor after each change
        if getattr(self, "_bounds_state", None) != state:
            self._bounds = VarianceBounds(operator, posterior.noise, k)
            self._bounds_state = state
        return self._bounds

    def code(self, X: Any) -> CodedRows:
        """Rows as level codes, which every prediction takes in place of X: code a pool once, score it often.

        >>> model = GPHIKClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> model.predict(model.code([[1.0, 0.0]])).tolist()
        [0]
        """
        operator, query = self._model_or_error().operator, self._query(X)
        if not (isinstance(operator, HistogramOperator) and isinstance(query, RawRows)):
            raise ValueError(f"code() takes raw rows for the histogram kernel; this model has kernel={self.kernel!r}")
        return code_rows(query, operator.levels)

    @property
    def posterior_(self) -> PosteriorName:
        return self._model.name

    @property
    def n_levels_(self) -> int:
        operator = self._model.operator
        # The constant term is a level too, but none of the data.
        return len(operator.levels) - 1 if isinstance(operator, HistogramOperator) else 0

    @property
    def residual_(self) -> float:
        return self._model.posterior.residual()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel == "hik" and not self.complement
        return tags

    def _first_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        self._check_values(X)
        return X, _checked_labels(y, X.shape[0])

    def _checked(self, X: Any) -> Any:
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        self._check_values(X)
        return X

    def _check_values(self, X: Any) -> None:
        check_finite(X)
        if self.kernel == "hik" and not self.complement:
            check_not_negative(X)

    def _check_parameters(self) -> None:
        check_choice("kernel", self.kernel, ("hik", "rbf", "linear"))
        check_choice("transform", self._transform, (None, "power", "exp"))
        check_choice("posterior", self.posterior, ("auto", *POSTERIORS))
        for name in ("eta", "noise", "max_memory"):
            check_number(name, getattr(self, name), positive=True)
        check_number("bias", self.bias, positive=False)
        if self.gamma != "scale":
            check_number("gamma", self.gamma, positive=True)
        if self.levels not in (None, "auto") and not (isinstance(self.levels, int | np.integer) and self.levels > 0):
            raise ValueError(f'levels must be "auto", None or a whole number above 0; got {self.levels!r}')
        if self.kernel != "hik" and (self.complement or self._transform is not None):
            raise ValueError(f'complement and transform belong to kernel="hik"; got kernel={self.kernel!r}')
        if self.kernel != "hik" and self.posterior not in ("auto", "dual"):
            raise ValueError(f'kernel={self.kernel!r} needs posterior="dual"; got {self.posterior!r}')

    def _start(self, X: Any, y: Any, classes: Any) -> Self:
        self.classes_ = classes
        self._complement = Complement.of(X) if self.complement else None
        operator = self._make_operator(self._complement(X) if self._complement else X)
        self._model = LabelRegression(
            operator,
            np.searchsorted(classes, y),
            len(classes),
            noise=self.noise,
            balance=self.balance,
            rule=self.posterior,
            max_memory=self.max_memory,
        )
        return self

    def _make_operator(self, X: Any) -> Operator:
        weights, groups = group_weights(self.weights, self.groups, self.n_features_in_)
        self.kernel_error_ = KernelError(0.0, 0.0, 0.0)
        if self.kernel == "hik":
            if self._complement:
                groups = np.concatenate([groups, groups])
            kernel = IntersectionKernel(weights, groups, float(self.bias), self._transform, float(self.eta))
            histograms = Histograms.of(X, self.levels)
            self.kernel_error_ = kernel_error(X, histograms, kernel)
            return HistogramOperator(histograms, kernel)
        X = _dense(X)
        if self.kernel == "linear":
            return DenseOperator(X, LinearKernel(weights, groups, float(self.bias)))
        spread = X.var()
        gamma = 1.0 / (X.shape[1] * (spread if spread > 0.0 else 1.0)) if self.gamma == "scale" else float(self.gamma)
        return DenseOperator(X, RBFKernel(weights, groups, float(self.bias), gamma))

    def _model_or_error(self) -> LabelRegression:
        check_is_fitted(self)
        return self._model

    def _query(self, X: Any) -> Query:
        self._model_or_error()
        return X if isinstance(X, CodedRows) else self._coded_or_raw(self._checked(X))

    def _coded_or_raw(self, X: Any) -> Query:
        if self.kernel != "hik":
            return _dense(X)
        return raw_rows(self._complement(X) if self._complement else X)

    def _know(self, classes: Any) -> None:
        """Make room for classes that are new; `classes_` stays sorted, so that numbers may move."""
        known = _union(self.classes_, classes)
        if len(known) > len(self.classes_):
            self._model.relabel(np.searchsorted(known, self.classes_)[self._model.labels], len(known))
            self.classes_ = known

    def _row_numbers(self, indices: Any) -> Indices:
        n = len(self._model_or_error().labels)
        rows = np.atleast_1d(np.asarray(indices))
        if rows.size == 0:
            return np.empty(0, dtype=np.int64)
        if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n or len(np.unique(rows)) < rows.size:
            raise ValueError(f"row numbers must be different whole numbers from 0 to {n - 1}; got {indices!r}")
        return rows.ravel().astype(np.int64)


def _attribute(parameter: str) -> str:
    return "_transform" if parameter == "transform" else parameter


def _checked_labels(y: Any, n: int) -> Any:
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    if len(y) != n:
        raise ValueError(f"there are {n} rows but {len(y)} labels")
    return y


def _union(a: Any, b: Any) -> Any:
    """Sorted union of class labels of one kind."""
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype.kind in "USO") != (b.dtype.kind in "USO"):
        raise ValueError(f"class labels must be all text or all numbers; got {a[:1].tolist()} and {b[:1].tolist()}")
    return np.unique(np.concatenate([a, b]))


def _dense(X: Any) -> Floats:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
