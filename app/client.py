"""A client of AskNext in one file that needs only httpx: use it from here, or copy it into your own code.

    with Client("http://127.0.0.1:8000", key) as client:
        project = client.create_project("pets", ["cat", "dog"]).id
        client.add_items(project, keys, features)  # lists, a numpy table or a scipy sparse matrix
        questions = client.query(project)
        while questions:
            questions = client.label(project, questions[0], ask_somebody(questions[0]), next=1).next

`AsyncClient` has the same methods, to be awaited; `export` and `labels` are iterated, with `async for` there.
Each method is written once, as a generator of requests and pauses; what it declares as `Steps[T]` comes back as T.
"""

import asyncio
import functools
import itertools
import json
import random
import tempfile
import time
import uuid
import zipfile
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, cast, overload
from urllib.parse import quote

import httpx

BODY = 4 * 2**20  # bytes of a request with many rows: half of what the service takes
ROWS = 10_000  # in one request
WIDEST = 1_000_000  # columns of a dense row
FIRST_PAUSE, LONGEST_BACKOFF, LONGEST_PAUSE = 0.25, 8.0, 30.0  # seconds
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
FORMATS = {"npz": "npz", "jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "zip": "zip", "ris": "ris"}  # by suffix
FORMATS |= dict.fromkeys(("svm", "svmlight", "libsvm"), "svmlight")

T = TypeVar("T")
P = ParamSpec("P")
Steps = Generator["_Request | float", Any, T]  # a float is a pause in seconds
Format = Literal["auto", "zip", "npz", "jsonl", "csv", "svmlight", "ris"]
Role = Literal["admin", "annotator", "reader"]


class AskNextError(Exception):
    """What the service said, or status 0 if no answer came; `id` finds the request in the log of the service."""

    def __init__(self, status: int, title: str, detail: str = "", id: str | None = None) -> None:  # noqa: A002
        super().__init__(f"{title}: {detail}" if detail else title)
        self.status, self.title, self.detail, self.id = status, title, detail, id


@dataclass(frozen=True)
class Project:
    """A project; the etag, where there is one, guards a change against those of others."""

    id: str
    name: str
    classes: list[str]
    settings: dict[str, Any]
    created_at: datetime
    parents: dict[str, str]  # what some classes are a kind of
    encoder: dict[str, Any] | None = None
    etag: str | None = None


@dataclass(frozen=True)
class Added:
    """What became of items."""

    added: int
    unchanged: int


@dataclass(frozen=True)
class Job:
    """How far work in the background is."""

    id: str
    kind: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    done: int
    total: int | None
    message: str | None
    result: dict[str, Any] | None


@dataclass(frozen=True)
class Question:
    """An item to label, and why; it is yours until the lease ends."""

    key: str
    data: dict[str, Any] | None
    score: float
    strategy: str
    explored: bool
    mean: dict[str, float]
    variance: float | None
    lease: str
    expires_at: datetime
    novelty: float | None = None  # how unlike everything labelled it is, from 0 to 1
    unlike: bool | None = None  # whether it is unlike anything so far; None where that cannot be said


@dataclass(frozen=True)
class Answer:
    """What somebody says of an item: a label, or another action."""

    key: str
    label: str | None = None
    action: Literal["label", "skip", "unsure", "retract", "comment"] = "label"
    note: str | None = None
    lease: str | None = None


@dataclass(frozen=True)
class Labelled:
    """What became of answers; `late` are keys whose lease had ended, `next` the questions asked for."""

    accepted: int
    late: list[str]
    model_version: int
    degraded: bool
    next: list[Question]


@dataclass(frozen=True)
class Prediction:
    """What the model thinks of a row."""

    label: str
    decision: str  # the class with the least expected distance in the tree of classes
    probabilities: dict[str, float]
    nodes: dict[str, float]  # probabilities of classes that others are a kind of
    mean: dict[str, float]
    variance: float
    novelty: float | None = None  # how unlike everything labelled it is, from 0 to 1
    unlike: bool | None = None  # whether it is unlike anything so far; None where that cannot be said


class Also(TypedDict, total=False):
    """What may come with an answer: a note, how many questions to ask next (or options of `query`), a key of yours."""

    note: str | None
    next: int | Mapping[str, Any]
    idempotency_key: str | None


@dataclass(frozen=True)
class _Request:
    method: str
    url: str
    content: bytes | Path | None = None
    params: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    stream: bool = False
    on_sent: Callable[[int], object] | None = None

    def build(self, http: Any, as_content: Callable[[Iterator[bytes]], Any]) -> httpx.Request:
        """For httpx; a file becomes what this kind of client can stream."""
        content = as_content(self._chunks(self.content)) if isinstance(self.content, Path) else self.content
        built = http.build_request(self.method, self.url, content=content, params=self.params, headers=self.headers)
        return cast(httpx.Request, built)

    def _chunks(self, file: Path) -> Iterator[bytes]:
        with file.open("rb") as opened:
            while chunk := opened.read(2**18):
                yield chunk
                if self.on_sent is not None:
                    self.on_sent(opened.tell())


class _Method(Generic[P, T]):
    """Steps as a method: of a Client one that does them, of an AsyncClient one to be awaited."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self._steps = steps

    @overload
    def __get__(self, client: "Client", owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncClient", owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: Any) -> Callable[Concatenate[Any, P], Steps[T]]: ...
    def __get__(self, client: Any, owner: Any) -> Any:
        steps = self._steps.__get__(client, owner)
        if client is None:
            return steps
        return functools.wraps(steps)(lambda *args, **options: client._run(steps(*args, **options)))


class _Methods:
    """What both clients can do.

    A lost connection is tried again where a repeat does no harm: what only reads, and answers, which carry an
    idempotency key. What the service refuses for now (429, 503) is tried again after the pause it asks for.
    """

    _connect: Any

    def __init__(self, url: str, key: str, *, timeout: float = 60.0, tries: int = 8, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._http: Any = self._connect(base_url=url, headers=headers, timeout=timeout, **options)
        self._tries = tries

    @_Method
    def create_project(
        self,
        name: str,
        classes: Sequence[str | Mapping[str, Any]] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> Steps[Project]:
        """Make a project; classes and settings can come later. A class is a name, or {"name": .., "parent": ..}."""
        body = {"name": name, "classes": list(classes), "settings": dict(settings or {})}
        return _project((yield from self._send("POST", "projects", body=body)))

    @_Method
    def list_projects(self) -> Steps[list[Project]]:
        """All projects that the key is good for."""
        return [_parsed(Project, entry) for entry in (yield from self._pages("projects"))]

    @_Method
    def project(self, project: str) -> Steps[Project]:
        """A project by its id."""
        return _project((yield from self._send("GET", "projects", project)))

    @_Method
    def change_project(
        self,
        project: str,
        *,
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        etag: str | None = None,
    ) -> Steps[Project]:
        """Change its name or some settings; with an etag only if nobody else did so since (else status 412)."""
        body, headers = {"name": name, "settings": dict(settings or {})}, {"If-Match": etag or "*"}
        answer = yield from self._send("PATCH", "projects", project, body=body, headers=headers, safe=etag is None)
        return _project(answer)

    @_Method
    def delete_project(self, project: str) -> Steps[None]:
        """Delete a project."""
        yield from self._send("DELETE", "projects", project)

    @_Method
    def add_class(self, project: str, name: str, parent: str | None = None) -> Steps[list[str]]:
        """Add a class, perhaps a kind of another; gives all of them."""
        body = {"name": name, "parent": parent}
        return list((yield from self._json("POST", "projects", project, "classes", body=body))["classes"])

    @_Method
    def move_class(self, project: str, name: str, parent: str | None) -> Steps[list[str]]:
        """Make a class a kind of another, or of none."""
        answer = yield from self._json("PATCH", "projects", project, "classes", name, body={"parent": parent})
        return list(answer["classes"])

    @_Method
    def rename_class(self, project: str, name: str, to: str) -> Steps[list[str]]:
        """Rename a class; its labels stay."""
        answer = yield from self._json("PATCH", "projects", project, "classes", name, body={"name": to})
        return list(answer["classes"])

    @_Method
    def merge_class(self, project: str, name: str, into: str) -> Steps[list[str]]:
        """Make the labels of a class those of another."""
        answer = yield from self._json("POST", "projects", project, "classes", name, "merge", body={"into": into})
        return list(answer["classes"])

    @_Method
    def add_items(
        self, project: str, keys: Sequence[str], features: Any, data: Sequence[Mapping[str, Any] | None] | None = None
    ) -> Steps[Added]:
        """Add an item for each row of a table: lists, a numpy array, a scipy matrix, {"indices", "values"}.

        Where the project has an encoder, rows may be texts, or cells by column.
        Many rows take several requests; if one fails, call it again: what is there already is not changed.
        """
        data = [None] * len(keys) if data is None else data
        n_rows = features.shape[0] if hasattr(features, "shape") else len(features)
        if not len(keys) == n_rows == len(data):
            raise ValueError(f"{len(keys)} keys, {n_rows} rows and {len(data)} data: there must be as many of each")
        rows = _rows(features, dense_first=True)
        items = ({"key": key, "data": shown} | _given(row) for key, row, shown in zip(keys, rows, data, strict=True))
        added = unchanged = 0
        for body in _bodies("items", items, {}):
            answer = yield from self._json("POST", "projects", project, "items", body=body, safe=True)
            added, unchanged = added + answer["added"], unchanged + answer["unchanged"]
        return Added(added, unchanged)

    @_Method
    def list_items(self, project: str) -> Steps[list[dict[str, Any]]]:
        """All items with their votes."""
        return (yield from self._pages("projects", project, "items"))

    @_Method
    def item(self, project: str, key: str) -> Steps[dict[str, Any]]:
        """An item and everything that was said of it."""
        return dict((yield from self._json("GET", "projects", project, "items", key)))

    @_Method
    def import_file(
        self,
        project: str,
        file: str | Path,
        *,
        format: Format | None = None,  # noqa: A002
        labels: bool = False,
        index_base: int = 1,
        on_sent: Callable[[int], object] | None = None,
    ) -> Steps[str]:
        """Upload a file of items, by its suffix or another format, and give the job that reads it.

        A folder of pictures or .txt files is sent as a zip. With `labels` those in the file count as yours; `on_sent`
        is told the bytes sent so far.
        """
        file = Path(file)
        kind = format or ("zip" if file.is_dir() else FORMATS.get(file.suffix[1:].lower()))
        if kind is None:
            raise ValueError(f"{file}: expected a name that ends in .{', .'.join(FORMATS)}, or a format")
        if file.is_dir() and kind not in ("zip", "auto"):
            raise ValueError(f"{file} is a directory, which is sent as zip, not as {kind}")
        with _as_file(file) as sent:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(sent.stat().st_size)}
            params = {"format": kind, "labels": labels, "index_base": index_base}
            sending = {"body": sent, "params": params, "headers": headers, "on_sent": on_sent}
            return str((yield from self._json("POST", "projects", project, "import", **sending))["job"])

    @_Method
    def list_jobs(self, project: str) -> Steps[list[Job]]:
        """All jobs of a project."""
        return [_parsed(Job, entry) for entry in (yield from self._pages("projects", project, "jobs"))]

    @_Method
    def job(self, project: str, job: str) -> Steps[Job]:
        """How far a job is."""
        return _parsed(Job, (yield from self._json("GET", "projects", project, "jobs", job)))

    @_Method
    def cancel_job(self, project: str, job: str) -> Steps[Job]:
        """Ask a job to end; what it has done stays."""
        return _parsed(Job, (yield from self._json("DELETE", "projects", project, "jobs", job)))

    @_Method
    def wait_for_job(self, project: str, job: str, on_progress: Callable[[Job], object] | None = None) -> Steps[Job]:
        """Wait until a job is done, and tell `on_progress` how far it is; raises AskNextError unless it succeeds."""
        pause = 0.05
        while True:
            now = yield from _Methods.job(self, project, job)
            if on_progress is not None:
                on_progress(now)
            if now.state == "done":
                return now
            if now.state in ("failed", "cancelled"):
                raise AskNextError(
                    0,
                    f"Job {job} has {'failed' if now.state == 'failed' else 'been cancelled'}",
                    now.message or "",
                    job,
                )
            yield pause
            pause = min(1.0, 1.3 * pause)

    @_Method
    def train(self, project: str, *, tune: bool = True) -> Steps[str]:
        """Train in the background; gives the job."""
        return str((yield from self._json("POST", "projects", project, "train", body={"tune": tune}, safe=True))["job"])

    @_Method
    def model(self, project: str) -> Steps[dict[str, Any]]:
        """The model: version, hyperparameters, progress, and advice on whether to go on."""
        return dict((yield from self._json("GET", "projects", project, "model")))

    @_Method
    def query(
        self,
        project: str,
        count: int = 1,
        *,
        strategy: str | None = None,
        variance: str | None = None,
        explore: float | None = None,
        seed: int | None = None,
        resume: bool = False,
        filter: Mapping[str, str | bool | int | float] | None = None,  # noqa: A002
        skipped_until: int = 0,
    ) -> Steps[list[Question]]:
        """Which items to label next; `resume` gives those that you hold already first, `filter` is by their data.

        Strategies variance, unc and unc+ may go by an upper bound of the `variance`: fapu, qfapu, rapu or qrapu.
        With `skipped_until` also what you skipped, up to the event of this sequence (`sequence` of the model).
        """
        body: dict[str, Any] = {"count": count, "strategy": strategy, "explore": explore, "seed": seed}
        body |= {"resume": resume, "filter": dict(filter or {}), "skipped_until": skipped_until}
        if variance is not None:
            body["variance"] = variance
        return _questions((yield from self._json("POST", "projects", project, "query", body=body, safe=resume)))

    @_Method
    def answer(
        self,
        project: str,
        answers: Sequence[Answer],
        next: int | Mapping[str, Any] = 0,  # noqa: A002
        idempotency_key: str | None = None,
    ) -> Steps[Labelled]:
        """Give several answers at once, all or none, and get the next questions."""
        asked = {"count": next} if isinstance(next, int) else dict(next)
        body = {"labels": [vars(answer) for answer in answers], "next": asked if next else None}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        answer = yield from self._json("POST", "projects", project, "labels", body=body, headers=headers, safe=True)
        return _parsed(Labelled, answer | {"next": _questions(answer)})

    @_Method
    def label(self, project: str, item: str | Question, label: str, **also: Unpack[Also]) -> Steps[Labelled]:
        """Label an item, and get the next questions from the model that has learnt it."""
        return (yield from self._act(project, item, "label", label, **also))

    @_Method
    def skip(self, project: str, item: str | Question, **also: Unpack[Also]) -> Steps[Labelled]:
        """Leave an item to others."""
        return (yield from self._act(project, item, "skip", **also))

    @_Method
    def unsure(self, project: str, item: str | Question, **also: Unpack[Also]) -> Steps[Labelled]:
        """Say that nobody can tell the class of an item; nobody is asked about it any more."""
        return (yield from self._act(project, item, "unsure", **also))

    @_Method
    def comment(self, project: str, item: str | Question, note: str) -> Steps[Labelled]:
        """Leave a note on an item."""
        return (yield from self._act(project, item, "comment", note=note))

    @_Method
    def retract(self, project: str, item: str | Question, **also: Unpack[Also]) -> Steps[Labelled]:
        """Withdraw your own answer on an item."""
        return (yield from self._act(project, item, "retract", **also))

    @_Method
    def withdraw(self, project: str, key: str) -> Steps[int]:
        """Withdraw your label of an item, or everybody's if you are an administrator without one; tells how many."""
        return int((yield from self._json("DELETE", "projects", project, "labels", key))["retracted"])

    @_Method
    def undo(self, project: str) -> Steps[list[Question]]:
        """Take your last answer back and get its item again; call it again to go further back."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        return _questions((yield from self._json("POST", "projects", project, "undo", headers=headers, safe=True)))

    @_Method
    def heartbeat(self, project: str, lease: str) -> Steps[datetime]:
        """Keep an item for longer; tells until when."""
        kept = yield from self._json("POST", "projects", project, "leases", lease, safe=True)
        return datetime.fromisoformat(kept["expires_at"])

    @_Method
    def release(self, project: str, lease: str) -> Steps[None]:
        """Give an item back without an answer."""
        yield from self._send("DELETE", "projects", project, "leases", lease)

    @_Method
    def predict(
        self,
        project: str,
        *,
        features: Any = None,
        keys: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        variance: str = "exact",
    ) -> Steps[list[Prediction]]:
        """A prediction for each row of features (as `add_items` takes them), each item by its key, or each text.

        Of rows and texts the variance may be an upper bound that costs less: fapu, qfapu, rapu or qrapu.
        """
        parts = {"features": features, "keys": keys, "texts": texts}
        given = {name: part for name, part in parts.items() if part is not None}
        if len(given) != 1:
            raise ValueError("give either features, keys or texts")
        ((name, rows),) = given.items()
        also = {} if variance == "exact" else {"variance": variance}
        bodies = _bodies(name, _rows(rows) if name == "features" else rows, also)
        found: list[Prediction] = []
        for body in bodies:
            answer = yield from self._json("POST", "projects", project, "predict", body=body, safe=True)
            found += [_parsed(Prediction, entry) for entry in answer["predictions"]]
        return found

    @_Method
    def predict_one(self, project: str, *, text: str | None = None, features: Any = None) -> Steps[tuple[str, float]]:
        """The likeliest class of one text or row, and how likely it is."""
        body = {"text": text} if text is not None else {"features": features}
        answer = yield from self._json("POST", "projects", project, "predict-one", body=body, safe=True)
        return str(answer["label"]), float(answer["score"])

    @_Method
    def link_label_studio(
        self,
        project: str,
        address: str | None = None,
        token: str | None = None,
        remote_project: int | None = None,
        top: int = 20,
    ) -> Steps[dict[str, Any]]:
        """Link a project to one of Label Studio's; the path for Label Studio is in the answer, this once."""
        body = {"address": address, "token": token, "remote_project": remote_project, "top": top}
        return dict((yield from self._json("POST", "projects", project, "label-studio", body=body)))

    @_Method
    def label_studio(self, project: str) -> Steps[dict[str, Any] | None]:
        """How the link to Label Studio goes, if there is one."""
        found: dict[str, Any] | None = (yield from self._json("GET", "projects", project, "label-studio"))["link"]
        return found

    @_Method
    def sync_label_studio(self, project: str) -> Steps[str]:
        """Bring everything that Label Studio has; returns the job."""
        return str((yield from self._json("POST", "projects", project, "label-studio", "sync", body={}))["job"])

    @_Method
    def unlink_label_studio(self, project: str) -> Steps[None]:
        """End the link; items and labels stay."""
        yield from self._send("DELETE", "projects", project, "label-studio")

    @_Method
    def medium(self, project: str, name: str) -> Steps[bytes]:
        """A picture by its name, or by the path that an item has for it."""
        found: bytes = (yield from self._send("GET", "projects", project, "media", name.rsplit("/", 1)[-1])).content
        return found

    @_Method
    def agreement(self, project: str) -> Steps[dict[str, Any]]:
        """How much people agree on items that several of them labelled."""
        return dict((yield from self._json("GET", "projects", project, "agreement")))

    @_Method
    def insights(self, project: str) -> Steps[dict[str, Any]]:
        """Learning curve, class counts, uncertainty of the pool, and advice on whether to go on."""
        return dict((yield from self._json("GET", "projects", project, "insights")))

    @_Method
    def map(self, project: str, limit: int = 2000) -> Steps[list[dict[str, Any]]]:
        """Items in the plane, near each other if the kernel takes them for alike."""
        return list((yield from self._json("GET", "projects", project, "map", params={"limit": limit}))["points"])

    @_Method
    def search(self, project: str) -> Steps[dict[str, Any]]:
        """What was found of the wanted class, what is left, and whether it is safe to stop; only with goal find."""
        return dict((yield from self._json("GET", "projects", project, "search")))

    @_Method
    def ranked(
        self,
        project: str,
        by: Literal["uncertain", "surprising", "disagreed", "unlike"] = "uncertain",
        limit: int = 50,
    ) -> Steps[list[dict[str, Any]]]:
        """Items worth a look, the most remarkable first."""
        params = {"by": by, "limit": limit}
        return list((yield from self._json("GET", "projects", project, "ranked", params=params))["items"])

    @_Method
    def events(
        self,
        project: str,
        *,
        annotator: str | None = None,
        kind: str | None = None,
        label: str | None = None,
        key: str | None = None,
    ) -> Steps[list[dict[str, Any]]]:
        """Everything that was said, the newest first; by the annotator's name, kind, label and item if wanted."""
        wanted = {"annotator": annotator, "kind": kind, "label": label, "key": key}
        filters = {name: value for name, value in wanted.items() if value is not None}
        return (yield from self._pages("projects", project, "events", **filters))

    @_Method
    def card(self, project: str) -> Steps[dict[str, Any]]:
        """The model card: how the model was made, by whom, how good it is, and what to be careful about."""
        return dict((yield from self._json("GET", "projects", project, "card")))

    @_Method
    def why(self, project: str, key: str) -> Steps[dict[str, Any]]:
        """What speaks for and against the predicted class of an item, by column."""
        return dict((yield from self._json("GET", "projects", project, "why", key)))

    @_Method
    def me(self) -> Steps[dict[str, Any]]:
        """Whose key it is, and what it is good for."""
        return dict((yield from self._json("GET", "me")))

    @_Method
    def list_keys(self) -> Steps[list[dict[str, Any]]]:
        """All keys, without their secrets."""
        return (yield from self._pages("keys"))

    @_Method
    def create_key(self, name: str, role: Role = "annotator", project: str | None = None) -> Steps[dict[str, Any]]:
        """Make a key, for one project or for all; its secret is in the answer under "key", this once."""
        return dict((yield from self._json("POST", "keys", body={"name": name, "role": role, "project": project})))

    @_Method
    def revoke_key(self, key_id: str) -> Steps[None]:
        """Make a key useless."""
        yield from self._send("DELETE", "keys", key_id)

    def _act(
        self,
        project: str,
        item: str | Question,
        action: Literal["label", "skip", "unsure", "retract", "comment"],
        label: str | None = None,
        note: str | None = None,
        **also: Any,
    ) -> Steps[Labelled]:
        key, lease = (item.key, item.lease) if isinstance(item, Question) else (item, None)
        return (yield from _Methods.answer(self, project, [Answer(key, label, action, note, lease)], **also))

    def _stream(self, *path: str, **params: Any) -> Steps[httpx.Response]:
        return (yield from self._send("GET", *path, params=params, stream=True))

    def _pages(self, *path: str, **filters: str) -> Steps[list[dict[str, Any]]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = yield from self._json("GET", *path, params={"cursor": cursor, "limit": 1000} | filters)
            found += page[path[-1]]
            cursor = page["next"]
        return found

    def _json(self, method: str, *path: str, **options: Any) -> Steps[Any]:
        response = yield from self._send(method, *path, **options)
        try:
            return response.json()
        except ValueError as error:
            raise AskNextError(response.status_code, "Not an answer of AskNext", str(response.url)) from error

    def _send(
        self, method: str, *path: str, body: Any = None, safe: bool = False, **options: Any
    ) -> Steps[httpx.Response]:
        """A request and its answer; tried again where that can help, and is `safe` if the first may have arrived."""
        content = body if isinstance(body, bytes | Path | None) else _encoded(body)
        request = _Request(method, _url(*path), content, **options)
        tried = 0
        while True:
            outcome: httpx.Response | httpx.RequestError = yield request
            tried += 1
            pause = random.uniform(0.5, 1.0) * min(LONGEST_BACKOFF, FIRST_PAUSE * 2 ** min(tried - 1, 10))
            if isinstance(outcome, httpx.RequestError):
                again = isinstance(outcome, LOST if safe or method == "GET" else NOT_SENT)
            elif outcome.is_success:
                return outcome
            else:
                again = outcome.status_code in (429, 503)
                asked = outcome.headers.get("Retry-After", "")
                pause = max(pause, float(asked) if asked.isdecimal() else 0.0)
            if not again or tried >= self._tries or pause > LONGEST_PAUSE:
                raise _error(outcome)
            yield pause


class Client(_Methods):
    """The service at `url`, by your key; close it, or use it in a with statement.

    A request is tried at most `tries` times. Further options are those of httpx.Client, such as verify and proxy.
    """

    _connect = httpx.Client

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def export(
        self,
        project: str,
        format: Literal["jsonl", "csv", "ris"] = "jsonl",  # noqa: A002
        history: bool = False,
        data: bool = False,
        excel: bool = False,
    ) -> Iterator[bytes]:
        """All labels, if wanted with the items' data, or with `history` everything that was said; pieces of a file.

        With `excel` csv begins with the mark by which Excel knows that it is UTF-8.
        """
        options = {"format": format, "history": history, "data": data, "excel": excel}
        yield from self._pieces(self._stream("projects", project, "labels", **options))

    def labels(self, project: str, *, history: bool = False, data: bool = False) -> Iterator[dict[str, Any]]:
        """All labels, with the items' data if wanted, or with `history` everything that was said, one by one."""
        lines = _Lines()
        for piece in self.export(project, history=history, data=data):
            yield from lines.read(piece)

    def export_predictions(
        self,
        project: str,
        format: Literal["jsonl", "csv"] = "jsonl",  # noqa: A002
        excel: bool = False,
    ) -> Iterator[bytes]:
        """Every item with its class: what people said, else what the model predicts; pieces of a file."""
        yield from self._pieces(self._stream("projects", project, "predictions", format=format, excel=excel))

    def predictions(self, project: str) -> Iterator[dict[str, Any]]:
        """Every item with its class: what people said, else what the model predicts; one by one."""
        lines = _Lines()
        for piece in self.export_predictions(project):
            yield from lines.read(piece)

    def _pieces(self, steps: Steps[httpx.Response]) -> Iterator[bytes]:
        with closing(self._run(steps)) as response, _reading():
            yield from response.iter_bytes()

    def _run(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(self._do(step))
        except StopIteration as end:
            return cast(T, end.value)

    def _do(self, step: _Request | float) -> httpx.Response | httpx.RequestError | None:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            response: httpx.Response = self._http.send(step.build(self._http, iter), stream=True)
            if not (step.stream and response.is_success):
                response.read()
        except httpx.RequestError as error:
            return error
        return response


class AsyncClient(_Methods):
    """As Client, but its methods are awaited; close it, or use it in an async with statement."""

    _connect = httpx.AsyncClient

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def export(
        self,
        project: str,
        format: Literal["jsonl", "csv", "ris"] = "jsonl",  # noqa: A002
        history: bool = False,
        data: bool = False,
        excel: bool = False,
    ) -> AsyncGenerator[bytes, None]:
        """All labels, if wanted with the items' data, or with `history` everything that was said; pieces of a file.

        With `excel` csv begins with the mark by which Excel knows that it is UTF-8.
        """
        options = {"format": format, "history": history, "data": data, "excel": excel}
        async with aclosing(self._pieces(self._stream("projects", project, "labels", **options))) as pieces:
            async for piece in pieces:
                yield piece

    async def labels(
        self, project: str, *, history: bool = False, data: bool = False
    ) -> AsyncGenerator[dict[str, Any], None]:
        """All labels, with the items' data if wanted, or with `history` everything that was said, one by one."""
        async with aclosing(self.export(project, history=history, data=data)) as pieces:
            async for entry in _entries(pieces):
                yield entry

    async def export_predictions(
        self,
        project: str,
        format: Literal["jsonl", "csv"] = "jsonl",  # noqa: A002
        excel: bool = False,
    ) -> AsyncGenerator[bytes, None]:
        """Every item with its class: what people said, else what the model predicts; pieces of a file."""
        steps = self._stream("projects", project, "predictions", format=format, excel=excel)
        async with aclosing(self._pieces(steps)) as pieces:
            async for piece in pieces:
                yield piece

    async def predictions(self, project: str) -> AsyncGenerator[dict[str, Any], None]:
        """Every item with its class: what people said, else what the model predicts; one by one."""
        async with aclosing(self.export_predictions(project)) as pieces:
            async for entry in _entries(pieces):
                yield entry

    async def _pieces(self, steps: Steps[httpx.Response]) -> AsyncGenerator[bytes, None]:
        async with aclosing(await self._run(steps)) as response:
            with _reading():
                async for piece in response.aiter_bytes():
                    yield piece

    async def _run(self, steps: Steps[T]) -> T:
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._do(step))
        except StopIteration as end:
            return cast(T, end.value)

    async def _do(self, step: _Request | float) -> httpx.Response | httpx.RequestError | None:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return None
        try:
            response: httpx.Response = await self._http.send(step.build(self._http, _in_threads), stream=True)
            if not (step.stream and response.is_success):
                await response.aread()
        except httpx.RequestError as error:
            return error
        return response


class _Lines:
    """JSON lines from pieces of a file; a line ends at a newline and at nothing else."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, piece: bytes) -> list[Any]:
        """The lines that end in this piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [json.loads(line) for line in lines]


async def _entries(pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    lines = _Lines()
    async for piece in pieces:
        for entry in lines.read(piece):
            yield entry


def _url(*path: str) -> str:
    """A path whose parts may hold anything, dots and slashes too.

    >>> _url("items", "../a b")
    '/v1/items/%2E%2E%2Fa%20b'
    """
    return "/v1/" + "/".join(quote(part, safe="").replace(".", "%2E") for part in path)


def _encoded(body: Any) -> bytes:
    """JSON; arrays and numbers of numpy as lists and plain numbers."""
    return json.dumps(body, default=_plain, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        raise TypeError(f"{type(value).__name__} cannot be sent as JSON")
    return value.tolist()


def _rows(table: Any, *, dense_first: bool = False) -> Iterator[Any]:
    """Rows to be sent; the first of a sparse table in full if wanted, which tells the service how many columns it has.

    >>> list(_rows([[0.5, 0.0], {"indices": [0], "values": [0.5]}]))
    [[0.5, 0.0], {'indices': [0], 'values': [0.5]}]
    """
    table = table.tocsr() if hasattr(table, "tocsr") else table
    if not hasattr(table, "indptr"):
        for row in table:
            yield from _rows(row) if hasattr(row, "tocsr") else [row]
        return
    if not getattr(table, "has_canonical_format", True):
        table = table.copy()
        table.sum_duplicates()
    for number, (start, stop) in enumerate(itertools.pairwise(table.indptr)):
        indices, values = table.indices[start:stop], table.data[start:stop]
        if dense_first and number == 0 and table.shape[-1] <= WIDEST:
            known = dict(zip(indices, values, strict=True))
            yield [known.get(column, 0.0) for column in range(table.shape[-1])]
        else:
            yield {"indices": indices, "values": values}


def _given(row: Any) -> dict[str, Any]:
    """Under the name that the service has for it."""
    raw = isinstance(row, Mapping) and set(row) != {"indices", "values"}
    return {"text" if isinstance(row, str) else "row" if raw else "features": row}


@contextmanager
def _as_file(source: Path) -> Iterator[Path]:
    """The file itself, or a zip of a folder that is there for as long as it is needed."""
    if not source.is_dir():
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "folder.zip"
        with zipfile.ZipFile(packed, "w") as archive:
            for file in sorted(source.rglob("*")):
                if file.is_file():
                    archive.write(file, file.relative_to(source).as_posix())
        yield packed


def _bodies(name: str, entries: Iterable[Any], also: Mapping[str, str]) -> Iterator[bytes]:
    """JSON objects with one list, as many as it takes for each to be small enough, and what all of them have."""
    part: list[bytes] = []
    head = b"".join(b"%s:%s," % (_encoded(key), _encoded(value)) for key, value in also.items())
    size = 0
    for entry in itertools.chain(map(_encoded, entries), [b""]):  # an empty one tells the end
        if part and (not entry or len(part) == ROWS or size + len(entry) > BODY):
            yield b'{%s"%s":[%s]}' % (head, name.encode(), b",".join(part))
            part, size = [], 0
        part.append(entry)
        size += len(entry) + 1


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk


def _parsed(kind: type[T], entry: Mapping[str, Any]) -> T:
    """A result from JSON, whatever else newer services may tell."""
    known = {one.name: entry[one.name] for one in fields(kind) if one.name in entry}  # type: ignore[arg-type]
    return kind(**known | {name: datetime.fromisoformat(known[name]) for name in known if name.endswith("_at")})


def _project(response: httpx.Response) -> Project:
    return _parsed(Project, response.json() | {"etag": response.headers.get("ETag")})


def _questions(answer: Mapping[str, Any]) -> list[Question]:
    leases = ({"lease": item["lease"]["id"], "expires_at": item["lease"]["expires_at"]} for item in answer["items"])
    return [_parsed(Question, item | lease) for item, lease in zip(answer["items"], leases, strict=True)]


def _error(outcome: httpx.Response | httpx.RequestError) -> AskNextError:
    if isinstance(outcome, httpx.RequestError):
        error = AskNextError(0, "No answer", str(outcome) or type(outcome).__name__)
        error.__cause__ = outcome
        return error
    try:
        problem = outcome.json()
        return AskNextError(outcome.status_code, problem["title"], problem["detail"], problem["id"])
    except (ValueError, LookupError, TypeError):  # from something on the way to the service
        return AskNextError(outcome.status_code, outcome.reason_phrase or "Error", outcome.text[:200])


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except httpx.RequestError as error:
        raise _error(error) from error
