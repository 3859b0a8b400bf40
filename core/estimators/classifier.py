"""GPHIKClassifier: the Gaussian-process classifier as a scikit-learn estimator."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from core._types import Floats, Indices
from core.checks import check_choice, check_whole
from core.classes import ClassTree, Loss
from core.classes.labels import checked_labels, checked_rows, class_names, union_of_labels
from core.drafts import all_or_nothing
from core.estimators.base import HiddenParameters, read_error
from core.estimators.chunks import SpreadChunks, fit_chunks
from core.factory import make_operator, make_reader, make_regression, make_softmax, untuned
from core.histograms import CodedRows, LevelRule, RawRows, code_rows
from core.kernels import Transform
from core.linalg import HistogramOperator, KernelError, added_error
from core.models.parameters import by_name
from core.posterior import LabelRegression, PosteriorRule, SummedRegression
from core.probabilities import Likelihood
from core.rows import Rows
from core.selection.kernel import Choice, Chooser
from core.selection.levels import LevelLoss, choose_levels
from core.settings import KernelRule, Settings, TuneRule
from core.softmax import SoftmaxClasses, TunedPrior
from core.tables import AnyReader
from core.tuning import CriterionName, Given, Tuned, find_sharpness, leave_one_out, mean_gap, tune
from core.variance import LastBounds, VarianceName


class GPHIKClassifier(ClassifierMixin, HiddenParameters):  # type: ignore[misc]
    """Gaussian-process classifier by label regression: one function per class, targets +1 and -1, exact inference.

    Parameters
    ----------
    kernel : "hik" for histograms; "rbf" and "linear" for dense vectors (dual posterior only); "auto" compares them all
        by leave-one-out squared error, and again each time the labels have doubled, and keeps the rows for that.
    transform : None, "power" (x^eta) or "exp" ((e^(eta x) - 1) / (e^eta - 1)); histogram kernel only.
    eta : parameter of the transform.
    weights : None, one weight per column, or one per group of columns when `groups` is given.
    groups : None, or the group number of each column.
    gamma : of the RBF kernel; "scale" is 1 / (columns * variance of X).
    noise : variance of the noise on the targets.
    bias : variance of the constant term; 0 for none.
    normalise : divide the kernel without its constant by sqrt(k(x, x) k(x', x')), so that rows with much in them, like
        long texts, weigh no more than others.
    complement : scale columns to [0, 1] and join their complements, for features that are not histograms.
    split : join positive and negative parts of columns, for embeddings and the like.
    levels : levels a column may have. "auto" keeps every value up to 65,536 levels over all columns, and fewer only
        where there are so many rows that level space pays and leave-one-out error shows no loss; "few" keeps them to
        8,192 over all columns; None keeps every value.
    balance : noise in proportion to the size of the class, against imbalance. An update then costs a new fit, because
        each label changes the noise of all.
    class_weights : None, or as how many rows each row of a class counts, {label: weight}: its noise is divided by that.
    posterior : "dual", "levels", "iterative", or "auto" for the cheapest.
    max_memory : bytes the posterior may take when it is chosen by "auto".
    tune : None keeps eta, gamma and noise as they are given; "loo" finds those with the least leave-one-out squared
        error and then the amplitude that makes variances fit, "evidence" those of the largest likelihood, "bound" those
        of a bound of it that needs no factor.
    tune_weights : also find the weights of columns or groups.
    l1, l2 : penalties on the weights.
    likelihood : "gaussian" is label regression as above. "softmax" fits a multinomial likelihood, whose probabilities
        are calibrated; functions then have the variance of the kernel over the noise. It tunes by "cv", cross-validated
        likelihood, and an update is a new fit that starts from the last.
    tree : with "softmax", the parent of each class and inner node by name, {"robin": "bird", "bird": "animal"}. Classes
        near each other share what they have in common, and a label may name an inner node: one of its classes.
    class_variances : with "softmax", tuning finds a variance for each class and inner node, not one for each depth.

    Attributes
    ----------
    classes_ : sorted class labels.
    nodes_ : the classes, then the inner nodes of the tree.
    posterior_ : name of the posterior in use.
    n_levels_ : levels over all columns.
    residual_ : largest column of |(K + N) alpha - Y| / |Y|.
    jitter_ : share by which a diagonal had to grow because rounding made the system singular; 0 as a rule.
    kernel_error_ : what quantisation did to the kernel, at the last fit or (if worse) since.
    level_loss_ : what few levels would do, or did, to leave-one-out error, where that was compared; else None.
    parameters_ : kernel parameters and noise in use, by name.
    tuned_ : what the last tuning found: criterion, value, evaluations.
    choice_ : with kernel="auto", which kernel won, and by how much.

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

    classes_: Any
    nodes_: Any
    kernel_error_: KernelError
    level_loss_: LevelLoss | None
    tuned_: Tuned | TunedPrior
    _settings: Settings
    _reader: AnyReader
    _chooser: Chooser | None
    _tree: ClassTree
    _model: LabelRegression | SoftmaxClasses
    _bounds: LastBounds | None = None

    def __init__(
        self,
        kernel: KernelRule = "hik",
        transform: Transform = None,
        eta: float = 1.0,
        weights: Any = None,
        noise: float = 0.1,
        bias: float = 1.0,
        normalise: bool = False,
        complement: bool = False,
        split: bool = False,
        levels: LevelRule = "auto",
        balance: bool = False,
        class_weights: Any = None,
        posterior: PosteriorRule = "auto",
        groups: Any = None,
        gamma: float | Literal["scale"] = "scale",
        max_memory: float = 4 * 2**30,
        tune: TuneRule = None,
        tune_weights: bool = False,
        l1: float = 0.0,
        l2: float = 0.0,
        likelihood: Likelihood = "gaussian",
        tree: Any = None,
        class_variances: bool = False,
    ) -> None:
        self.kernel = kernel
        self._transform = transform
        self.eta = eta
        self.weights = weights
        self.noise = noise
        self.bias = bias
        self.normalise = normalise
        self.complement = complement
        self.split = split
        self.levels = levels
        self.balance = balance
        self.class_weights = class_weights
        self.posterior = posterior
        self.groups = groups
        self.gamma = gamma
        self.max_memory = max_memory
        self._tune = tune
        self.tune_weights = tune_weights
        self.l1 = l1
        self.l2 = l2
        self.likelihood = likelihood
        self.tree = tree
        self.class_variances = class_variances

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        if self.__sklearn_is_fitted__():
            twin._model = self._model.draft()
        return twin

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from n rows and their labels, forgetting what was learnt before.

        >>> GPHIKClassifier().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"]).predict([[0.9, 0.1]]).tolist()
        ['a']
        """
        X, y = self._first_data(X, y)
        return self._start(X, y, np.unique(y))

    @all_or_nothing
    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> Self:
        """Learn from chunks of rows and labels that are never in memory together: exact, in level space, for any n.

        The chunks are gone through twice (three times with complement), so they must be a list or something that reads
        them anew each time; `core.estimators.chunks.SpreadChunks` are read by others. Their rows are not kept:
        `partial_fit` adds more at the levels there are; nothing can be forgotten or relabelled.

        >>> model = GPHIKClassifier().fit_chunks([([[1.0, 0.0]], ["a"]), ([[0.0, 1.0]], ["b"])])
        >>> model.predict([[0.9, 0.1]]).tolist()
        ['a']
        """
        if iter(chunks) is chunks:
            raise ValueError("chunks are gone through more than once: give a list, or an object that reads them anew")
        self._settings, self._chooser = self._checked_settings(), None
        if isinstance(chunks, SpreadChunks):
            next(self._checked_chunks(chunks), None)  # the first of them, here
            found = fit_chunks(self._settings, chunks)
        else:
            found = fit_chunks(self._settings, lambda: self._checked_chunks(chunks))
        self._reader, self._model, self.kernel_error_ = found.reader, found.model, found.error
        self._name_classes(found.classes)
        self.__dict__.pop("tuned_", None)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows: the posterior of a fit on all of them, with the levels and scales of the first.

        Labels may be new; `classes` may announce labels that no row has yet.

        >>> model = GPHIKClassifier().partial_fit([[1.0, 0.0]], ["a"], classes=["a", "b"])
        >>> model.partial_fit([[0.0, 1.0]], ["c"]).classes_.tolist()
        ['a', 'b', 'c']
        """
        if not self.__sklearn_is_fitted__():
            X, y = self._first_data(X, y)
            return self._start(X, y, union_of_labels(y if classes is None else classes, y))
        X = self._checked(X)
        y = checked_labels(y, X.shape[0])
        known = union_of_labels(self.nodes_, union_of_labels(y if classes is None else classes, y))
        if self._chooser is not None and self._chooser.is_due(len(y)):
            names = self.nodes_[self._model.labels]
            return self._start(self._chooser.with_rows(X).table, np.concatenate([names, y]), known)
        query = self._reader(X)
        nodes = class_names(known, self._settings.tree)
        labels, renumber = nodes.numbers(y), nodes.numbers(self.nodes_)
        if isinstance(self._model, SoftmaxClasses):
            self._model.add(query, labels, renumber, nodes.tree)
        elif isinstance(self._model, SummedRegression):
            self._model.learn(self.code(X), labels, renumber, nodes.tree.n_classes)
        else:
            self._model.add(query, labels, renumber, nodes.tree.n_classes, self._noise_factors(y))
        if self._chooser is not None:
            self._chooser = self._chooser.with_rows(X)
        self._name_classes(known)
        self._note_quantisation(query)
        return self

    @all_or_nothing
    def tune(self, criterion: TuneRule = None) -> Self:
        """Find hyperparameters for the rows that are learnt, from where they are now; a second search is warm.

        By the criterion named here, or in the constructor, or leave-one-out error ("cv" for softmax). One class, or
        fewer than four rows, leave everything as it is.

        >>> X, y = [[1, 9], [2, 8], [1, 7], [9, 1], [8, 2], [1, 8]], [0, 0, 0, 1, 1, 1]
        >>> model = GPHIKClassifier().fit(X, y)
        >>> model.tune().parameters_["noise"] != 0.1
        True
        """
        model = self._model_or_error()
        if isinstance(model, SummedRegression):
            raise ValueError("rows that came in chunks are not kept: tune on a sample of them, and give what it found")
        own = None if self._settings.tune == "none" else self._settings.tune
        name = criterion or own or ("cv" if isinstance(model, SoftmaxClasses) else "loo")
        check_choice("criterion", name, ("cv",) if isinstance(model, SoftmaxClasses) else get_args(CriterionName))
        if len(np.unique(model.labels)) < 2 or len(model.labels) < 4:
            return self
        if isinstance(model, SoftmaxClasses) or name == "cv":
            assert isinstance(model, SoftmaxClasses)
            self.tuned_ = model.tune(weights=self._settings.tune_weights, settings=self._given())
            self._warn(self.tuned_.at_bounds)
            return self
        before = getattr(self, "tuned_", None)
        simplex = before.simplex if isinstance(before, Tuned) and before.criterion == name else None
        found = tune(
            model,
            name,
            settings=self._given(),
            weights=self._settings.tune_weights,
            simplex=simplex,
            l1=self._settings.l1,
            l2=self._settings.l2,
        )
        model.reset(found.kernel, found.noise)
        if model.name != "iterative":  # which would solve a system for each row
            left_out = leave_one_out(model)[0]
            model.sharpness = find_sharpness(left_out, model.labels, mean_gap(left_out))
        self.tuned_ = found
        self._warn(found.at_bounds)
        return self

    @all_or_nothing
    def forget(self, indices: Any) -> Self:
        """Remove rows exactly, by their number in the order they were learnt; later rows move up.

        >>> model = GPHIKClassifier().fit([[1.0], [2.0], [9.0]], [0, 0, 1])
        >>> model.forget([2]).predict([[9.0]]).tolist(), model.classes_.tolist()  # 1 is still a class
        ([0], [0, 1])
        """
        rows = self._row_numbers(indices)
        self._model.remove(rows)
        if self._chooser is not None:
            self._chooser = self._chooser.without(rows)
        return self

    @all_or_nothing
    def relabel(self, indices: Any, y: Any) -> Self:
        """Give learnt rows other labels, by their number; the labels may be new.

        >>> GPHIKClassifier().fit([[1.0], [9.0]], ["a", "b"]).relabel([1], ["c"]).classes_.tolist()
        ['a', 'b', 'c']
        """
        rows = self._row_numbers(indices)
        y = checked_labels(y, len(rows))
        known = union_of_labels(self.nodes_, y)
        nodes = class_names(known, self._settings.tree)
        renumber = nodes.numbers(self.nodes_)
        labels = renumber[self._model.labels]
        labels[rows] = nodes.numbers(y)
        if isinstance(self._model, SoftmaxClasses):
            self._model.relabel(labels, renumber, nodes.tree)
        else:
            self._model.relabel(labels, nodes.tree.n_classes, self._noise_factors(np.array(nodes.names)[labels]))
        self._name_classes(known)
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
        """Probabilities of the classes, n x M.

        Of a tuned model they are the softmax of means that fits leave-one-out predictions, as those of the softmax
        likelihood are; otherwise P(target > 0) by mean and variance, normalised.
        """
        return self._model_or_error().probabilities(self._query(X))

    def predict_node_proba(self, X: Any) -> Floats:
        """Probabilities of all nodes of the tree, in the order of `nodes_`; those of inner nodes add up their classes.

        >>> model = GPHIKClassifier(likelihood="softmax", tree={"cat": "animal", "cow": "animal"})
        >>> model = model.fit([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], ["cat", "cow", "animal", "oak"])
        >>> model.nodes_.tolist(), model.predict_node_proba([[1, 1, 0]])[0, 3] > 0.5
        (['cat', 'cow', 'oak', 'animal'], np.True_)
        """
        return self._tree_or_error().to_nodes(self.predict_proba(X))

    def decide(self, X: Any, loss: Loss = "tree") -> Any:
        """The class with the least expected loss: of distance in the tree, of a wrong "parent", of a wrong "class"."""
        check_choice("loss", loss, get_args(Loss))
        return self.classes_[self._tree_or_error().decide(self.predict_proba(X), loss)]

    def predict_variance(self, X: Any, *, method: VarianceName = "exact", k: int = 2, noisy: bool = False) -> Floats:
        """Variance of the latent functions, n; `noisy` adds the noise.

        Exact, or an upper bound that costs less when n is large: "fapu" with k eigenpairs, "qfapu" in constant time for
        histograms, and for these alone "rapu" and "qrapu", the roughest.

        >>> model = GPHIKClassifier().fit([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [0, 1, 1])
        >>> [round(float(model.predict_variance([[0.4, 0.6]], method=m, k=1)[0]), 3) for m in ("exact", "fapu", "rapu")]
        [0.22, 0.264, 1.178]
        """
        check_choice("method", method, get_args(VarianceName))
        model, query = self._model_or_error(), self._query(X)
        if isinstance(model, SoftmaxClasses):
            if noisy or method != "exact":
                raise ValueError('likelihood="softmax" has the variance of the functions alone, method="exact"')
            return model.posterior.variance(query)
        if method == "exact":
            variance = model.posterior.variance(query)
        elif isinstance(model, SummedRegression):
            raise ValueError(f"method={method!r} needs the rows, and those that came in chunks are not kept")
        else:
            if self._bounds is None:
                self._bounds = LastBounds()
            variance = self._bounds.of(model.posterior, check_whole("k", k)).by(method)(query)
        return variance + model.noise if noisy else variance

    def code(self, X: Any) -> CodedRows:
        """Rows as level codes, which every prediction takes in place of X: code a pool once, score it often.

        Each value is taken to the nearest of the levels that are known now, those of the rows learnt so far (or to
        zero). Code again to make use of levels that came later.

        >>> model = GPHIKClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
        >>> model.predict(model.code([[1.0, 0.0]])).tolist()
        [0]
        """
        operator, query = self._model_or_error().operator, self._query(X)
        if isinstance(query, CodedRows):
            return query
        if not (isinstance(operator, HistogramOperator) and isinstance(query, RawRows)):
            raise ValueError(f"rows are coded for the histogram kernel; this model has kernel={self.kernel!r}")
        return code_rows(query, operator.levels)

    @property
    def posterior_(self) -> str:
        return self._model.name

    @property
    def choice_(self) -> Choice:
        if self._chooser is None or self._chooser.choice is None:
            raise AttributeError('choice_ is there with kernel="auto"')
        return self._chooser.choice

    @property
    def parameters_(self) -> dict[str, float]:
        if isinstance(self._model, SoftmaxClasses):
            return self._model.parameters
        return by_name(self._model.operator.kernel, self._model.noise)

    @property
    def n_levels_(self) -> int:
        operator = self._model.operator
        # The constant term is a level too, but none of the data.
        return len(operator.levels) - 1 if isinstance(operator, HistogramOperator) else 0

    @property
    def jitter_(self) -> float:
        return self._model.posterior.jitter

    @property
    def residual_(self) -> float:
        return self._model.posterior.residual()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _checked_settings(self) -> Settings:
        """The arguments; what chooses a likelihood is the learner of a pool."""
        check_choice("likelihood", self.likelihood, get_args(Likelihood))
        settings = Settings(**self.get_params())
        settings.check()
        return settings

    def _first_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        self._settings = self._checked_settings()
        self._chooser = Chooser(self._settings) if self.kernel == "auto" else None
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        self._reader = make_reader(self._settings, X)
        return self._reader.check(X), checked_labels(y, X.shape[0])

    def _checked_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        for i, (X, y) in enumerate(chunks):
            rows, labels = validate_data(
                self, X, y, reset=i == 0, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False
            )
            yield rows, checked_labels(labels, rows.shape[0])

    def _checked(self, X: Any) -> Any:
        if isinstance(X, CodedRows):
            raise ValueError("rows to learn must be raw: coded rows have lost what lies between the levels")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        return self._reader.check(X)

    def _start(self, X: Any, y: Any, known: Any) -> Self:
        nodes = class_names(known, self._settings.tree)
        unknown = [label for label in self._settings.class_weights or () if label not in nodes.names]
        if unknown:
            raise ValueError(f"class_weights names {unknown[0]!r}, but the labels are {list(nodes.names)!r}")
        labels = nodes.numbers(y)
        if self._chooser is not None:
            self._chooser = self._chooser.decided(X, labels, nodes.tree.n_classes)
            kept = {name: getattr(self._settings, name) for name in ("likelihood", "tune")}
            self._settings = replace(self.choice_.settings, noise=self.choice_.noise, **kept)
            self._reader = make_reader(self._settings, X)
        built = self._settings if self._chooser is None else replace(self._settings, tune=self.choice_.settings.tune)
        rule, self.level_loss_ = choose_levels(built, X, labels, nodes.tree.n_classes)
        built = replace(built, levels=rule)
        operator = make_operator(built, X, self._reader)
        self.kernel_error_ = read_error(self._reader, X, operator)
        if self._chooser is not None:
            operator = operator.with_kernel(self.choice_.kernel)
        softmax = self._settings.likelihood == "softmax"
        self._model = (
            make_softmax(self._settings, operator, labels, nodes.tree)
            if softmax
            else make_regression(self._settings, operator, labels, nodes.tree.n_classes, self._noise_factors(y))
        )
        self._name_classes(known)
        self.__dict__.pop("tuned_", None)
        if self._settings.tune not in (None, "none"):
            return self.tune()
        if self._chooser is not None:
            self._warn(self.choice_.at_bounds)
        return self

    def _noise_factors(self, y: Any) -> Floats | None:
        """What multiplies the noise of rows with these labels; None for nothing."""
        weights = self._settings.class_weights
        return (
            None if weights is None else np.array([1.0 / weights.get(label, 1.0) for label in np.asarray(y).tolist()])
        )

    def _given(self) -> Given:
        """Kernel and noise as the user set them."""
        noise = self._settings.noise if self._chooser is None else self._chooser.settings.noise
        return untuned(replace(self._settings, noise=noise), self._model.operator)

    def _name_classes(self, known: Any) -> None:
        """All labels that may occur, in a tree if there is one."""
        nodes = class_names(known, self._settings.tree)
        dtype = np.asarray(known).dtype if self._settings.tree is None else None
        self._tree = nodes.tree
        self.nodes_ = np.array(nodes.names, dtype=dtype)
        self.classes_ = self.nodes_[: nodes.tree.n_classes]

    def _tree_or_error(self) -> ClassTree:
        check_is_fitted(self)
        return self._tree

    def _model_or_error(self) -> LabelRegression | SoftmaxClasses:
        check_is_fitted(self)
        return self._model

    def _query(self, X: Any) -> Rows:
        operator = self._model_or_error().operator
        if not isinstance(X, CodedRows):
            return self._reader(self._checked(X))
        if not (isinstance(operator, HistogramOperator) and X.lineage == operator.levels.lineage):
            raise ValueError("these rows were coded by another model, or before its last fit: code them again")
        return X

    def _note_quantisation(self, query: Rows) -> None:
        operator = self._model.operator
        if not len(operator):  # rows in chunks, which are not there to be compared with
            return
        if isinstance(query, RawRows) and isinstance(operator, HistogramOperator) and operator.histograms.quantised:
            self.kernel_error_ = self.kernel_error_.worse(added_error(operator, query))

    def _row_numbers(self, indices: Any) -> Indices:
        return checked_rows(indices, len(self._model_or_error().labels))
