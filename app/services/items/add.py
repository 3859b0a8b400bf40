"""Items: how they come into a project."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sqlalchemy import Connection

from app.db import items, projects
from app.services.items import features
from app.services.problems import Conflict, Invalid
from app.services.project.state import Project
from app.services.runtime.clock import now
from app.services.runtime.writer import Task
from core import OnlineLearner
from core._types import Table

MAX_COLUMNS = 10_000_000


@dataclass(frozen=True)
class NewItem:
    """An item as it is stored."""

    key: str
    features: bytes
    data: dict[str, Any] | None = None
    numbered: bool = False  # whether the key is the number of a row, which has no name of its own


@dataclass
class AddItems(Task):
    """Store items; those with a known key and the same features change nothing.

    A numbered row whose number is another item's key is a new item, with a key that its content adds to. The answer
    has all keys in the order of `new`.
    The model learns of them at once, unless `teach` leaves that to a training that follows.
    """

    project: Project
    new: Sequence[NewItem]
    width: int | None  # columns, where the caller knows
    teach: bool = True
    skip_others: bool = False  # leave out what has a known key and other features, instead of refusing everything
    _added: list[NewItem] = field(default_factory=list)
    _needed: int = 0  # columns
    _begun: OnlineLearner | None = None
    _begun_with: int = 0  # items
    _first: int = 0  # number of the first that is added

    def prepare(self) -> None:
        """Check that the model can read the new items: nothing else is stored."""
        known = self.project.item_numbers
        new = [item for item in self.new if item.numbered or item.key not in known]
        if new:
            self._needed = max(features.n_columns(item.features for item in new), self.width or 0)
            self._check_readable(new, self._checked_width())

    def record(self, connection: Connection) -> None:
        """All items or none."""
        project = self.project
        known = self._name_anew(connection)
        fresh: dict[str, NewItem] = {}
        others: list[str] = []
        for place, item in enumerate(self.new):
            twin = fresh[item.key].features if item.key in fresh else getattr(known.get(item.key), "features", None)
            if twin is None:
                fresh[item.key] = item
            elif self._is_same(bytes(twin), item.features):
                continue
            elif self.skip_others:
                others.append(item.key)
            else:
                raise Conflict(f"entry {place}: there is already an item with this key and other features")
        self._added = list(fresh.values())
        if self._added:
            project.budgets.check_items(len(project.keys) + len(self._added))
            width = self._checked_width()
            if project.width is None:
                projects.set_width(connection, project.id, width)
                project.width = width
            self._store(connection)
        unchanged = len(self.new) - len(self._added) - len(others)
        keys = [item.key for item in self.new]
        self.answer = {"added": len(self._added), "unchanged": unchanged, "others": others, "keys": keys}

    def learn(self) -> None:
        """Add the items to the model."""
        if not (self._added and self.teach):
            return
        project = self.project
        table = _table(self._added, project.width or 1)
        if self._begun is not None and self._first == 0:
            is_whole = self._begun_with == len(self._added)
            project.learner = self._begun if is_whole else project.begin_model(table)
            project.made_with = project.model_settings()
        else:
            project.with_model(lambda learner: self._append(learner, table))

    def _name_anew(self, connection: Connection) -> dict[str, Any]:
        """Items that are there under the keys of the new ones, once numbers that are taken are none of these."""
        known = items.with_keys(connection, self.project.id, [item.key for item in self.new])
        new = [
            named_by_content(item, exact=not self._embedded) if self._is_taken(item, known.get(item.key)) else item
            for item in self.new
        ]
        keys = [after.key for before, after in zip(self.new, new, strict=True) if after is not before]
        self.new = new
        return known | items.with_keys(connection, self.project.id, keys)

    @property
    def _embedded(self) -> bool:
        """Whether a pretrained model has a part in the features: their last digits then differ from time to time."""
        return self.project.encoder is not None and self.project.encoder.needs_model

    def _is_same(self, one: bytes, other: bytes) -> bool:
        return features.close(one, other) if self._embedded else one == other

    def _is_taken(self, item: NewItem, twin: Any) -> bool:
        """Whether the number of a row is the key of another item."""
        other = twin is not None and not (self._is_same(bytes(twin.features), item.features) and twin.data == item.data)
        return item.numbered and other

    def _append(self, learner: OnlineLearner, table: Table) -> None:
        if len(learner) == self._first:  # else they come in with the training that brings those before them
            learner.add_items(table)

    def _checked_width(self) -> int:
        project, needed = self.project, self._needed
        width: int = project.width or project.settings.columns or max(needed, 1)
        if project.width is None:
            project.budgets.check_columns(max(width, needed))
        if needed < width and self.width is not None:
            raise Invalid(f"rows have {self.width} columns, but the items of this project have {width}")
        if needed > width:
            raise Invalid(
                f"an item has {needed} columns, but those of this project have {width}; set columns when you "
                "create a project whose first items may not fill all of them"
            )
        return width

    def _check_readable(self, new: Sequence[NewItem], width: int) -> None:
        project, table = self.project, _table(new, width)
        try:
            if self.teach and not project.keys:
                self._begun, self._begun_with = project.begin_model(table), len(new)
            elif self.teach and project.learner is not None and len(project.learner) == len(project.keys):
                project.learner.check_items(table)
            else:  # no model to ask: if the most extreme rows can be read, so can the others
                project.begin_model(self._without_empty_columns(extremes(table)))
        except ValueError as error:
            if not (
                project.keys and project.model_settings()["kernel"] == "auto" and self._needs_another_kernel(table)
            ):
                raise Invalid(f"these items cannot be used: {error}") from error
            self.teach = False

    def _without_empty_columns(self, table: Table) -> Table:
        """They cost a model time and tell it nothing, unless an encoder has made groups of columns."""
        if self.project.encoder is not None:
            return table
        filled = np.unique(table.nonzero()[1])
        return table[:, filled if len(filled) else [0]]

    def _needs_another_kernel(self, table: Table) -> bool:
        """Whether a model with another kernel could read them: the next training chooses one for all items."""
        try:
            self.project.begin_model(table)
        except ValueError:
            return False
        return True

    def _store(self, connection: Connection) -> None:
        project = self.project
        batch = project.batches[-1] + 1 if project.batches else 0
        rows, self._first = [], len(project.keys)
        for item in self._added:
            created_at = now()
            number = project.add_key(item.key, batch, created_at)
            rows.append(
                {
                    "project_id": project.id,
                    "number": number,
                    "key": item.key,
                    "batch": batch,
                    "features": item.features,
                    "data": item.data,
                    "created_at": created_at,
                }
            )
        items.add(connection, rows)
        project.free_new_items()


def _table(new: Sequence[NewItem], width: int) -> Table:
    return features.table([item.features for item in new], width)


def named_by_content(item: NewItem, *, exact: bool = True) -> NewItem:
    """A numbered row with a key that no other content has: the same row of the same file has it again.

    Features that are not `exact` do not count; what they were made of is in the data.

    >>> named_by_content(NewItem("row-1", b"", {"text": "hello"}, numbered=True)).key
    'row-1-fe63cf93'
    """
    content = (item.features if exact else b"") + json.dumps(item.data, sort_keys=True).encode()
    return replace(item, key=f"{item.key}-{hashlib.sha256(content).hexdigest()[:8]}")


def extremes(table: Table) -> Table:
    """The rows with the largest and the smallest numbers.

    >>> extremes(np.array([[1.0, 2.0], [0.0, 3.0], [5.0, -1.0], [2.0, 2.0]])).tolist()
    [[5.0, -1.0]]
    """
    largest, smallest = abs(table).max(axis=1), table.min(axis=1)
    columns = [part.toarray().ravel() if sp.issparse(part) else np.ravel(part) for part in (largest, smallest)]
    return table[sorted({int(columns[0].argmax()), int(columns[1].argmin())})]


def sparse_row(indices: Sequence[int], values: Sequence[float]) -> bytes:
    """Checked sparse features."""
    if len(indices) != len(values):
        raise Invalid(
            f"there must be as many values as indices; there are {len(values)} values and {len(indices)} indices"
        )
    places = np.asarray(indices, dtype=np.int64)
    if len(places) and (places.min() < 0 or places.max() >= MAX_COLUMNS or len(np.unique(places)) < len(places)):
        raise Invalid(f"indices must be different whole numbers from 0 to {MAX_COLUMNS - 1}")
    return features.encode(places, np.asarray(values, dtype=np.float64))


def dense_row(values: Sequence[float]) -> bytes:
    """Checked dense features."""
    return features.encode(np.arange(len(values)), np.asarray(values, dtype=np.float64))
