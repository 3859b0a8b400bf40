"""OnlineLearner, the entry point of core for the service: items in, labels in, the next question out."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from core._types import Arrays, Floats, Indices, Table, no_rows
from core.checks import check_choice, check_number, check_numbers, check_whole
from core.classes import Nodes, checked_name
from core.drafts import Drafted, all_or_nothing, read_only
from core.histograms import Allocate, Chunked, Engine
from core.insight.accuracy import TARGET, Accuracy
from core.insight.explanations import Contributions, contributions
from core.insight.pool_map import PoolKernel
from core.insight.stopping import Estimate
from core.insight.track_record import Draw, TrackRecord
from core.learner.choices import Choices, choose
from core.learner.record import Labelling
from core.learner.view import Predictive, Published
from core.models.base import PoolModel
from core.models.parameters import Parameters
from core.models.registry import ModelInUse
from core.posterior import LocalParts
from core.posterior.parts import is_finite
from core.probabilities import novelty
from core.queries import Ask, Looks, Pick, predict_each_other
from core.queries.ask import ask
from core.queries.losses import LossRule, cost_table
from core.settings import Settings
from core.tables import as_table
from core.variance import VarianceName

SAMPLE = 16  # items looked at to see whether means have drifted


class OnlineLearner(Drafted):
    """An exact posterior over a pool of items that learns from each label at once.

    Items are numbered in the order they come. Classes are any strings, in the order they are first named. After every
    change, `mean` and `variance` of all items are those of a fresh fit. `parameters` are those of an earlier training.
    `allocate(size, type)` makes the arrays of coded items: with mapped files a pool may be larger than memory. With an
    `engine`, first items that are read in chunks stay on its workers, on a cluster, if the model may be in parts.

    With likelihood="softmax" means are fitted again after each label (a warm start, relative gradient 1e-6), and
    `parents` may make a tree of the classes: an item belongs to a leaf class, a label may also name an inner one.

    >>> learner = OnlineLearner(Settings(noise=0.1), classes=["cat", "dog"])
    >>> learner.add_items(np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]]))
    >>> learner.label(0, "cat"), learner.label(3, "dog")
    (None, None)
    >>> learner.query(1)[0].row in (1, 2), learner.publish().probabilities[1].argmax()
    (True, np.int64(0))
    """

    def __init__(
        self,
        settings: Settings | None = None,
        classes: Sequence[str] = (),
        parameters: Parameters | None = None,
        allocate: Allocate = np.empty,
        *,
        parents: Mapping[str, str] | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.settings.check()
        if self.settings.tree is not None:
            raise ValueError("the tree of an online learner comes with its classes: give parents, not the setting tree")
        if self.settings.class_weights is not None:
            raise ValueError("an online learner has no class_weights: give each label the noise_factor 1 / weight")
        self.nodes = self._checked(Nodes(tuple(classes), dict(parents or {})))
        self.version = 0
        self._parameters = parameters or Parameters()  # to begin with
        self._allocate = allocate
        self._engine = engine
        self._choices = Choices()  # what the training that made it chose
        self._record = TrackRecord()
        self._looks = Looks()
        self._in_use: ModelInUse | None = None  # until there are items

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin._in_use = None if self._in_use is None else self._in_use.draft()
        return twin

    def __len__(self) -> int:
        return len(self._model) if self._in_use else 0

    @property
    def classes(self) -> list[str]:
        """Names of the leaf classes, M."""
        return list(self.nodes.classes)

    @property
    def labels(self) -> Indices:
        """The number of each item's label in `nodes`, -1 without one."""
        return self._model.labels if self._in_use else no_rows()

    @property
    def n_seen(self) -> int:
        """How many classes have labels."""
        return len(np.unique(self._model.numbers))

    @property
    def mean(self) -> Floats:
        """Posterior means, items x M; to be read only."""
        return read_only(self._model.mean)

    @property
    def variance(self) -> Floats:
        """Posterior variances of the latent functions, items; to be read only."""
        return read_only(self._model.variance)

    @property
    def variances(self) -> tuple[VarianceName, ...]:
        """Which variances there are for predictions and questions: exact, and upper bounds of it (core.variance)."""
        return self._model.variances

    @property
    def noise(self) -> float:
        """Variance of the noise on a target."""
        return self._model.noise

    def check_items(self, x: Table) -> None:
        """Raise a ValueError if these rows could not be added."""
        query = self._fitted.read(as_table(x))
        self._model.operator.check(query)

    def label_of(self, item: int) -> tuple[str, float] | None:
        """Class name and noise factor of an item; None without a label."""
        self._check_item(item)
        if item not in self._model.labelled_items:
            return None
        index = self._model.labelled_items.index(item)
        return self.nodes.names[self._model.numbers[index]], float(self._model.noise_factors[index])

    def residual(self) -> float:
        """How exact the model is: |(K + N) alpha - Y| / |Y|, or how far means of items are off, if that is more.

        Under the softmax likelihood it is the gradient at which the fit ended, relative to the one it began with.
        """
        items = np.unique(np.linspace(0, len(self) - 1, SAMPLE).astype(np.int64))
        drift = np.abs(self.moments_of(items)[0] - self._model.means(self._model.rows(items)))
        return max(self._model.residual(), float(drift.max(initial=0.0)))

    def query(
        self,
        count: int = 1,
        strategy: str = "unc",
        *,
        seed: int = 0,
        explore: float = 0.0,
        pending: Indices | None = None,
        among: Indices | None = None,
        wanted: str | None = None,
        loss: LossRule = "log",
        variance: VarianceName = "exact",
    ) -> list[Pick]:
        """The unlabelled items to ask about next; `pending` ones were asked before and are not answered yet.

        Returns at most `count` picks, best first; the same state and seed give the same picks. `explore` is the share
        of picks that are drawn at random, and `among` restricts the choice to these items. Until two classes have
        labels, items are chosen to stand for the pool (herding); a learner of one class asks for what is most unlike
        its labels (novelty), unless the strategy is variance. The strategy "likely" asks for items of the class
        `wanted`, or of those below it in the tree, the most probable first; "eer" lowers the expected `loss`: log,
        class (being wrong), parent or tree (how far off), or a table of costs {true: {decided: cost}}. The strategies
        variance, unc and unc+ may go by an upper bound of the `variance` (fapu, qfapu, rapu, qrapu; see core.variance).
        """
        check_choice("variance", variance, get_args(VarianceName))
        classes = () if wanted is None else tuple(self.nodes.below(wanted).tolist())
        # Arguments are checked also while there are no items.
        rule = Ask(strategy, count, seed, explore, classes, variance=variance).rule
        costs = cost_table(loss, self.nodes)
        if self._in_use is None:
            return []
        if rule.then is not None and self._knows_something():
            strategy = rule.then
        return ask(
            self._model,
            count,
            strategy,
            seed=seed,
            explore=explore,
            pending=pending,
            among=among,
            wanted=classes,
            costs=costs,
            variance=variance,
            one_class=len(self.classes) == 1,
            looks=self._looks,
        )

    def _knows_something(self) -> bool:
        """Whether labels predict each other better than their classes' numbers do."""
        left_out = self.publish().left_out
        return predict_each_other(left_out.labels, self.nodes.tree.covers(left_out.labels, left_out.predicted))

    def moments(self, x: Table) -> tuple[Floats, Floats]:
        """Posterior means (rows x M) and variances (rows) of rows that need not be items."""
        query = self._fitted.read(as_table(x))
        return self._model.moments(query)

    def moments_of(self, items: Indices) -> tuple[Floats, Floats]:
        """Posterior means (items x M) and variances of some items."""
        some = self._model.parts.take(check_numbers("items", items, len(self)))
        return some.mean, some.variance

    def novelty_of(self, items: Indices) -> Floats | None:
        """How unlike everything labelled some items are, from 0 to 1; None where variances do not tell."""
        if not self._tells_novelty:
            return None
        some = self._model.parts.take(check_numbers("items", items, len(self)))
        return novelty(some.variance, self._model.prior(some.rows))

    def predicted(self, items: Indices | None = None) -> Indices:
        """The most probable class of some items, or of all."""
        if items is not None:
            items = check_numbers("items", items, len(self))
        return self._model.item_predictions.predicted(items)

    @property
    def is_here(self) -> bool:
        """Whether the pool is in this process."""
        return isinstance(self._model.parts, LocalParts)

    def is_finite(self) -> bool:
        """Whether all means and variances are finite: features of 1e150 can be read, but their products overflow."""
        return all(self._model.parts.collect(is_finite))

    def predictive(self, x: Table, variance: VarianceName = "exact") -> Predictive:
        """What is predicted of rows that need not be items, with exact variances or upper bounds that cost less."""
        check_choice("variance", variance, get_args(VarianceName))
        rows = self._fitted.read(as_table(x))
        means, variances, probabilities = self._model.predictive(rows, variance)
        known = novelty(variances, self._model.prior(rows)) if variance == "exact" and self._tells_novelty else None
        return Predictive(means, variances, probabilities, known)

    @property
    def _tells_novelty(self) -> bool:
        """Whether variances tell how unlike labels a row is: a forest that has grown is sure far from any, too."""
        return self._model.solver != "forest"

    def predict(self, x: Table) -> Indices:
        """Class numbers of rows that need not be items."""
        return self._model.predict(self._fitted.read(as_table(x)))

    def one_class(self) -> tuple[Floats, Floats]:
        """How much each item is like the labelled ones of a single class: by mean, and by (negative) variance.

        With labels of one class only, these are the one-class scores of Freytag2012, section 6.3; larger is more alike.
        """
        seen = np.unique(self._model.numbers)
        if len(seen) != 1 or seen[0] >= len(self.classes):
            raise ValueError(f"one-class scores need labels of exactly one class; there are {len(seen)}")
        return self.mean[:, seen[0]], -self.variance

    def accuracy(self, target: float = TARGET) -> Accuracy:
        """How many of the items without a label are classed right, and whether it is time to stop (see `Published`)."""
        return self.publish().accuracy(target)

    def estimates(self) -> list[Estimate]:
        """What else can be said of the model, from three sides."""
        return self.publish().estimates()

    def contributions(self, item: int) -> Contributions | None:
        """What each column adds to the means of an item; None for kernels that are not additive over columns."""
        self._check_item(item)
        row = self._model.rows(np.array([item]))
        return contributions(self._model.predictor, row, self._fitted.width, self._fitted.spans)

    def pool_kernel(self) -> PoolKernel:
        """Kernel and items as they are now, for use in another thread."""
        return PoolKernel(self._model.operator.only(no_rows()), self._model.parts)

    def labelling(self) -> Labelling:
        """All that was learnt, apart from the items."""
        labelled, items = self._model, self._model.labelled_items
        return Labelling(
            self.nodes.given,
            {item: self.nodes.names[number] for item, number in zip(items, labelled.numbers, strict=True)},
            dict(zip(items, labelled.noise_factors.tolist(), strict=True)),
            self._fitted.parameters,
            self._record,
            self.version,
            dict(self.nodes.parents),
        )

    def publish(self) -> Published:
        """The state as it is now; later changes do not touch it."""
        now = copy(self)  # a change swaps all attributes in one step: a shallow copy has those of one version
        in_use, model = now._fitted, now._model
        return Published(
            now.version,
            now.nodes,
            model.parts,
            model.item_predictions,
            model.noise,
            model.noises,
            model.labels,
            now._record,
            in_use.choices.kernel or now.settings.kernel_name,
            model.solver,
            model.rounds,
            model.hyperparameters,
            now._choices.kernel,
            model.kind,
            now._choices.model,
            model.is_outgrown,
            in_use.choices.warnings,
            in_use.likelihood,
            now._choices.likelihood,
            model.prior if now._tells_novelty else None,
        )

    @all_or_nothing
    def add_items(self, x: Table) -> None:
        """More items: rows of a dense or CSR table. The first call chooses levels and scales."""
        x = as_table(x)
        if self._in_use is None:
            tree, allocate, engine = self.nodes.tree, self._allocate, self._engine
            self._in_use = ModelInUse.begin(self.settings, self._parameters, x, tree, allocate, engine)
        else:
            query = self._in_use.read(x)
            self._model.operator.check(query)
            self._model.append(query)
        self.version += 1

    @all_or_nothing
    def label(self, item: int, name: str, *, noise_factor: float = 1.0, drawn: bool = False) -> None:
        """Learn that this item is of this class; `noise_factor` multiplies the noise, for an unreliable annotator.

        With 1 / w the label counts as w labels, for a class that is rare and wanted. A second label for an item
        replaces the first. Names may be new. Say `drawn` of items that were drawn at random among all without a label:
        what the model thought of them before tells how good it is.
        """
        self._check_label(item, name, noise_factor)
        if item not in self._model.labelled_items:
            self.label_many({item: name}, {item: noise_factor}, drawn=[item] if drawn else ())
            return
        self._add_new_classes([name])
        number, model = self.nodes.number(name), self._model
        if noise_factor == model.noise_factors[model.labelled_items.index(item)]:
            model.relabel(item, number)
        else:
            model.forget(item)
            model.learn(np.array([item]), np.array([number]), np.array([noise_factor]))
        self.version += 1

    @all_or_nothing
    def label_many(
        self,
        labels: Mapping[int, str],
        noise_factors: Mapping[int, float] | None = None,
        *,
        drawn: Collection[int] = (),
        refresh: bool = True,
    ) -> None:
        """Labels of items that have none yet, cheaper than one by one; all of them are learnt or none.

        Without `refresh`, means and variances of the pool stay stale, for a caller who changes more before looking.
        """
        noise_factors = {item: (noise_factors or {}).get(item, 1.0) for item in labels}
        known = set(self._model.labelled_items)
        for item, name in labels.items():
            self._check_label(item, name, noise_factors[item])
            if item in known:
                raise ValueError(f"item {item} has a label already")
        if not labels:
            return
        self._add_new_classes(labels.values())
        numbers = {item: self.nodes.number(name) for item, name in labels.items()}
        guess = self.predicted if self.n_seen >= 2 else None  # before, there is nothing to tell apart
        self._record = self._record.before_labels(numbers, guess, len(known), len(self), drawn, self.nodes.tree)
        known_labels = np.array(list(labels)), np.array(list(numbers.values())), np.array(list(noise_factors.values()))
        self._model.learn(*known_labels, refresh=refresh)
        self.version += 1

    @all_or_nothing
    def retract(self, item: int) -> None:
        """Take the label of this item back."""
        self._check_item(item)
        if item not in self._model.labelled_items:
            raise ValueError(f"item {item} has no label to retract")
        self._model.forget(item)
        self.version += 1

    @all_or_nothing
    def add_classes(self, names: Sequence[str], parents: Mapping[str, str] | None = None) -> None:
        """Announce classes that no item has yet; `parents` gives the parent of some of them."""
        self._change_nodes(self.nodes.with_more(names, parents))

    @all_or_nothing
    def rename_class(self, old: str, new: str) -> None:
        """Call a class by another name."""
        self.nodes = self._checked(self.nodes.renamed(old, new))
        self.version += 1

    @all_or_nothing
    def move_class(self, name: str, parent: str | None) -> None:
        """Give a class another parent, or none."""
        self._change_nodes(self.nodes.moved(name, parent))

    @all_or_nothing
    def merge_classes(self, name: str, into: str) -> None:
        """Merge a class into another: its labels and subclasses move along."""
        self._change_nodes(self.nodes.merged(name, into), {name: into})

    def _change_nodes(self, nodes: Nodes, merged: Mapping[str, str] | None = None) -> None:
        """Change to another class tree: labels get other numbers, and predictions of the past are dropped."""
        nodes, old = self._checked(nodes), self.nodes.names
        if self._in_use is None:
            self.nodes = nodes
            return
        numbers = nodes.renumber(old, merged)
        self._model.renumber(numbers, nodes.tree)
        if merged or not np.array_equal(numbers[: len(self.classes)], np.arange(len(self.classes))):
            self._record = TrackRecord(self._record.draws)  # the numbers of the guesses mean other classes
        self.nodes = nodes
        self.version += 1

    def _checked(self, nodes: Nodes) -> Nodes:
        """These names if they can be used: text, and a tree only under softmax."""
        for name in nodes.given:
            checked_name(name)
        if nodes.parents and self.settings.likelihood != "softmax":
            raise ValueError('a tree of classes needs likelihood="softmax"')
        return nodes

    @all_or_nothing
    def tune(self, *, on_step: Callable[[], object] = lambda: None) -> None:
        """Find hyperparameters for the labels there are; one class or fewer than four labels change nothing.

        `on_step` is called before each evaluation; what it raises ends the search and changes nothing.
        """
        if self._fitted.tune(on_step, drawn=self._record.drawn):
            self.version += 1

    @all_or_nothing
    def remember(self, draws: Mapping[int, tuple[int, int, int]]) -> None:
        """Items that were drawn at random before: (1 if predicted right, else 0; labels there were; items there were).

        They may have been predicted by another learner; those that this one remembers stay as they are.
        """
        for item, (right, labels, items) in draws.items():
            check_whole("item", item)
            if check_whole("right", right) > 1:
                raise ValueError(f"right must be 1 or 0 for each item; got {right!r} for item {item}")
            check_whole("labels", labels)
            check_whole("items", items, least=1)
        before = {item: Draw(*draw) for item, draw in draws.items()}
        self._record = replace(self._record, draws={**before, **self._record.draws})

    @classmethod
    def build(
        cls,
        settings: Settings,
        x: Table,
        labelling: Labelling,
        *,
        train: bool = False,
        on_step: Callable[[], object] = lambda: None,
        allocate: Allocate = np.empty,
        engine: Engine | None = None,
    ) -> "OnlineLearner":
        """A learner of these items and labels, at the cost of one fit; levels and scales come from all of the items.

        With `train`, hyperparameters are found, and what the settings leave open ("auto": kernel, model, likelihood) is
        chosen again if labels have doubled since it was chosen last. `on_step` is called now and then; what it raises
        ends the work.

        >>> old = OnlineLearner(Settings(kernel="auto"), ["a", "b"])
        >>> x = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> old.add_items(x); old.label(0, "a")
        >>> OnlineLearner.build(old.settings, x, old.labelling()).mean.round(2).tolist()
        [[0.95, -0.95], [0.62, -0.62]]
        """
        x = as_table(x)
        parameters, choices = labelling.parameters, Choices()
        if train:
            in_parts = engine is not None and isinstance(x, Chunked) and settings.lives_in_parts
            parameters, choices = choose(settings, x, labelling, on_step, in_parts=in_parts)
        learner = cls(settings, labelling.classes, parameters, allocate, parents=labelling.parents, engine=engine)
        learner._choices = choices
        learner.add_items(x)
        learner.label_many(labelling.labels, labelling.noise_factors, refresh=False)
        learner._record, learner.version = labelling.record, labelling.version + 1
        on_step()
        search, drawn = not choices.is_tuned, labelling.record.drawn
        if not (train and learner._fitted.tune(on_step, search=search, drawn=drawn)) and labelling.labels:
            learner._model.catch_up()
        return learner

    @all_or_nothing
    def dump(self, *, refit: bool = True) -> dict[str, NDArray[Any]]:
        """Everything but the settings as plain arrays, for `load`.

        The posterior is first solved from scratch, so that the loaded one is the same, bit for bit; without `refit`
        that is left to `load`, which then differs by rounding.
        """
        if refit:
            self._model.refit()
            self._model.refresh()
        parents = [self.nodes.parents.get(name, "") for name in self.nodes.given]
        return {
            **self._fitted.dump(warm=not refit),
            "classes": np.array(self.nodes.given, dtype=np.str_),
            "parents": np.array(parents, dtype=np.str_),
            "draws": np.array([(item, *draw) for item, draw in self._record.draws.items()], np.int64).reshape(-1, 4),
            "guesses": self._record.guesses,
            "later_guesses": self._record.later_guesses,
            "version": np.array(self.version),
        }

    @classmethod
    def load(cls, settings: Settings, arrays: Arrays, allocate: Allocate = np.empty) -> "OnlineLearner":
        """The learner that gave these arrays, under the settings it had."""
        names = arrays["classes"].tolist()
        parents = {name: parent for name, parent in zip(names, arrays["parents"].tolist(), strict=True) if parent}
        learner = cls(settings, names, allocate=allocate, parents=parents)
        learner._in_use = ModelInUse.load(settings, arrays, learner.nodes.tree, allocate)
        draws = {item: Draw(*draw) for item, *draw in arrays["draws"].tolist()}
        learner._record = TrackRecord(draws, arrays["guesses"], arrays["later_guesses"])
        learner.version = int(arrays["version"])
        return learner

    def _add_new_classes(self, names: Iterable[str]) -> None:
        """Those of these classes that are not known yet."""
        new = [name for name in dict.fromkeys(names) if name not in self.nodes.given]
        if new:
            old, self.nodes = self.nodes.names, self.nodes.with_more(new)
            self._model.renumber(self.nodes.renumber(old), self.nodes.tree)

    def _check_label(self, item: int, name: str, noise_factor: float) -> None:
        self._check_item(item)
        checked_name(name)
        check_number("noise_factor", noise_factor, positive=True)

    def _check_item(self, item: int) -> None:
        whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
        if not (whole and 0 <= item < len(self._model)):
            raise ValueError(f"item must be a whole number from 0 to {len(self) - 1}; got {item!r}")

    @property
    def _fitted(self) -> ModelInUse:
        if self._in_use is None:
            raise ValueError("there are no items yet: add some first, which tell how rows are to be read")
        return self._in_use

    @property
    def _model(self) -> PoolModel:
        return self._fitted.model
