"""Tasks of Label Studio as items: held already, or encoded from the text or picture that the task shows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.db import label_studio as rows
from app.db.database import Database
from app.encoders import Raw
from app.encoders.guess import Guess
from app.label_studio.label_config import LabelConfig
from app.services.imports.archives import PICTURES
from app.services.imports.raw_items import PORTION, Broken, RawItem, RawPortion, checked_item
from app.services.imports.raw_run import RawImport
from app.services.imports.tables import MAX_TEXT_CHARACTERS
from app.services.items import features
from app.services.items.add import AddItems, NewItem
from app.services.items.encoder import encode_here
from app.services.items.media import Media
from app.services.registry.running import Running
from app.services.runtime.jobs import Progress

FEW = 50  # tasks that are encoded at once, in this process
MIN_TASKS = 20  # tasks that an encoder is learnt from, where it is not known that there are no more
NO_FEATURES = "there is no item with the key of this task, and the project has no encoder to make one"

Fetch = Callable[[str, Path], None]
"""Stores a file of a task; a ValueError says why it cannot."""


def refuse_to_fetch(_: str, __: Path) -> None:
    """The fetch of a link that has no address and no token."""
    raise ValueError("pictures need the address of Label Studio and a token: run asknext label-studio connect")


@dataclass(frozen=True)
class WaitingTask:
    """A task that has no item yet."""

    number: int
    data: dict[str, Any]

    @property
    def own_key(self) -> str | None:
        """The key that the task names itself, for items that are there already."""
        key = self.data.get("key")
        return key if isinstance(key, str) else None

    @property
    def key(self) -> str:
        """The key that its item gets."""
        return f"task-{self.number}"


class TaskSource:
    """Tasks as raw items; pictures are fetched a portion at a time."""

    def __init__(self, tasks: Sequence[WaitingTask], config: LabelConfig, folder: Path, fetch: Fetch) -> None:
        if config.kind is None:
            raise ValueError(NO_FEATURES)
        self._tasks, self._config, self._folder, self._fetch = tasks, config, folder, fetch
        self.guess = Guess(config.kind, f"tasks of Label Studio show <{config.tag}>", (config.field,))
        self.total = len(tasks)
        self.labels: list[str] = []
        self.problems: dict[str, str] = {}  # by key

    def sample(self, most: int) -> list[Raw]:
        """Tasks at equal distances."""
        step = max(1, -(-self.total // most))
        return [item.raw for item in self.read(self._tasks[::step]).items]

    def portions(self) -> Iterator[RawPortion]:
        """Items in the order of their tasks; files of a portion are gone when the next one comes."""
        tasks = iter(self._tasks)
        while part := list(islice(tasks, PICTURES if self.guess.kind == "image" else PORTION)):
            portion = self.read(part)
            yield portion
            for item in portion.items:
                if isinstance(item.raw, Path):
                    item.raw.unlink(missing_ok=True)

    def read(self, tasks: Sequence[WaitingTask]) -> RawPortion:
        """What their texts and pictures are, and which ones have none."""
        found: list[RawItem] = []
        broken: list[Broken] = []
        for task in tasks:
            try:
                item = checked_item(self._item(task))
            except ValueError as error:
                item = Broken(task.key, str(error))
            if isinstance(item, RawItem):
                found.append(item)
            else:
                self.problems[task.key] = item.reason
                broken.append(item)
        return RawPortion(found, broken)

    def _item(self, task: WaitingTask) -> RawItem:
        value, data = task.data.get(self._config.field), dict(task.data)
        data.pop(self._config.field, None)
        if not isinstance(value, str) or not value:
            raise ValueError(f"the task has no {self.guess.kind} in its field {self._config.field[:100]}")
        if self.guess.kind == "text":
            if len(value) > MAX_TEXT_CHARACTERS:
                raise ValueError(f"longer than {MAX_TEXT_CHARACTERS} characters")
            return RawItem(task.key, value, data | {"text": value})
        file = self._folder / str(task.number)
        self._fetch(value, file)
        data.pop("image", None)  # where the page looks for ours
        return RawItem(task.key, file, data | {"file": value.partition("?")[0].rsplit("/", 1)[-1]})


@dataclass(frozen=True)
class Intake:
    """What turns tasks into items of a project."""

    running: Running
    media: Media
    folder: Path  # for files on their way
    config: LabelConfig
    fetch: Fetch

    def add(self, waiting: Sequence[WaitingTask], progress: Progress, *, are_all: bool) -> int:
        """Find or make the item of each task, and write down which it is; returns how many were handled.

        An encoder is learnt from all tasks, or from so many that it does not matter; until then they wait.
        """
        project = self.running.project
        new = [task for task in waiting if self._held(task) is None]
        if project.settings.encoder == "none" or self.config.kind is None:
            return self._store_outcome(waiting, {task.key: NO_FEATURES for task in new})
        if project.encoder is None and not are_all and len(new) < MIN_TASKS:
            return self._store_outcome([task for task in waiting if task not in new], {})
        if not new:
            return self._store_outcome(waiting, {})
        self.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="label-studio.", dir=self.folder) as folder:
            source = TaskSource(new, self.config, Path(folder), self.fetch)
            problems = (
                self._encode_here(source, new) if self._are_few(new) else self._encode_in_process(source, progress)
            )
        return self._store_outcome(waiting, source.problems | problems)

    def _are_few(self, new: Sequence[WaitingTask]) -> bool:
        return self.running.project.encoder is not None and len(new) <= FEW

    def _held(self, task: WaitingTask) -> int | None:
        """The item of this task, if the project has it: the one that its data names, or the one made of it before."""
        numbers = self.running.project.item_numbers
        return numbers.get(task.own_key) if task.own_key is not None else None

    def _encode_here(self, source: TaskSource, new: Sequence[WaitingTask]) -> dict[str, str]:
        """Encode in this process; the model learns of the items in the same turn."""
        project = self.running.project
        portion = source.read(new)
        if not portion.items:
            return {}
        if source.guess.kind == "image":
            self.media.open(project.id)
        encoded = encode_here(project, [item.raw for item in portion.items])
        good = [portion.items[place] for place in encoded.good]
        blobs = features.blobs(encoded.table)
        items = [NewItem(one.name, blob, self._data(one)) for one, blob in zip(good, blobs, strict=True)]
        answer = self.running.writer.do(AddItems(project, items, project.width, skip_others=True)) if items else {}
        return {portion.items[place].name: reason for place, reason in encoded.broken.items()} | _others(
            answer.get("others", [])
        )

    def _data(self, item: RawItem) -> dict[str, Any] | None:
        if not isinstance(item.raw, Path):
            return item.data
        project_id = self.running.project.id
        name = self.media.put(project_id, item.raw)
        return {"image": f"/v1/projects/{project_id}/media/{name}"} | (item.data or {})

    def _encode_in_process(self, source: TaskSource, progress: Progress) -> dict[str, str]:
        """Encode in a process of its own, as files are imported; then the model is built once."""
        running, n_items = self.running, len(self.running.project.keys)
        with running.importing():
            try:
                result = RawImport(running, self.media, None, progress).add(source)
            finally:
                if len(running.project.keys) > n_items:
                    running.train(progress, tune=False)
        return {entry["name"]: entry["reason"] for entry in result["broken"]}

    def _store_outcome(self, waiting: Sequence[WaitingTask], problems: dict[str, str]) -> int:
        project = self.running.project
        with project.database.write() as connection:
            for task in waiting:
                held = self._held(task)
                item = held if held is not None else project.item_numbers.get(task.key)
                problem = problems.get(task.key)
                if problem is not None:
                    rows.set_task_outcome(connection, project.id, task.number, item=None, problem=problem)
                elif item is not None:
                    rows.set_task_outcome(connection, project.id, task.number, item=item, problem=None)
                else:
                    unread = "it could not be read; a sync tries again"
                    rows.set_task_outcome(connection, project.id, task.number, item=None, problem=unread)
        return len(waiting)


def waiting_tasks(database: Database, project_id: str, limit: int) -> list[WaitingTask]:
    """Tasks without items, but for broken ones."""
    with database.read() as connection:
        found = rows.waiting_tasks(connection, project_id, limit)
    return [WaitingTask(row.task, row.data or {}) for row in found]


def _others(names: Sequence[str]) -> dict[str, str]:
    return dict.fromkeys(names, "an item with this key and other content is there already")
