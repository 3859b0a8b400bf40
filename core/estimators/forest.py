"""GPHIKForestClassifier: decision trees with Gaussian processes in their leaves, as a scikit-learn estimator."""

from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from core._types import Arrays, Floats
from core.checks import check_choice
from core.classes.labels import checked_labels, checked_rows, union_of_labels
from core.drafts import all_or_nothing
from core.estimators.base import HiddenParameters
from core.factory import make_kernel, single_reader, untuned
from core.forest import (
    LEAF_SIZES,
    Candidate,
    Forest,
    LeafSettings,
    LeavesTuned,
    TableRows,
    TreeRule,
    tune_shared,
    validate,
)
from core.forest import state as forest_state
from core.histograms import LevelRule
from core.kernels import Kernel, Transform
from core.models.forest_state import ForestState
from core.posterior import LabelRegression
from core.selection.kernel import Choice, candidate, choose_kernel
from core.settings import KernelRule, Settings
from core.tuning import tune

RULES: tuple[TreeRule, ...] = ("extra", "random")
REFERENCE = 256  # items that stand for a pool


class GPHIKForestClassifier(ClassifierMixin, HiddenParameters):  # type: ignore[misc]
    """Decision trees grown until a leaf has few rows, and an exact Gaussian process in every impure leaf.

    For interactions that an additive kernel cannot see, and for millions of rows: training is O(trees n leaf_size^2).

    Parameters
    ----------
    n_trees : trees whose posteriors are averaged.
    leaf_size : rows up to which a node is not split; a leaf that grows beyond twice as many is. "auto" chooses by
        the log loss of held-out rows.
    trees : "extra" draws thresholds at random and takes the best of sqrt(D) columns, "random" finds the best threshold
        of sqrt(D) columns, "best" that of all columns (every tree is then the same); "auto" validates the first two.
    kernel : of the leaves: "rbf", "hik" (or "linear"); "auto" compares kernels by leave-one-out error on a sample.
    transform, eta, noise, bias, complement, split, levels, gamma : as of GPHIKClassifier.
    tune : None keeps the kernel's parameters and noise; "loo" finds them by leave-one-out error inside the leaves,
        "validation" finds gamma by the log loss of held-out rows.
    own : with "loo", each leaf also tunes its own from there.
    max_memory : bytes that factors of leaves may take; the others are factored again when they are needed.
    random_state : of the trees and of the rows that are held out.

    Attributes
    ----------
    classes_ : sorted class labels.
    forest_ : trees, leaves and rows.
    tuned_ : what leave-one-out in the leaves found.
    candidates_ : what was validated, with log losses and accuracies.
    choice_ : with kernel="auto", which kernel won, and by how much.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GPHIKForestClassifier(n_trees=3, leaf_size=50).fit(x, x[:, 0] * x[:, 1] > 0)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    [True, False]
    """

    classes_: Any
    forest_: Forest[TableRows]
    tuned_: LeavesTuned
    candidates_: list[Candidate]
    choice_: Choice

    def __init__(
        self,
        n_trees: int = Settings.n_trees,
        leaf_size: int | Literal["auto"] = Settings.leaf_size,
        trees: TreeRule | Literal["auto"] = "extra",
        kernel: KernelRule = "rbf",
        transform: Transform = None,
        eta: float = 1.0,
        noise: float = 0.01,
        bias: float = 1.0,
        complement: bool = False,
        split: bool = False,
        levels: LevelRule = "auto",
        gamma: float | Literal["scale"] = "scale",
        tune: Literal["loo", "validation"] | None = None,
        own: bool = False,
        max_memory: float = Settings.max_memory,
        random_state: Any = 0,
    ) -> None:
        self.n_trees = n_trees
        self.leaf_size = leaf_size
        self.trees = trees
        self.kernel = kernel
        self._transform = transform
        self.eta = eta
        self.noise = noise
        self.bias = bias
        self.complement = complement
        self.split = split
        self.levels = levels
        self.gamma = gamma
        self._tune = tune
        self.own = own
        self.max_memory = max_memory
        self.random_state = random_state

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        if self.__sklearn_is_fitted__():
            twin.forest_ = self.forest_.draft()
        return twin

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from n rows and their labels, forgetting what was learnt before."""
        X, y = self._first_data(X, y)
        return self._start(X, y, np.unique(y))

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows, each in its leaf, exactly; leaves that have become large are split.

        Labels may be new; `classes` may announce labels that no row has yet.

        >>> model = GPHIKForestClassifier(n_trees=2).fit([[0.0], [1.0]], ["a", "b"])
        >>> model.partial_fit([[2.0]], ["c"]).predict([[2.1]]).tolist()
        ['c']
        """
        if not self.__sklearn_is_fitted__():
            X, y = self._first_data(X, y)
            return self._start(X, y, union_of_labels(y if classes is None else classes, y))
        X = self._checked(X)
        y = checked_labels(y, X.shape[0])
        known = union_of_labels(self.classes_, union_of_labels(y if classes is None else classes, y))
        self._announce(known)
        self.forest_.append(X, np.searchsorted(known, y))
        return self

    @all_or_nothing
    def forget(self, indices: Any) -> Self:
        """Remove rows, by their number in the order they were learnt; later rows move up, trees stay as they are."""
        forest = self._fitted
        rows = checked_rows(indices, len(forest.rows))
        forest.forget(rows)
        forest.rows.remove(rows)
        kept = np.ones(len(forest.labels), dtype=bool)
        kept[rows] = False
        forest.renumber_rows(np.where(kept, np.cumsum(kept) - 1, -1))
        return self

    @all_or_nothing
    def relabel(self, indices: Any, y: Any) -> Self:
        """Give learnt rows other labels, by their number; the labels may be new."""
        rows = checked_rows(indices, len(self._fitted.rows))
        y = checked_labels(y, len(rows))
        known = union_of_labels(self.classes_, y)
        self._announce(known)
        self.forest_.relabel(rows, np.searchsorted(known, y))
        return self

    @all_or_nothing
    def tune(self) -> Self:
        """Find kernel parameters and noise by leave-one-out error inside the leaves, from where they are."""
        forest = self._fitted
        found = tune_shared(forest, self._settings)
        if found is not None:
            forest.reset(found.kernel, found.noise)
            self.tuned_ = found
            self._warn(found.at_bounds)
        if self.own:
            forest.tune_leaves(self._tuned_leaf)
        forest.fit()
        return self

    def _tuned_leaf(self, model: LabelRegression) -> tuple[Kernel, float]:
        found = tune(model, "loo", settings=untuned(self._settings, model.operator))
        return found.kernel, found.noise

    def means(self, X: Any) -> Floats:
        """Posterior means averaged over the trees, n x M, columns in the order of `classes_`."""
        return self._fitted.means(self._checked(X))

    def predict(self, X: Any) -> Any:
        """The class with the largest probability."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, n x M: those of the leaves, averaged over the trees."""
        return self._fitted.probabilities(self._checked(X))

    def predict_variance(self, X: Any, *, noisy: bool = False) -> Floats:
        """Variance of the latent functions, n: inside the leaves, and between the trees; `noisy` adds the noise."""
        variance = self._fitted.posterior(self._checked(X)).variance
        return variance + self.forest_.noise if noisy else variance

    def pool_state(self, X: Any, labelled: Any = ()) -> ForestState:
        """The rows of a pool without a label, for `core.queries.pick`; `labelled` are the numbers of the others.

        >>> from core.queries import pick
        >>> pool = np.arange(20.0)[:, None]
        >>> model = GPHIKForestClassifier(n_trees=1).fit(pool[[0, 19]], [0, 1])
        >>> pick(model.pool_state(pool, labelled=[0, 19]), "unc")[0].row in (9, 10)
        True
        """
        pool, known = self._checked(X), checked_rows(labelled, np.shape(X)[0])
        free = np.delete(np.arange(pool.shape[0]), known)
        reference = np.unique(np.linspace(0, pool.shape[0] - 1, REFERENCE).astype(np.int64))
        return ForestState.of(self._fitted, pool, free, reference, known)

    def dump(self) -> dict[str, NDArray[Any]]:
        """Rows, labels, trees and hyperparameters as plain arrays, which `load` takes."""
        names = self.classes_ if self.classes_.dtype != object else self.classes_.astype(str)
        kernel = self.choice_.name if hasattr(self, "choice_") else ""
        return {**forest_state.dump(self._fitted), "classes": names, "kernel": np.array(kernel)}

    @all_or_nothing
    def load(self, arrays: Arrays) -> Self:
        """Become the model that gave these arrays, with the arguments it had.

        >>> model = GPHIKForestClassifier(n_trees=2).fit([[0.0], [1.0]], ["a", "b"])
        >>> GPHIKForestClassifier(n_trees=2).load(model.dump()).predict([[0.1]]).tolist()
        ['a']
        """
        settings, kernel = self._checked_settings(), str(arrays["kernel"])
        self._settings = candidate(settings, kernel) if kernel else settings
        self.forest_ = forest_state.load(self._settings, arrays)
        self.classes_ = arrays["classes"]
        self.n_features_in_ = self.forest_.rows.take().shape[1]
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "forest_")

    @property
    def _fitted(self) -> Forest[TableRows]:
        check_is_fitted(self)
        return self.forest_

    def _checked_settings(self) -> Settings:
        """The leaves' part of the arguments, once all are checked."""
        for name, value, word in (("n_trees", self.n_trees, None), ("leaf_size", self.leaf_size, "auto")):
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 0
            if not (whole or (word is not None and isinstance(value, str) and value == word)):
                raise ValueError(
                    f"{name} must be a whole number above 0{' or ' + repr(word) if word else ''}; got {value!r}"
                )
        check_choice("trees", self.trees, (*get_args(TreeRule), "auto"))
        check_choice("tune", self._tune, (None, "loo", "validation"))
        check_choice("own", self.own, (False, True))
        if self.own and self._tune != "loo":
            raise ValueError('own=True needs tune="loo": leaves are tuned by leave-one-out error')
        names = ("kernel", "eta", "noise", "bias", "complement", "split", "levels", "gamma", "max_memory")
        settings = Settings(transform=self._transform, **{name: getattr(self, name) for name in names})
        settings.check()
        return settings

    def _first_data(self, X: Any, y: Any) -> tuple[Any, Any]:
        settings = self._checked_settings()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        self._settings = settings
        return single_reader(settings, X).check(X), checked_labels(y, X.shape[0])

    def _checked(self, X: Any) -> Any:
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
        return self.forest_.rows.reader.check(X)

    def _start(self, X: Any, y: Any, known: Any) -> Self:
        labels = np.searchsorted(known, y)
        for name in ("tuned_", "candidates_", "choice_"):
            self.__dict__.pop(name, None)
        leaf, rows = self._first_leaf(X, labels, len(known))
        seed = int(check_random_state(self.random_state).randint(2**30))
        rule: TreeRule = "extra" if self.trees == "auto" else self.trees
        if self.leaf_size == "auto" or self.trees == "auto" or self._tune == "validation":
            leaf, rule, self.candidates_ = validate(
                leaf,
                self._settings,
                rows,
                labels,
                len(known),
                n_trees=int(self.n_trees),
                rules=RULES if self.trees == "auto" else (rule,),
                leaf_sizes=LEAF_SIZES if self.leaf_size == "auto" else (leaf.leaf_size,),
                gammas=self._tune == "validation",
                loo=self._tune == "loo",
                seed=seed,
            )
        self.forest_ = Forest(leaf, rows, labels, len(known), rule=rule, seed=seed)
        self.forest_.grow(int(self.n_trees))
        self.classes_ = known
        if self._tune == "loo":
            return self.tune()
        self.forest_.fit()
        return self

    def _first_leaf(self, X: Any, labels: Any, n_classes: int) -> tuple[LeafSettings, TableRows]:
        """What leaves have in common before they are tuned, and the rows as they are read."""
        size = LEAF_SIZES[-1] if self.leaf_size == "auto" else int(self.leaf_size)
        kernel, noise = None, float(self.noise)
        if self._settings.kernel == "auto":
            self.choice_ = choose_kernel(self._settings, X, labels, n_classes, n_rows=2 * size)
            self._settings, kernel, noise = self.choice_.settings, self.choice_.kernel, self.choice_.noise
        settings = self._settings
        reader = single_reader(settings, X)
        leaf = LeafSettings(kernel or make_kernel(settings, X, reader), noise, size, settings.max_memory)
        return leaf, TableRows(X, reader, settings.levels)

    def _announce(self, known: Any) -> None:
        """These are the classes from now on, those in use among them."""
        if len(known) > len(self.classes_):
            self.forest_.renumber(np.searchsorted(known, self.classes_), len(known))
            self.classes_ = known
