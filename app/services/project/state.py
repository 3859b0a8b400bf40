"""What a project holds in memory: a cache of its rows in the database. Only its writer thread touches it."""

import hashlib
import logging
from array import array
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.db import encoders, events, items, leases, projects
from app.db.database import Database
from app.encoders import Channel, Encoder, Kind
from app.services.budgets import Budgets
from app.services.encoding.embedding import PretrainedModels
from app.services.project.class_book import ClassBook
from app.services.project.learner_labels import Labels, apply_changes, label_changes
from app.services.project.leases import Lease, LeaseBook
from app.services.project.ledger import Event, Ledger, consensus
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.view import View
from app.services.runtime.mapped_files import LargeArrays
from core import OnlineLearner
from core._types import Table
from core.histograms import Engine
from core.insight.finding import weight_of_wanted
from core.insight.track_record import Draw

log = logging.getLogger(__name__)

GOOD_RESIDUAL = 1e-6
RESIDUAL_EVERY = 32  # changes of a model


MAX_RBF_ITEMS = 100_000  # for which kernel columns of 2,600 labels are kept; beyond, each label computes them again


@dataclass(frozen=True)
class StoredEncoder:
    """What is known of the encoder of a project without its state."""

    kind: Kind
    why: str
    channels: tuple[Channel, ...]
    description: dict[str, Any]

    @classmethod
    def of(cls, row: Any) -> "StoredEncoder":
        """The encoder in a row of the table."""
        return cls(row.kind, row.why, tuple(Channel(**channel) for channel in row.channels), row.description)

    @property
    def columns(self) -> list[int]:
        """How many columns each channel has."""
        return [channel.columns for channel in self.channels]

    @property
    def needs_model(self) -> bool:
        """Whether a pretrained model has a channel."""
        return self.description.get("options", {}).get("model") is not None

    @property
    def has_negatives(self) -> bool:
        """Whether features may be negative: embeddings, and standardised columns of tables."""
        return self.needs_model or bool(self.description.get("options", {}).get("standardised"))

    def model(self, n_classes: int, n_items: int) -> dict[str, Any]:
        """The model settings that suit its rows; those stored by earlier versions have levels alone.

        RBF kernels keep a number for each item and label: where items are very many, additive channels do without.
        """
        if "model" not in self.description:
            return {"levels": self.description["levels"]}
        found = dict(self.description["model"])
        of_two = found.pop("bias_of_two", None)
        if n_items > MAX_RBF_ITEMS and "kernel" in found:
            found["kernel"] = [channel for channel in found["kernel"] if channel.get("kernel") != "rbf"]
        return found if of_two is None or n_classes > 2 else found | {"bias": of_two}


