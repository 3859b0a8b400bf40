"""What a learner can tell: of its items, of rows that are none, and of itself."""

from copy import copy
from typing import Any

import numpy as np

from core._types import Floats, Indices
from core.checks import check_numbers
from core.choice import Choice
from core.contributions import Contributions, contributions
from core.drafts import read_only
from core.labelling import Labelling, TrackRecord, best_class, most_probable, nothing
from core.model_choice import ModelChoice
from core.nodes import Nodes
from core.pool_model import PoolModel
from core.posterior import LabelledPool, LocalParts, Part, Parts
from core.posterior.parts import total
from core.projection import PoolKernel
from core.published import Published, class_probabilities, predicted_classes
from core.queries import Ask, Pick
from core.questions import AnyPool, ask
from core.settings import Settings, as_table
from core.stopping import Advice

SAMPLE = 16  # items looked at to see whether means have drifted


class Knowledge:
    """Nothing here changes the learner: see `core.learner.OnlineLearner`."""

    settings: Settings
    nodes: Nodes
    version: int
    _choice: Choice | None
    _model_choice: ModelChoice | None
    _record: TrackRecord
    _model: PoolModel | None  # until there are items

    def __len__(self) -> int:
        return len(self._labelled) if self._model else 0

    @property
    def classes(self) -> list[str]:
        """Names of the classes that items are one of, M."""
        return list(self.nodes.classes)

    @property
    def labels(self) -> Indices:
        """The number of each item's label in `nodes`, -1 without one."""
        return self._labelled.labels if self._model else nothing()

    @property
    def n_seen(self) -> int:
        """How many classes have labels."""
        return len(np.unique(self._labelled.numbers))

    @property
    def mean(self) -> Floats:
        """Posterior means, items x M; to be read only."""
        return read_only(self._labelled.mean)

    @property
    def variance(self) -> Floats:
        """Posterior variances of the latent functions, items; to be read only."""
        return read_only(self._labelled.variance)

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self._labelled.noise

    def check_items(self, x: Any) -> None:
        """Raise a ValueError if these rows could not be added."""
        query = self._some_model.read(as_table(x))
        self._labelled.operator.check(query)

    def label_of(self, item: int) -> tuple[str, float] | None:
        """Class and doubt of an item that has a label."""
        self._check_item(item)
        if item not in self._labelled.learnt:
            return None
        index, labelled = self._labelled.learnt.index(item), self._labelled
        return self.nodes.names[labelled.numbers[index]], float(labelled.factors[index])

    def residual(self) -> float:
        """How exact the model is: |(K + N) alpha - Y| / |Y|, or how far means of items are off, if that is more.

        Under the softmax likelihood it is the gradient at which the fit ended, relative to the one it began with.
        """
        items = np.unique(np.linspace(0, len(self) - 1, SAMPLE).astype(np.int64))
        drift = np.abs(self.moments_of(items)[0] - self._labelled.means(self._labelled.rows(items)))
        return max(self._labelled.residual(), float(drift.max(initial=0.0)))

    def query(
        self,
        count: int = 1,
        strategy: str = "unc",
        *,
        seed: int = 0,
        explore: float = 0.0,
        pending: Indices | None = None,
        among: Indices | None = None,
    ) -> list[Pick]:
        """The unlabelled items to ask about next; `pending` ones were asked before and are not answered yet.

        `among` restricts the choice to these items. Until two classes have labels, items are chosen to stand for the
        pool (herding).
        """
        Ask(strategy, count, seed, explore)  # or an error that says what is wrong
        if self._model is None:
            return []
        return ask(self._labelled, count, strategy, seed=seed, explore=explore, pending=pending, among=among)

    def moments(self, x: Any) -> tuple[Floats, Floats]:
        """Posterior means (rows x M) and variances (rows) of rows that need not be items."""
        query = self._some_model.read(as_table(x))
        return self._labelled.moments(query)

    def moments_of(self, items: Indices) -> tuple[Floats, Floats]:
        """Posterior means (items x M) and variances of some items."""
        some = self._pool.take(check_numbers("items", items, len(self)))
        return some.mean, some.variance

    def predicted(self, items: Indices | None = None) -> Indices:
        """The most probable class of some items, or of all."""
        if items is not None:
            items = check_numbers("items", items, len(self))
        return predicted_classes(self._pool, self._labelled.votes, items)

    @property
    def is_here(self) -> bool:
        """Whether the pool is in this process."""
        return isinstance(self._pool, LocalParts)

    def is_finite(self) -> bool:
        """Whether all that is known of the items can be held: features of 1e150 can be read, their products cannot."""
        return bool(np.isfinite(sum(self._pool.collect(total))))

    def predictive(self, x: Any) -> tuple[Floats, Floats, Floats]:
        """Moments as above, and the probabilities of the classes (rows x M)."""
        mean, variance, averaged = self._labelled.predictive(self._some_model.read(as_table(x)))
        if averaged is not None:
            return mean, variance, averaged
        return mean, variance, class_probabilities(self.settings.likelihood, mean, variance + self.noise)

    def predict(self, x: Any) -> Indices:
        """Class numbers of rows that need not be items."""
        if self._labelled.votes is not None:
            mean, _, probabilities = self.predictive(x)
            return most_probable(probabilities, mean)
        return best_class(self._labelled.means(self._some_model.read(as_table(x))))

    def one_class(self) -> tuple[Floats, Floats]:
        """How much each item is like the labelled ones of a single class: by mean, and by (negative) variance.

        With labels of one class only, these are the one-class scores of paper 002, section 6.3; larger is more alike.
        """
        seen = np.unique(self._labelled.numbers)
        if len(seen) != 1 or seen[0] >= len(self.classes):
            raise ValueError(f"one-class scores need labels of exactly one class; there are {len(seen)}")
        return self.mean[:, seen[0]], -self.variance

    def advice(self) -> list[Advice]:
        """Whether to go on or stop, from four sides."""
        return self.publish().advice()

    def contributions(self, item: int) -> Contributions | None:
        """What each column adds to the means of an item; None for kernels that are no sum over columns."""
        self._check_item(item)
        row = self._labelled.rows(np.array([item]))
        return contributions(self._labelled.predictor, row, self._some_model.width)

    def pool_kernel(self) -> PoolKernel:
        """Kernel and items as they are now, for work beside the learner."""
        return PoolKernel(self._labelled.operator.only(nothing()), self._pool)

    def labelling(self) -> Labelling:
        """All that is learnt, apart from the items."""
        labelled, learnt = self._labelled, self._labelled.learnt
        return Labelling(
            self.nodes.given,
            {item: self.nodes.names[number] for item, number in zip(learnt, labelled.numbers, strict=True)},
            dict(zip(learnt, labelled.factors.tolist(), strict=True)),
            self._some_model.parameters,
            self._record,
            self.version,
            dict(self.nodes.parents),
        )

    def publish(self) -> Published:
        """The state as it is now; later changes do not touch it."""
        now = copy(self)  # a change takes the place of all attributes in one step, and may do so while they are read
        model, labelled = now._some_model, now._labelled
        return Published(
            now.version,
            now.nodes,
            now.settings.likelihood,
            now._pool,
            labelled.noise,
            labelled.noises,
            labelled.labels,
            now._record,
            model.kernel or now.settings.kernel,
            labelled.name,
            labelled.rounds,
            model.hyperparameters,
            now._choice,
            model.model,
            now._model_choice,
            labelled.votes,
            labelled.is_outgrown,
            model.warnings,
        )

    def _check_item(self, item: int) -> None:
        whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
        if not (whole and 0 <= item < len(self._labelled)):
            raise ValueError(f"item must be a whole number from 0 to {len(self) - 1}; got {item!r}")

    @property
    def _some_model(self) -> PoolModel:
        if self._model is None:
            raise ValueError("there are no items yet: the first ones tell how rows are to be read")
        return self._model

    @property
    def _pool(self) -> Parts:
        labelled = self._labelled
        if isinstance(labelled, LabelledPool):
            return labelled.parts
        return LocalParts(Part(labelled.all_rows, labelled.mean, labelled.variance))

    @property
    def _labelled(self) -> AnyPool:
        return self._some_model.labelled
