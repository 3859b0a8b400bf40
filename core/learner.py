"""OnlineLearner: the one door the service uses. Items in, labels in, the next question out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core._types import Floats, Indices
from core.evidence import leave_one_out, tune
from core.histograms import CodedRows, RawRows
from core.linalg import HistogramOperator, Operator, Predictor
from core.posterior import LabelRegression, PoolPosterior, one_vs_all, probit
from core.queries import STRATEGIES, Pick, PoolState, pick
from core.settings import Reader, Settings, as_table
from core.snapshot import dump_rows, load_rows
from core.stopping import Advice, leave_one_out_accuracy, pool_uncertainty, random_accuracy, stability

COMPARE_EVERY = 20  # labels between which predictions are compared
REFERENCE_ROWS = 256  # of the pool, for strategies that look at it as a whole


@dataclass(frozen=True, eq=False)
class Published:
    """An immutable view of the learner, for any number of readers while the learner goes on."""

    version: int
    classes: tuple[str, ...]
    mean: Floats  # items x M
    variance: Floats  # items
    noise: float
    labels: Indices  # items; -1 without a label
    predictor: Predictor | None

    @property
    def probabilities(self) -> Floats:
        """Of each item and class."""
        return probit(self.mean, self.variance + self.noise)


class OnlineLearner:
    """An exact posterior over a pool of items that learns from each label at once.

    Items are numbered in the order they come. Classes are any strings, in the order they are first named. After every
    change, `mean` and `variance` of all items are those of a fresh fit.

    >>> learner = OnlineLearner(Settings(noise=0.1), classes=["cat", "dog"])
    >>> learner.add_items(np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]]))
    >>> learner.label(0, "cat"), learner.label(3, "dog")
    (None, None)
    >>> learner.query(1)[0].row in (1, 2), learner.publish().probabilities[1].argmax()
    (True, np.int64(0))
    """

    def __init__(self, settings: Settings | None = None, classes: list[str] | None = None) -> None:
        self.settings = settings or Settings()
        self.settings.check()
        self.classes: list[str] = []
        for name in classes or []:
            self.classes.append(self._checked_name(name))
            if self.classes.count(name) > 1:
                raise ValueError(f"class {name!r} is named twice")
        self.version = 0
        self._learnt: list[int] = []  # items in the order their labels were learnt
        self._foretold: dict[int, int] = {}  # items drawn at random: 1 if the class was predicted right, else 0
        # Predicted classes 20 to 40 labels ago, and less long ago.
        self._guesses = self._later_guesses = np.empty(0, dtype=np.int64)
        self._simplex: Floats | None = None
        self._reader: Reader | None = None
        self._model: LabelRegression
        self._pool: PoolPosterior

    def __len__(self) -> int:
        return len(self._pool) if self._reader else 0

    @property
    def labels(self) -> Indices:
        """The class number of each item, -1 without a label."""
        labels = np.full(len(self), -1, dtype=np.int64)
        if self._learnt:
            labels[self._learnt] = self._model.labels
        return labels

    @property
    def n_seen(self) -> int:
        """How many classes have labels."""
        return len(np.unique(self._model.labels))

    @property
    def mean(self) -> Floats:
        """Posterior means, items x M."""
        return self._pool.mean

    @property
    def variance(self) -> Floats:
        """Posterior variances of the latent functions, items."""
        return self._pool.variance

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self._model.noise

    def add_items(self, x: Any) -> None:
        """More items: rows of a dense or CSR table. The first call chooses levels and scales."""
        x = as_table(x)
        if self._reader is None:
            Reader(self.settings.kernel == "hik" and not self.settings.complement, None).check(x)
            reader = self.settings.reader(x)
            if self.settings.complement and not (
                reader.complement and (reader.complement.high > reader.complement.low).any()
            ):
                raise ValueError("complement=True needs first items that differ: their range is the scale")
            operator, _ = self.settings.operator(x, reader)
            operator.check(operator.own(np.arange(len(operator))))
            rows = operator.own(np.arange(len(operator)))
            self._model = self.settings.model(_empty(operator), np.empty(0, dtype=np.int64), len(self.classes))
            self._pool = PoolPosterior(self._model.posterior, rows)
            self._reader, self._width = reader, x.shape[1]
        else:
            query = self._read(x)
            self._model.operator.check(query)
            with self._all_or_nothing():
                self._pool.append(self._model.posterior, self._store(query))
        self.version += 1

    def label(self, item: int, name: str, *, doubt: float = 1.0, drawn: bool = False) -> None:
        """Learn that this item is of this class; `doubt` multiplies the noise (an annotator's, for instance).

        A second label for an item replaces the first. Names may be new. Say `drawn` of items that were drawn at random:
        what the model thought of them before tells how good it is.
        """
        self._check_item(item)
        self._checked_name(name)
        if not (np.isfinite(doubt) and doubt > 0.0):
            raise ValueError(f"doubt must be a finite number above 0; got {doubt!r}")
        with self._all_or_nothing():
            if name not in self.classes:
                self._new_class(name)
            number = self.classes.index(name)
            self._look_before(item, number, drawn)
            if item in self._learnt:
                self._relabel(self._learnt.index(item), number, doubt)
            else:
                self._learn(item, number, doubt)
        self.version += 1

    def retract(self, item: int) -> None:
        """Take the label of this item back."""
        self._check_item(item)
        if item not in self._learnt:
            raise ValueError(f"item {item} has no label to retract")
        with self._all_or_nothing():
            self._forget(self._learnt.index(item))
        self.version += 1

    def query(
        self,
        count: int = 1,
        strategy: str = "unc",
        *,
        seed: int = 0,
        explore: float = 0.0,
        pending: Indices | None = None,
    ) -> list[Pick]:
        """The unlabelled items to ask about next; `pending` ones were asked before and are not answered yet.

        Until two classes have labels, items are chosen to stand for the pool (herding).
        """
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}")
        if not len(self):
            return []
        waiting = np.asarray(pending if pending is not None else [], dtype=np.int64)
        if len(waiting) and not 0 <= waiting.min() <= waiting.max() < len(self):
            raise ValueError(f"pending items must be numbers from 0 to {len(self) - 1}")
        waiting = np.setdiff1d(waiting, self._learnt)
        unlabelled = np.ones(len(self), dtype=bool)
        unlabelled[self._learnt] = False
        unlabelled[waiting] = False
        free = np.flatnonzero(unlabelled)
        if not len(free):
            return []
        if self.n_seen < 2 and strategy != "random":
            strategy = "herding"
        return pick(self.pool_state(free), strategy, count, seed=seed, explore=explore, pending=waiting)

    def pool_state(self, items: Indices) -> PoolState:
        """What strategies look at, for these items."""
        reference = np.unique(np.linspace(0, len(self) - 1, REFERENCE_ROWS).astype(np.int64))
        return PoolState(
            self.mean[items],
            self.variance[items],
            self.noise,
            items,
            self._covariance,
            self._kernel,
            reference,
            np.array(self._learnt, dtype=np.int64),
        )

    def predict(self, x: Any) -> Indices:
        """Class numbers of rows that need not be items."""
        query = self._read(as_table(x))
        return np.asarray(self._model.posterior.means(query).argmax(axis=1))

    def tune(self) -> None:
        """Find hyperparameters for the labels there are; one class or fewer than four labels change nothing."""
        self._check_items()
        if self.n_seen < 2 or len(self._learnt) < 4:
            return
        found = tune(
            self._model,
            self.settings.tune or "loo",
            weights=self.settings.tune_weights,
            simplex=self._simplex,
            l1=self.settings.l1,
            l2=self.settings.l2,
        )
        self._simplex = found.simplex
        self._model.reset(found.kernel, found.noise)
        self._pool.refresh(self._model.posterior)
        self.version += 1

    def one_class(self) -> tuple[Floats, Floats]:
        """How much each item is like the labelled ones of a single class: by mean, and by (negative) variance.

        With labels of one class only, these are the one-class scores of paper 002, section 6.3; larger is more alike.
        """
        self._check_items()
        seen = np.unique(self._model.labels)
        if len(seen) != 1:
            raise ValueError(f"one-class scores need labels of exactly one class; there are {len(seen)}")
        return self.mean[:, seen[0]], -self.variance

    def advice(self) -> list[Advice]:
        """Whether to go on or stop, from four sides."""
        self._check_items()
        means, _ = leave_one_out(self._model)
        known = self.n_seen >= 2
        guesses = self.mean.argmax(axis=1) if known else np.empty(0, dtype=np.int64)
        return [
            leave_one_out_accuracy(means, self._model.labels),
            random_accuracy(np.array(list(self._foretold.values()), dtype=np.int64)),
            stability(self._guesses, guesses),
            pool_uncertainty(self.publish().probabilities if known else np.empty((0, 2))),
        ]

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything but the settings as plain arrays.

        The posterior is first solved from scratch: what `restore` makes of the arrays is then the same, bit for bit.
        """
        self._check_items()
        self._model.refit()
        self._pool.refresh(self._model.posterior)
        kernel = self._model.operator.kernel
        return {
            **dump_rows(self._model.operator, self._pool.rows, self._reader),
            "classes": np.array(self.classes, dtype=np.str_),
            "learnt": np.array(self._learnt, dtype=np.int64),
            "labels": self._model.labels,
            "factors": self._model.factors,
            "theta": np.append(kernel.theta, self._model.noise),
            "foretold": np.array(list(self._foretold.items()), dtype=np.int64).reshape(-1, 2),
            "guesses": self._guesses,
            "later_guesses": self._later_guesses,
            "version": np.array(self.version),
            "width": np.array(self._width),
        }

    @classmethod
    def restore(cls, settings: Settings, state: Mapping[str, NDArray[Any]]) -> "OnlineLearner":
        """The learner that gave this state, under the settings it had."""
        learner = cls(settings, state["classes"].tolist())
        operator, rows, learner._reader = load_rows(settings, state)
        learner._learnt = state["learnt"].tolist()
        learner._foretold = {int(item): int(right) for item, right in state["foretold"]}
        learner._guesses, learner._later_guesses = state["guesses"], state["later_guesses"]
        learner.version = int(state["version"])
        learner._width = int(state["width"])
        model = settings.model(_empty(operator), np.empty(0, dtype=np.int64), len(learner.classes))
        model.noise = float(state["theta"][-1])
        model.operator = model.operator.with_kernel(model.operator.kernel.with_theta(state["theta"][:-1]))
        model.operator.append(rows.take(state["learnt"]) if isinstance(rows, CodedRows) else rows[state["learnt"]])
        model.labels, model.factors = state["labels"], state["factors"]
        model.refit()
        learner._model = model
        learner._pool = PoolPosterior(model.posterior, rows)
        return learner

    def publish(self) -> Published:
        """The state as it is now; later changes do not touch it."""
        self._check_items()
        predictor = self._model.posterior.predictor if self._learnt else None
        return Published(
            self.version,
            tuple(self.classes),
            _read_only(self.mean),
            _read_only(self.variance),
            self.noise,
            _read_only(self.labels),
            predictor,
        )

    def _read(self, x: Any) -> Any:
        self._check_items()
        assert self._reader is not None
        if x.shape[1] != self._width:
            raise ValueError(f"rows have {x.shape[1]} columns; the first items had {self._width}")
        return self._reader(self._reader.check(x))

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Take everything back when a change fails half-way."""
        before = copy(self.__dict__)
        classes, learnt, foretold, pool = list(self.classes), list(self._learnt), dict(self._foretold), copy(self._pool)
        try:
            yield
        except Exception:
            self.__dict__ = before
            self.classes, self._learnt, self._foretold, self._pool = classes, learnt, foretold, pool
            if self._model.n_classes != len(classes):
                self._model.relabel(self._model.labels, len(classes))
            self._model.refit()
            raise

    def _look_before(self, item: int, number: int, drawn: bool) -> None:
        """What the model thinks before it learns: of an item drawn at random, and now and then of all."""
        if drawn and item not in self._learnt and self.n_seen >= 2:
            self._foretold.setdefault(item, int(self.mean[item].argmax() == number))
        if len(self._learnt) % COMPARE_EVERY == 0 and item not in self._learnt:
            self._guesses = self._later_guesses
            self._later_guesses = self.mean.argmax(axis=1) if self.n_seen >= 2 else np.empty(0, dtype=np.int64)

    def _learn(self, item: int, number: int, doubt: float) -> None:
        row = self._rows(np.array([item]))
        target = one_vs_all(np.array([number]), len(self.classes))[0]
        if not self._model.balance:
            self._pool.learn(self._model.posterior, row, target, self.noise * doubt)
        self._model.add(row, np.array([number]), factors=np.array([doubt]))
        self._learnt.append(item)
        self._after_balance()

    def _forget(self, index: int) -> None:
        if not self._model.balance:
            self._pool.forget(self._model.posterior, index)
        self._model.remove(np.array([index]))
        del self._learnt[index]
        self._after_balance()

    def _relabel(self, index: int, number: int, doubt: float) -> None:
        if doubt != self._model.factors[index]:
            item = self._learnt[index]
            self._forget(index)
            self._learn(item, number, doubt)
            return
        labels = self._model.labels.copy()
        labels[index] = number
        if not self._model.balance:
            self._pool.relabel(self._model.posterior, index, one_vs_all(np.array([number]), len(self.classes))[0])
        self._model.relabel(labels, len(self.classes))
        self._after_balance()

    def _new_class(self, name: str) -> None:
        self.classes.append(name)
        self._model.relabel(self._model.labels, len(self.classes))
        self._pool.retarget(self._model.posterior)
        self._after_balance()

    def _after_balance(self) -> None:
        if self._model.balance:  # each label changed the noise of all
            self._pool.refresh(self._model.posterior)

    def _store(self, query: Any) -> Any:
        """New pool rows in the form the pool has, with levels for their values where there is room."""
        operator = self._model.operator
        if not (isinstance(operator, HistogramOperator) and isinstance(query, RawRows)):
            return query
        coded = operator.learn_levels(query)
        self._model.posterior.follow_levels()
        return coded

    def _rows(self, items: Indices) -> Any:
        rows = self._pool.rows
        return rows.take(items) if isinstance(rows, CodedRows) else rows[items]

    def _covariance(self, rows: Indices, columns: Indices) -> Floats:
        return self._model.posterior.covariance(self._rows(columns))(self._rows(rows))

    def _kernel(self, rows: Indices, columns: Indices) -> Floats:
        operator = self._model.operator
        return operator.difference(self._rows(columns), np.zeros((len(operator), len(columns))))(self._rows(rows))

    def _check_item(self, item: int) -> None:
        self._check_items()
        if not 0 <= item < len(self):
            raise ValueError(f"item must be a number from 0 to {len(self) - 1}; got {item!r}")

    def _check_items(self) -> None:
        if self._reader is None:
            raise ValueError("there are no items yet: the first ones tell how rows are to be read")

    @staticmethod
    def _checked_name(name: Any) -> str:
        if not (isinstance(name, str) and name and "\0" not in name):
            raise ValueError(f"a class name must be text without NUL; got {name!r}")
        return name


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _empty(operator: Operator) -> Operator:
    return operator.only(np.empty(0, dtype=np.int64))
