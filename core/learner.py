"""OnlineLearner: the one door the service uses. Items in, labels in, the next question out."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.checks import check_number, check_whole
from core.drafts import Drafted, all_or_nothing
from core.histograms import Allocate, Engine
from core.knowledge import Knowledge
from core.labelling import Labelling, Parameters, TrackRecord
from core.nodes import Nodes, checked_name
from core.pool_model import PoolModel, chosen, compared
from core.settings import Settings, as_table


class OnlineLearner(Knowledge, Drafted):
    """An exact posterior over a pool of items that learns from each label at once.

    Items are numbered in the order they come. Classes are any strings, in the order they are first named. After every
    change, `mean` and `variance` of all items are those of a fresh fit. `parameters` are those of an earlier training.
    `allocate(size, type)` makes the arrays of coded items: where it maps files, a pool may be larger than memory. With
    an `engine` first items that are read in chunks stay where it works, on a cluster, if the model can live in parts.

    With likelihood="softmax" means are those of a fit to 1e-6 that starts from the last, and `parents` may make a tree
    of the classes: an item is one of those that are no parent, and a label may name any.

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
        self.nodes = self._checked(Nodes(tuple(classes), dict(parents or {})))
        self.version = 0
        self._parameters = parameters or Parameters()  # to begin with
        self._allocate = allocate
        self._engine = engine
        self._choice = self._model_choice = None
        self._record = TrackRecord()
        self._model = None

    def draft(self) -> Self:
        """A twin (see core.drafts)."""
        twin = super().draft()
        twin._model = None if self._model is None else self._model.draft()
        return twin

    @all_or_nothing
    def add_items(self, x: Any) -> None:
        """More items: rows of a dense or CSR table. The first call chooses levels and scales."""
        x = as_table(x)
        if self._model is None:
            tree, allocate, engine = self.nodes.tree, self._allocate, self._engine
            self._model = PoolModel.begin(self.settings, self._parameters, x, tree, allocate, engine)
        else:
            query = self._model.read(x)
            self._labelled.operator.check(query)
            self._labelled.append(query)
        self.version += 1

    @all_or_nothing
    def label(self, item: int, name: str, *, doubt: float = 1.0, drawn: bool = False) -> None:
        """Learn that this item is of this class; `doubt` multiplies the noise (an annotator's, for instance).

        A second label for an item replaces the first. Names may be new. Say `drawn` of items that were drawn at random:
        what the model thought of them before tells how good it is.
        """
        self._check_label(item, name, doubt)
        if item not in self._labelled.learnt:
            self.label_many({item: name}, {item: doubt}, drawn=[item] if drawn else ())
            return
        self._announce([name])
        number, labelled = self.nodes.number(name), self._labelled
        if doubt == labelled.factors[labelled.learnt.index(item)]:
            labelled.relabel(item, number)
        else:
            labelled.forget(item)
            labelled.learn(np.array([item]), np.array([number]), np.array([doubt]))
        self.version += 1

    @all_or_nothing
    def label_many(
        self,
        labels: Mapping[int, str],
        doubts: Mapping[int, float] | None = None,
        *,
        drawn: Collection[int] = (),
        refresh: bool = True,
    ) -> None:
        """Labels of items that have none yet, at less than the cost of one by one; all of them are learnt or none.

        Without `refresh` the pool is left behind, for a caller who changes more before looking at it.
        """
        doubts = {item: (doubts or {}).get(item, 1.0) for item in labels}
        known = set(self._labelled.learnt)
        for item, name in labels.items():
            self._check_label(item, name, doubts[item])
            if item in known:
                raise ValueError(f"item {item} has a label already")
        if not labels:
            return
        self._announce(labels.values())
        numbers = {item: self.nodes.number(name) for item, name in labels.items()}
        guess = self.predicted if self.n_seen >= 2 else None  # before, there is nothing to tell apart
        self._record = self._record.before_labels(numbers, guess, len(known), drawn, self.nodes.tree)
        learn = self._labelled.learn if refresh else self._labelled.learn_unseen
        learn(np.array(list(labels)), np.array(list(numbers.values())), np.array(list(doubts.values())))
        self.version += 1

    @all_or_nothing
    def retract(self, item: int) -> None:
        """Take the label of this item back."""
        self._check_item(item)
        if item not in self._labelled.learnt:
            raise ValueError(f"item {item} has no label to retract")
        self._labelled.forget(item)
        self.version += 1

    @all_or_nothing
    def add_classes(self, names: Sequence[str], parents: Mapping[str, str] | None = None) -> None:
        """Announce classes that no item has yet; each is a kind of its parent, if it has one."""
        self._change_nodes(self.nodes.with_more(names, parents))

    @all_or_nothing
    def rename_class(self, old: str, new: str) -> None:
        """Call a class by another name."""
        self.nodes = self.nodes.renamed(old, new)
        self.version += 1

    @all_or_nothing
    def move_class(self, name: str, parent: str | None) -> None:
        """Make a class a kind of another, or of none."""
        self._change_nodes(self.nodes.moved(name, parent))

    @all_or_nothing
    def merge_classes(self, name: str, into: str) -> None:
        """Make the labels of one class those of another, and drop the first; what was a kind of it moves along."""
        self._change_nodes(self.nodes.merged(name, into), {name: into})

    def _change_nodes(self, nodes: Nodes, merged: Mapping[str, str] | None = None) -> None:
        nodes, old = self._checked(nodes), self.nodes.names
        if self._model is None:
            self.nodes = nodes
            return
        numbers = nodes.renumber(old, merged)
        self._model.renumber(numbers, nodes.tree)
        if merged or not np.array_equal(numbers[: len(self.classes)], np.arange(len(self.classes))):
            self._record = TrackRecord(self._record.foretold)  # the numbers of the guesses mean other classes
        self.nodes = nodes
        self.version += 1

    def _checked(self, nodes: Nodes) -> Nodes:
        if nodes.parents and self.settings.likelihood != "softmax":
            raise ValueError('a tree of classes needs likelihood="softmax"')
        return nodes

    @all_or_nothing
    def tune(self, *, on_step: Callable[[], object] = lambda: None) -> None:
        """Find hyperparameters for the labels there are; one class or fewer than four labels change nothing.

        `on_step` is called before each evaluation; what it raises ends the search and changes nothing.
        """
        if self._some_model.tune(on_step):
            self.version += 1

    @all_or_nothing
    def remember(self, foretold: Mapping[int, int]) -> None:
        """What was foretold of items drawn at random (1 right, 0 wrong), by this learner or one before it."""
        for item, right in foretold.items():
            check_whole("item", item)
            if check_whole("foretold", right) > 1:
                raise ValueError(f"foretold must be 1 or 0 for each item; got {right!r} for item {item}")
        self._record = replace(self._record, foretold={**foretold, **self._record.foretold})

    @classmethod
    def build(
        cls,
        settings: Settings,
        x: Any,
        labelling: Labelling,
        *,
        train: bool = False,
        on_step: Callable[[], object] = lambda: None,
        allocate: Allocate = np.empty,
        engine: Engine | None = None,
    ) -> "OnlineLearner":
        """A learner of these items and labels, at the cost of one fit; levels and scales come from all of the items.

        With `train`, hyperparameters are found, and with kernel="auto" or model="auto" the kernel or the model is
        chosen again if labels have doubled since it was chosen last. `on_step` is called now and then; what it raises
        ends the work.

        >>> old = OnlineLearner(Settings(kernel="auto"), ["a", "b"])
        >>> x = np.array([[0.9, 0.1], [0.2, 0.8]])
        >>> old.add_items(x); old.label(0, "a")
        >>> OnlineLearner.build(old.settings, x, old.labelling()).mean.round(2).tolist()
        [[0.95, -0.95], [0.62, -0.62]]
        """
        x = as_table(x)
        parameters, choice, model_choice = labelling.parameters, None, None
        if train and "auto" in (settings.kernel, settings.model):
            nodes = Nodes(labelling.classes, labelling.parents)
            number = {name: number for number, name in enumerate(nodes.classes)}  # label regression knows no tree
            labels = {item: number[name] for item, name in labelling.labels.items() if name in number}
            numbers = np.array(list(labels.values()), dtype=np.int64)
            known = x, list(labels), numbers, len(number)
            if settings.kernel == "auto":
                parameters, choice = chosen(settings, parameters, *known)
                on_step()
            if settings.model == "auto":
                parameters, model_choice = compared(settings, parameters, *known, on_step)
        learner = cls(settings, labelling.classes, parameters, allocate, parents=labelling.parents, engine=engine)
        learner._choice, learner._model_choice = choice, model_choice
        learner.add_items(x)
        learner.label_many(labelling.labels, labelling.doubts, refresh=False)
        learner._record, learner.version = labelling.record, labelling.version + 1
        on_step()
        if not (train and learner._some_model.tune(on_step)) and labelling.labels:
            learner._labelled.settle()
        return learner

    @all_or_nothing
    def state(self, *, refit: bool = True) -> dict[str, NDArray[Any]]:
        """Everything but the settings as plain arrays, for `restore`.

        The posterior is first solved from scratch, so that the restored one is the same, bit for bit; without `refit`
        that is left to `restore`, which then differs by rounding.
        """
        if refit:
            self._labelled.refit()
            self._labelled.refresh()
        parents = [self.nodes.parents.get(name, "") for name in self.nodes.given]
        return {
            **self._some_model.state(warm=not refit),
            "classes": np.array(self.nodes.given, dtype=np.str_),
            "parents": np.array(parents, dtype=np.str_),
            "foretold": np.array(list(self._record.foretold.items()), dtype=np.int64).reshape(-1, 2),
            "guesses": self._record.guesses,
            "later_guesses": self._record.later_guesses,
            "version": np.array(self.version),
        }

    @classmethod
    def restore(
        cls, settings: Settings, state: Mapping[str, NDArray[Any]], allocate: Allocate = np.empty
    ) -> "OnlineLearner":
        """The learner that gave this state, under the settings it had."""
        names = state["classes"].tolist()
        parents = {name: parent for name, parent in zip(names, state["parents"].tolist(), strict=True) if parent}
        learner = cls(settings, names, allocate=allocate, parents=parents)
        learner._model = PoolModel.restore(settings, state, learner.nodes.tree, allocate)
        foretold = {int(item): int(right) for item, right in state["foretold"]}
        learner._record = TrackRecord(foretold, state["guesses"], state["later_guesses"])
        learner.version = int(state["version"])
        return learner

    def _announce(self, names: Iterable[str]) -> None:
        """Classes of which some may be new."""
        new = [name for name in dict.fromkeys(names) if name not in self.nodes.given]
        if new:
            old, self.nodes = self.nodes.names, self.nodes.with_more(new)
            self._some_model.renumber(self.nodes.renumber(old), self.nodes.tree)

    def _check_label(self, item: int, name: str, doubt: float) -> None:
        self._check_item(item)
        checked_name(name)
        check_number("doubt", doubt, positive=True)