class Project:
    """Settings, classes, item keys, answers, leases, and the learner."""

    def __init__(
        self,
        database: Database,
        project_id: str,
        arrays: LargeArrays,
        engine: Engine | None = None,
        budgets: Budgets | None = None,
        models: PretrainedModels | None = None,
    ) -> None:
        self.database = database
        self.id = project_id
        self.arrays = arrays  # of coded items
        self.engine = engine  # the cluster, if there is one
        self.budgets = budgets or Budgets()
        self.models = models or PretrainedModels()
        self.learner: OnlineLearner | None = None
        self.broken: str | None = None  # why there is no model, or none to rely on
        self.unchosen: str | None = None  # why the strategy of another package chose nothing when it was asked last
        self.fallbacks = 0  # times the model failed
        self.made_with: dict[str, Any] = {}  # the model settings that the learner has
        self.training_id = 0  # the training that the learner comes from
        self.trained_labels = 0  # labels it was trained on
        self.view = View()
        self._shown: OnlineLearner | None = None  # whose state the view holds
        self.stale = True
        self.encoder: StoredEncoder | None = None
        self.fitted: Encoder | None = None  # the same, once somebody needed it
        self.keys: list[str] = []
        self.item_numbers: dict[str, int] = {}
        self.batches: list[int] = []
        self.checksums = array("Q")  # of each item and all before it
        self.arrived = array("d")  # when each item came
        self.weight = 1.0  # of labels of the class that is to be found, if there is one
        self.turn_answers: dict[int, Any] = {}  # by request, for repeats within a turn
        self._residual = 0.0  # of the model's equations, when it was last looked at
        self._changed: dict[int, bool] = {}  # items with answers that the model does not know; whether drawn at random
        self.all_changed = False  # or any item may have got another label

    def reload(self) -> None:
        """Read everything again, but for the learner."""
        with self.database.read() as connection:
            self.reload_from(connection)

    def reload_from(self, connection: Connection) -> None:
        """Read everything again as this connection sees it; what was there stays if that fails."""
        self._load_settings(connection)
        keys, batches, checksums, ledger = list[str](), list[int](), array("Q"), Ledger()
        arrived = array("d")
        for row in items.stream_keys(connection, self.id):
            arrived.append(max(row.created_at, arrived[-1] if arrived else 0.0))
            keys.append(row.key)
            batches.append(row.batch)
            checksums.append(_checksum(checksums, row.key, row.batch, row.created_at))
        for row in events.stream(connection, self.id):
            ledger.apply(Event.of(row))
        held = LeaseBook.of(leases.every(connection, self.id))
        self.keys, self.batches, self.checksums, self.arrived = keys, batches, checksums, arrived
        self.item_numbers = {key: number for number, key in enumerate(keys)}
        self.ledger, self.leases = ledger, held
        self.count_free_items()
        self.stale = False

    def count_free_items(self) -> None:
        """Find out anew which items may be given to somebody."""
        self._free = np.ones(len(self.keys), dtype=bool)
        for item in {*self.ledger.standings, *self.leases.items()}:
            self._update_free(item)

    def _update_free(self, item: int) -> None:
        taken = len(set(self.ledger.votes(item)) | self.leases.holders(item))
        self._free[item] = taken < self.settings.overlap and not self.ledger.is_unsure(item)

    def apply(self, event: Event) -> None:
        """Bring memory up to date with an event that was written."""
        self.ledger.apply(event)
        if event.kind != "comment":
            self._changed[event.item] = event.drawn or self._changed.get(event.item, False)
            self._update_free(event.item)

    def may_have(self, item: int, annotator: str) -> bool:
        """Whether this person may be given this very item: not too many others have it."""
        others = (set(self.ledger.votes(item)) | self.leases.holders(item)) - {annotator}
        return len(others) < self.settings.overlap

    def add_lease(self, lease: Lease) -> None:
        """Note that an item is promised to somebody."""
        self.leases.add(lease)
        self._update_free(lease.item)

    def end_lease(self, lease: Lease) -> None:
        """Note that an item was answered or given back."""
        self.leases.remove(lease.id)
        self._update_free(lease.item)

    def _load_settings(self, connection: Connection) -> None:
        row = projects.get(connection, self.id)
        if row is None:
            raise LookupError(f"project {self.id} is gone")
        self.name, self.revision, self.width = row.name, row.revision, row.width
        self.settings = ProjectSettings.stored(row.settings)
        self.classes = ClassBook.of(projects.all_classes(connection, self.id))
        found = encoders.without_states(connection, [self.id]).get(self.id)
        self.encoder = None if found is None else StoredEncoder.of(found)

    def model_settings(self) -> dict[str, Any]:
        """The settings of the model that the project should have, with what its encoder says of the columns."""
        if self.encoder is None:
            return self.settings.model_parts()
        n_classes = len(self.classes.nodes().classes)
        return self.settings.model_parts(
            self.encoder.kind, self.encoder.columns, self.encoder.model(n_classes, len(self.keys))
        )

    def add_key(self, key: str, batch: int, created_at: float) -> int:
        """The number of a new item."""
        number = len(self.keys)
        self.arrived.append(max(created_at, self.grown_at))
        self.checksums.append(_checksum(self.checksums, key, batch, created_at))
        self.keys.append(key)
        self.batches.append(batch)
        self.item_numbers[key] = number
        return number

    def free_new_items(self) -> None:
        """Let items that were just added be given to somebody."""
        self._free = np.concatenate([self._free, np.ones(len(self.keys) - len(self._free), dtype=bool)])

    def before_turn(self) -> None:
        """Read the project again if a commit failed, which leaves memory ahead of the database."""
        self.turn_answers.clear()
        self._changed.clear()
        self.all_changed = False
        if self.stale:
            self.reload()
            self.learn_all()

    def checkpoint(self) -> Callable[[], None]:
        """How to make the model again what it is now, if labels that it has learnt could not be written."""
        before = None if self.learner is None else self.learner.draft()

        def take_back() -> None:
            self.learner = before

        return take_back

    def after_turn(self, committed: bool) -> None:
        """Publish the new state, or remember that memory is not to be trusted."""
        self.stale = self.stale or not committed
        if not self.stale:
            self.with_model(lambda _: self.publish())
            if self.learner is None:  # or it broke in publishing: readers are to see that
                self.publish()

    def publish(self) -> None:
        """Let readers see what is there now."""
        model = None
        if self.learner is not None and len(self.learner):
            model = self.view.model
            # A learner from a training counts its versions anew.
            if model is None or self._shown is not self.learner or model.version != self.learner.version:
                if self._shown is not self.learner or self.learner.version % RESIDUAL_EVERY == 0:
                    self._residual = self.learner.residual()
                model, self._shown = self.learner.publish(), self.learner
        labels = model.labels[model.labels >= 0] if model is not None else ()
        self.view = View(
            self.version,
            self.ledger.sequence if self.learner is not None or not self.keys else self.view.sequence,
            len(self.keys),
            len(labels),
            len(np.unique(labels)),
            self.training_id,
            model,
            self.degraded,
        )

    @property
    def degraded(self) -> str | None:
        """Why questions do not come from a model of these items, if so."""
        if self.broken is None and self.learner is None and self.keys:
            return "there is no model of the items yet"
        if self.broken is None and self.learner is not None and self._residual > GOOD_RESIDUAL:
            return f"the model is exact to {self._residual:.0e} only: raise the noise or scale the features"
        return self.broken or self.unchosen

    @property
    def is_outdated(self) -> bool:
        """Whether the model was made with other settings than those of today."""
        return self.learner is not None and self.made_with != self.model_settings()

    @property
    def version(self) -> int:
        """Grows with whatever may change the model, and is the same after a restart."""
        n_batches = self.batches[-1] + 1 if self.batches else 0
        return int(self.ledger.sequence + n_batches + self.training_id + self.revision)

    def votes(self, item: int) -> dict[str, int]:
        """The class each person chose, in the order they chose, merged classes resolved."""
        return {who: self.classes.resolve(number) for who, number in self.ledger.votes(item).items()}

    @property
    def grown_at(self) -> float:
        """When the last items came."""
        return self.arrived[-1] if self.arrived else 0.0

    def draws(self, last: int | None = None) -> dict[int, Draw]:
        """Items that were drawn at random and have a label today, in their order: all, or the last of them.

        An item was predicted right if the model took it, before its first label, for the class that it has today.
        """
        newest = islice(reversed(self.ledger.predicted.items()), last)
        found = {}
        for item, (predicted, labels) in reversed(list(newest)):
            label = self.agreed_class(item)
            if label is not None:
                size = bisect_right(self.arrived, self.ledger.firsts[item].created_at)
                found[item] = Draw(int(self.classes.covers(label, predicted)), labels, max(size, item + 1))
        return found

    def agreed_class(self, item: int) -> int | None:
        """The class of an item, by people's votes."""
        agreed = consensus(self.votes(item), self.settings.consensus)
        return None if agreed is None else agreed[0]

    @property
    def wanted(self) -> str | None:
        """The class that is to be found, if there is one."""
        return self.settings.wanted if self.settings.goal == "find" else None

    def is_wanted(self, number: int) -> bool:
        """Whether a class is the one that is to be found, or a kind of it."""
        wanted = None if self.wanted is None else self.classes.number(self.wanted)
        return wanted is not None and self.classes.covers(wanted, number)

    def agreed_label(self, item: int) -> tuple[str, float] | None:
        """The label that the model should have of an item, by people's votes: class and noise factor.

        A label that counts as w labels has a w-th of the noise; those of a class that is to be found count more.
        """
        agreed = consensus(self.votes(item), self.settings.consensus)
        if agreed is None:
            return None
        name = self.classes.name(agreed[0])
        weight = self.weight if self.is_wanted(agreed[0]) else 1.0
        return name, agreed[1] / self.settings.class_weights.get(name, 1.0) / weight

    def agreed_labels(self) -> Labels:
        """The labels that the model should have, by item."""
        self.weight = self._weight()
        labels = {item: self.agreed_label(item) for item in self.ledger.standings}
        return {item: label for item, label in labels.items() if label is not None}

    def _weight(self) -> float:
        """The weight that labels of the class that is to be found should have now."""
        if self.wanted is None:
            return 1.0
        numbers = [number for item in self.ledger.standings if (number := self.agreed_class(item)) is not None]
        found = sum(map(self.is_wanted, numbers))
        return weight_of_wanted(found, len(numbers) - found)

    def learn_answers(self) -> None:
        """Bring the model up to date with the answers of a turn."""
        if self.all_changed:
            self.learn_all()
        elif self._changed:
            changes = {item: self.agreed_label(item) for item in self._changed}
            drawn = {item for item, drawn in self._changed.items() if drawn}
            self.with_model(lambda learner: apply_changes(learner, changes, drawn))
            if self._weighs_otherwise():
                self.learn_all()

    def _weighs_otherwise(self) -> bool:
        """Whether so many labels have come that those of the class to be found have another weight."""
        if self.wanted is None or self.learner is None or self.wanted not in self.learner.nodes.given:
            return False
        numbers = self.learner.labels
        found = int(self.learner.nodes.covers(self.wanted, numbers[numbers >= 0]).sum())
        return weight_of_wanted(found, int((numbers >= 0).sum()) - found) != self.weight

    def learn_all(self) -> None:
        """Bring the model up to date with all answers."""
        self.with_model(lambda learner: apply_changes(learner, label_changes(learner, self.agreed_labels())))

    def with_model(self, change: Callable[[OnlineLearner], None]) -> None:
        """Change the model; if it breaks, go on without: labels are safe, and questions are drawn at random."""
        if self.learner is None:
            return
        try:
            change(self.learner)
            _check_numbers(self.learner)
        except Exception as error:
            log.exception("the model of project %s broke", self.id)
            self.fallbacks += 1
            self.learner, self.broken = None, f"the model broke ({type(error).__name__}) and is being built again"

    def begin_model(self, x: Table) -> OnlineLearner:
        """A learner of the first items; a ValueError says what cannot be read."""
        nodes = self.classes.nodes()
        settings = learner_settings(self.model_settings())
        learner = OnlineLearner(settings, nodes.given, allocate=self.arrays.allocate, parents=nodes.parents)
        learner.add_items(x)
        return learner

    def open_items(self, annotator: str, time: float, skipped_until: int = 0) -> NDArray[np.bool_]:
        """A mask of the items this person may be asked about, with those that they skipped up to an event."""
        for lease in self.leases.expired(time):
            self.end_lease(lease)
        free = self._free.copy()
        free[self.ledger.answered(annotator)] = False
        if skipped_until:
            again = self.ledger.skipped(annotator, skipped_until)
            free[again] = self._free[again]
        free[[lease.item for lease in self.leases.of_annotator(annotator)]] = False
        return free


def _check_numbers(learner: OnlineLearner) -> None:
    if len(learner) and not learner.is_finite():
        raise FloatingPointError("the posterior holds numbers that are not finite")


def _checksum(before: "array[int]", key: str, batch: int, created_at: float) -> int:
    """A checksum of an item and all before it: rows are never changed, so it is as good as one of their features."""
    row = f"{before[-1] if before else 0} {batch} {created_at!r} {key}"
    return int.from_bytes(hashlib.blake2b(row.encode(), digest_size=8).digest())
