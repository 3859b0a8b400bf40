import asyncio
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
import scipy.sparse as sp

from app import client as module
from app.client import Added, Answer, AskNextError, AsyncClient, Client
from app.db.database import DatabaseUnavailable
from app.services.labelling import questions
from tests.app.live import ADMIN

X = np.random.default_rng(0).random((40, 4)).round(3)
KEYS = [f"k{i}" for i in range(len(X))]
SETTINGS = {"kernel": "hik", "retrain": "off", "explore": 0.0}
ODD_KEYS = [".", "..", "a/../b", "a/b/", "50%2Fa", "a?b#c&d", "\u2028\x85\x0cü", " "]


@pytest.fixture
def address(site):
    return str(site.http.base_url)


@pytest.fixture
def client(address):
    with Client(address, ADMIN) as one:
        yield one


@pytest.fixture
def project(client):
    return made(client)


@pytest.fixture
def pauses(monkeypatch):
    """Pauses that would have been made."""
    made = []
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=made.append))
    return made


def made(client, **settings):
    """A project with items."""
    found = client.create_project(uuid.uuid4().hex, ["left", "right"], SETTINGS | settings).id
    assert client.add_items(found, KEYS, X) == Added(len(X), 0)
    return found


def truth(question):
    return "left" if X[int(question.key[1:]), 0] > 0.5 else "right"


class Flaky(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A network with plans for the first requests: to lose the answer, to refuse, to answer something else."""

    def __init__(self, *plans):
        self.plans, self.requests = list(plans), []
        self._real, self._async_real = httpx.HTTPTransport(), httpx.AsyncHTTPTransport()

    def handle_request(self, request):
        plan = self._plan(request)
        if isinstance(plan, httpx.ConnectError | httpx.Response):
            return self._without_server(plan)
        response = self._real.handle_request(request)
        if plan is None:
            return response
        response.read()  # the server has done it
        response.close()
        raise plan

    async def handle_async_request(self, request):
        plan = self._plan(request)
        if isinstance(plan, httpx.ConnectError | httpx.Response):
            return self._without_server(plan)
        response = await self._async_real.handle_async_request(request)
        if plan is None:
            return response
        await response.aread()
        await response.aclose()
        raise plan

    def close(self):
        self._real.close()

    async def aclose(self):
        await self._async_real.aclose()

    def _plan(self, request):
        self.requests.append(request)
        return self.plans.pop(0) if self.plans else None

    def _without_server(self, plan):
        if isinstance(plan, httpx.Response):
            return plan
        raise plan


def lost():
    return httpx.ReadError("the answer was lost")


def refused(status, **headers):
    return httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_projects_and_classes(client):
    name = uuid.uuid4().hex
    project = client.create_project(name, ["left"], SETTINGS)
    assert project.id in [one.id for one in client.list_projects()]
    assert client.project(project.id) == project
    changed = client.change_project(project.id, settings={"overlap": 2}, etag=project.etag)
    assert (changed.name, changed.settings["overlap"]) == (name, 2)
    with pytest.raises(AskNextError, match="Changed in the meantime") as error:
        client.change_project(project.id, name="other", etag=project.etag)
    assert error.value.status == 412
    assert client.change_project(project.id, name="new", settings={"overlap": 1}).name == "new"
    p = project.id

    assert client.add_class(p, "wrong/../right") == ["left", "wrong/../right"]
    assert client.add_class(p, "a/merge") == ["left", "wrong/../right", "a/merge"]
    assert client.rename_class(p, "wrong/../right", "right") == ["left", "right", "a/merge"]
    assert client.merge_class(p, "a/merge", "right") == ["left", "right"]
    client.change_project(p, settings={"likelihood": "softmax"})
    assert client.add_class(p, "far left", "left") == ["left", "right", "far left"]
    client.move_class(p, "right", "far left")
    assert client.project(p).parents == {"far left": "left", "right": "far left"}
    client.delete_project(p)
    with pytest.raises(AskNextError) as error:
        client.project(p)
    assert (error.value.status, error.value.title) == (404, "Not found")


def test_a_project_from_items_to_labels(client):
    p = client.create_project("walk", ["left", "right"], SETTINGS).id
    data = [{"side": "l" if x[0] > 0.5 else "r"} for x in X]
    assert client.add_items(p, KEYS, X, data) == Added(len(X), 0)
    assert client.add_items(p, KEYS, X.tolist(), data) == Added(0, len(X))
    assert [item["key"] for item in client.list_items(p)] == KEYS

    (question,) = client.query(p, strategy="unc", filter={"side": "l"}, seed=1)
    assert truth(question) == "left"
    assert question.data == {"side": "l"}
    assert client.query(p, resume=True)[0].lease == question.lease
    assert client.heartbeat(p, question.lease) >= question.expires_at
    for _ in range(12):
        answer = client.label(p, question, truth(question), note="sure", next=1)
        assert (answer.accepted, answer.late) == (1, [])
        (question,) = answer.next
    client.release(p, question.lease)
    assert client.label(p, question, truth(question)).late == [question.key]

    first, second, third = client.query(p, 3)
    assert len(client.skip(p, first, next={"count": 2, "strategy": "random"}).next) == 2
    client.unsure(p, second.key, note="dark")
    client.comment(p, third, "nice")
    assert client.undo(p)[0].key == second.key
    client.answer(p, [Answer(first.key, "left"), Answer(second.key, "right")])
    client.retract(p, first.key)
    assert client.withdraw(p, second.key) == 1
    said = [(event["kind"], event["note"]) for event in client.item(p, second.key)["history"]]
    assert said == [("unsure", "dark"), ("retract", None), ("label", None), ("retract", None)]
    assert client.item(p, third.key)["history"][0]["note"] == "nice"

    seen = []
    job = client.wait_for_job(p, client.train(p, tune=False), seen.append)
    assert job.result["items"] == len(X)
    assert seen[-1] == job == client.job(p, job.id)
    assert [one.id for one in client.list_jobs(p)] == [job.id]
    with pytest.raises(AskNextError, match="already ended"):
        client.cancel_job(p, job.id)
    assert client.model(p)["labelled"] == 13
    by_key, by_row = client.predict(p, keys=KEYS[:5]), client.predict(p, features=X[:5])
    assert [one.label for one in by_key] == [one.label for one in by_row]
    assert by_key[0].variance == pytest.approx(by_row[0].variance)
    assert sum(by_key[0].probabilities.values()) == pytest.approx(1.0)

    labels = list(client.labels(p))
    assert len(labels) == 13
    assert {entry["label"] for entry in labels} == {"left", "right"}
    assert Counter(entry["kind"] for entry in client.labels(p, history=True))["label"] == 15
    assert b"".join(client.export(p, "csv", excel=True)).startswith("\ufeffkey,label,".encode())
    predicted = list(client.predictions(p))
    assert Counter(entry["by"] for entry in predicted) == {"person": 13, "model": len(X) - 13}
    assert b"".join(client.export_predictions(p, "csv")).count(b"\r\n") == len(X) + 1
    assert client.agreement(p)["items"] == 0
    assert [entry["data"] for entry in client.labels(p, data=True)] == [data[int(e["key"][1:])] for e in labels]


def test_looking(client, project):
    client.answer(
        project, [Answer(key, "left" if x[0] > 0.5 else "right") for key, x in zip(KEYS[:12], X, strict=False)]
    )
    client.label(project, "k0", "left")
    assert sum(count["labelled"] for count in client.insights(project)["classes"].values()) == 12
    assert len(client.map(project)) == len(X)
    assert len(client.map(project, 7)) == 7
    assert len(client.ranked(project, limit=3)) == 3
    assert {item["key"] for item in client.ranked(project, "surprising")} == set(KEYS[:12])
    assert client.ranked(project, "disagreed") == []
    assert len(client.ranked(project, "unlike", 3)) == 3
    assert len(client.events(project)) == 13
    assert client.events(project, key="k0", label="left")[0]["kind"] == "relabel"
    assert client.events(project, annotator="nobody") == client.events(project, kind="skip") == []
    assert client.card(project)["labelled"] == 12
    assert client.why(project, "k20")["label"] == client.predict(project, keys=["k20"])[0].label


def test_variances_and_novelty(client, project):
    client.answer(
        project, [Answer(key, "left" if x[0] > 0.5 else "right") for key, x in zip(KEYS[:12], X, strict=False)]
    )
    by_key, by_row = client.predict(project, keys=KEYS[:5]), client.predict(project, features=X[:5])
    bounds = client.predict(project, features=X[:5], variance="fapu")
    for key, row, bound in zip(by_key, by_row, bounds, strict=True):
        assert key.novelty == pytest.approx(row.novelty)
        assert (key.unlike, bound.novelty) == (None, None)  # there are few labels; a bound tells nothing of novelty
        assert bound.variance >= row.variance - 1e-9
    asked = client.query(project, strategy="unc+", variance="rapu")[0]
    assert asked.strategy == "unc+"
    assert 0.0 <= asked.novelty <= 1.0


def test_the_same_awaited(address, tmp_path):
    np.savez(tmp_path / "more.npz", X=X + 0.1, keys=[f"more{i}" for i in range(len(X))])

    async def walk():
        async with AsyncClient(address, ADMIN) as client:
            p = (await client.create_project("async", ["left", "right"], SETTINGS)).id
            await client.add_items(p, KEYS, sp.csr_matrix(X))
            sent = []
            job = await client.import_file(p, tmp_path / "more.npz", on_sent=sent.append)
            assert (await client.wait_for_job(p, job)).result["added"] == len(X)
            assert sent == [(tmp_path / "more.npz").stat().st_size]
            several = await asyncio.gather(*(client.query(p) for _ in range(5)))
            assert len({question.key for (question,) in several}) == 5
            await asyncio.gather(*(client.label(p, question, "left") for (question,) in several))
            assert [entry["label"] async for entry in client.labels(p)] == ["left"] * 5
            assert b"".join([piece async for piece in client.export(p, "csv")]).count(b"\n") == 6
            assert len([entry async for entry in client.predictions(p)]) == 2 * len(X)
            assert b"".join([piece async for piece in client.export_predictions(p, "csv")]).startswith(b"key,label,by")
            with pytest.raises(AskNextError, match="no such project"):
                [_ async for _ in client.labels("none")]
            assert [entry["data"] async for entry in client.labels(p, data=True)] == [None] * 5
            assert len(await client.events(p, kind="label")) == 5
            assert len(await client.map(p)) == 2 * len(X)
            async for _ in client.labels(p):
                break  # leaves nothing open

    asyncio.run(walk())


@pytest.mark.parametrize("failures", [1, 3])
def test_a_label_whose_answer_is_lost_counts_once(address, client, project, pauses, failures):
    network = Flaky(*[lost() for _ in range(failures)])
    with Client(address, ADMIN, transport=network) as unlucky:
        answer = unlucky.label(project, "k0", "left", next=1)
    assert answer.accepted == 1
    assert len(answer.next) == 1
    assert len(network.requests) == failures + 1
    assert len({request.headers["Idempotency-Key"] for request in network.requests}) == 1
    assert [event["kind"] for event in client.item(project, "k0")["history"]] == ["label"]
    assert client.query(project, resume=True)[0].lease == answer.next[0].lease
    assert all(0.5 <= pause / (0.25 * 2**i) <= 1.0 for i, pause in enumerate(pauses))


def test_a_label_whose_answer_is_lost_counts_once_awaited(address, client, project):
    network = Flaky(lost(), httpx.ReadTimeout("too late"))

    async def label():
        async with AsyncClient(address, ADMIN, transport=network) as unlucky:
            return await unlucky.label(project, "k0", "left", idempotency_key="mine")

    assert asyncio.run(label()).accepted == 1
    assert [request.headers["Idempotency-Key"] for request in network.requests] == ["mine"] * 3
    assert [event["kind"] for event in client.item(project, "k0")["history"]] == ["label"]


def test_every_call_has_an_idempotency_key_of_its_own(address, project):
    network = Flaky()
    with Client(address, ADMIN, transport=network) as client:
        client.label(project, "k0", "left")
        client.label(project, "k0", "left")
        assert [event["kind"] for event in client.item(project, "k0")["history"]] == ["label", "relabel"]
    assert network.requests[0].headers["Idempotency-Key"] != network.requests[1].headers["Idempotency-Key"]


def test_a_write_that_may_have_arrived_is_not_repeated(address, client, pauses):
    name = uuid.uuid4().hex
    network = Flaky(lost())
    with Client(address, ADMIN, transport=network) as unlucky, pytest.raises(AskNextError) as error:
        unlucky.create_project(name)
    assert (error.value.status, error.value.title, error.value.detail) == (0, "No answer", "the answer was lost")
    assert isinstance(error.value.__cause__, httpx.ReadError)
    assert len(network.requests) == 1
    assert pauses == []
    assert [project.name for project in client.list_projects()].count(name) == 1


def test_a_write_that_did_not_arrive_is_repeated(address, client, pauses):
    name = uuid.uuid4().hex
    network = Flaky(refused(503, Retry_After="7"), refused(429), httpx.ConnectError("nobody there"))
    with Client(address, ADMIN, transport=network) as unlucky:
        unlucky.create_project(name)
    assert len(network.requests) == 4
    assert pauses[0] == 7.0
    assert pauses[1] <= 0.5
    assert [project.name for project in client.list_projects()].count(name) == 1


def test_a_file_is_sent_again_from_its_beginning(address, client, tmp_path, pauses):
    project = client.create_project("file", ["left"], SETTINGS).id
    file = tmp_path / "items.jsonl"
    file.write_text('{"key": "a", "features": [1.0]}\n')
    with Client(address, ADMIN, transport=Flaky(refused(503))) as unlucky:
        job = unlucky.import_file(project, file)
    assert client.wait_for_job(project, job).result["added"] == 1
    assert [item["key"] for item in client.list_items(project)] == ["a"]


def test_an_answer_is_undone_once_when_its_item_cannot_be_given_again(client, project, monkeypatch):
    client.label(project, "k0", "left")
    client.label(project, "k1", "left")

    def fail(*_):
        raise DatabaseUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(questions, "write_leases", fail)
        assert client.undo(project) == []
    assert [entry["key"] for entry in client.labels(project)] == ["k0"]


def test_a_training_that_ends_at_once_leaves_room_for_the_next(site, client, monkeypatch):
    project = client.create_project("empty", ["left"], SETTINGS).id
    start = site.service.jobs.start

    def slow(*arguments):
        job = start(*arguments)
        time.sleep(0.3)  # it has ended by now
        return job

    monkeypatch.setattr(site.service.jobs, "start", slow)
    first = client.wait_for_job(project, client.train(project))
    assert client.wait_for_job(project, client.train(project)).id != first.id


def test_a_training_that_was_cancelled_while_it_waited_leaves_room_for_the_next(site, client, project):
    go_on = threading.Event()
    for _ in range(site.service.settings.job_threads):
        site.service.jobs.start(project, "other", lambda progress: {"waited": go_on.wait(20)})
    job = client.train(project)
    assert client.train(project) == job
    assert client.cancel_job(project, job).state == "cancelled"
    with pytest.raises(AskNextError, match="has been cancelled"):
        client.wait_for_job(project, job)
    other = client.train(project)
    assert client.train(project) == other != job
    go_on.set()
    assert client.wait_for_job(project, other).state == "done"


def test_patience_has_an_end(address, pauses):
    network = Flaky(*[lost() for _ in range(10)])
    with Client(address, ADMIN, tries=4, transport=network) as unlucky, pytest.raises(AskNextError, match="lost"):
        unlucky.list_projects()
    assert len(network.requests) == 4
    network = Flaky(refused(429, Retry_After="3600"))
    with Client(address, ADMIN, transport=network) as unlucky, pytest.raises(AskNextError, match="Too Many"):
        unlucky.list_projects()
    assert len(network.requests) == 1
    assert len(pauses) == 3


def test_errors_say_what_the_service_said(address, client, project):
    with pytest.raises(AskNextError) as error:
        client.label(project, "k0", "middle")
    assert error.value.status == 422
    assert error.value.detail == "entry 0: this label is not a class of the project; its classes are: left, right"
    assert error.value.id
    assert str(error.value) == f"Invalid input: {error.value.detail}"
    with Client(address, "wrong") as stranger, pytest.raises(AskNextError, match="key is unknown") as error:
        stranger.me()
    assert error.value.status == 401


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (httpx.Response(200, html="<p>hello"), 200, "Not an answer of AskNext"),
        (httpx.Response(502, text="bad gateway"), 502, "Bad Gateway: bad gateway"),
        (httpx.Response(400, json=["odd"]), 400, "Bad Request"),
        (httpx.Response(301, headers={"Location": "http://elsewhere/"}), 301, "Moved Permanently"),
    ],
)
def test_answers_of_others(answer, status, message):
    with (
        Client("http://elsewhere", ADMIN, transport=httpx.MockTransport(lambda request: answer)) as client,
        pytest.raises(AskNextError, match=message) as error,
    ):
        client.me()
    assert error.value.status == status


def test_an_export_that_breaks_off_is_an_error():
    def pieces():
        yield b'{"key": "a"}\n{"key"'
        raise httpx.RemoteProtocolError("broken off")

    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=pieces()))
    with Client("http://elsewhere", ADMIN, transport=transport) as client:
        labels = client.labels("p")
        assert next(labels) == {"key": "a"}
        with pytest.raises(AskNextError, match="broken off"):
            next(labels)


@pytest.mark.parametrize(
    "table",
    [
        X,
        X.astype(object),
        X.tolist(),
        list(X),
        sp.csr_matrix(X),
        sp.csc_matrix(X),
        sp.coo_array(X),
        [sp.csr_matrix(row[None]) for row in X],
        [{"indices": np.arange(4), "values": row} for row in X],
    ],
    ids=["numpy", "objects", "lists", "rows", "csr", "csc", "coo", "csr-rows", "dicts"],
)
def test_features_in_any_form_are_the_same(client, project, table):
    assert client.add_items(project, KEYS, table) == Added(0, len(X))
    assert client.predict(project, features=table) == client.predict(project, features=X)


def test_a_sparse_table_keeps_its_columns_and_its_owner_his_matrix(client):
    project = client.create_project("sparse", ["left", "right"], SETTINGS).id
    doubled = sp.csr_matrix((np.ones(4), [0, 0, 2, 1], [0, 2, 3, 4]), shape=(3, 9))
    assert client.add_items(project, ["a", "b", "c"], doubled) == Added(3, 0)
    assert doubled.nnz == 4
    assert client.add_items(project, ["d"], [[2.0] * 9]) == Added(1, 0)
    assert client.add_items(project, ["a"], [[2.0] + [0.0] * 8]) == Added(0, 1)
    with pytest.raises(AskNextError, match="10 columns, but those of this project have 9"):
        client.add_items(project, ["e"], sp.csr_matrix((1, 10)))


def test_many_items_go_in_several_requests(address):
    network = Flaky()
    with Client(address, ADMIN, transport=network) as client:
        project = client.create_project("large", ["left"], SETTINGS).id
        n = 300
        x, data = np.random.default_rng(1).random((n, 3)), [{"text": "ü" * 20_000}] * n
        assert client.add_items(project, [f"k{i}" for i in range(n)], x, data) == Added(n, 0)
        sizes = [int(request.headers["Content-Length"]) for request in network.requests[1:]]
        assert sum(sizes) > 12e6
        assert max(sizes) < 4.1 * 2**20
        assert len(sizes) == 3
        keys = [f"k{i % n}" for i in range(10_001)]
        assert len(client.predict(project, keys=keys)) == 10_001
        assert len(network.requests) == 6
        assert client.predict(project, keys=[]) == []


def test_lengths_must_agree_before_anything_is_sent(client, project):
    with pytest.raises(ValueError, match="2 keys, 3 rows and 2 data"):
        client.add_items(project, ["x", "y"], X[:3])
    with pytest.raises(ValueError, match="1 keys, 1 rows and 2 data"):
        client.add_items(project, ["x"], X[:1], [None, None])
    with pytest.raises(ValueError, match="either"):
        client.predict(project)
    with pytest.raises(ValueError, match="JSON"):
        client.add_items(project, ["x"], [[float("nan")] * 4])
    with pytest.raises(TypeError, match="set cannot be sent"):
        client.add_items(project, ["x"], X[:1], [{"odd": set()}])
    assert len(client.list_items(project)) == len(X)


def test_keys_may_hold_anything(client, project):
    client.add_items(project, ODD_KEYS, X[: len(ODD_KEYS)])
    for key in ODD_KEYS:
        client.label(project, key, "left")
        assert client.item(project, key)["key"] == key
    assert [entry["key"] for entry in client.labels(project)] == ODD_KEYS
    for key in ODD_KEYS:
        assert client.withdraw(project, key) == 1
    assert list(client.labels(project)) == []
    assert client.project(project).id == project


def test_files_of_each_format(client, tmp_path):
    (tmp_path / "a.csv").write_text("key,label,x,y\na,left,1,2\nb,right,2,1\n")
    (tmp_path / "a.ndjson").write_text('{"key": "c", "features": [1, 2], "label": "left"}\n')
    (tmp_path / "a.svm").write_text("left 1:1 2:2\n".replace("left", "1"))
    (tmp_path / "odd.svmlight").write_text("1 0:1 1:2\n")
    project = client.create_project("files", ["left", "right"], SETTINGS).id

    def read(name, **options):
        return client.wait_for_job(project, client.import_file(project, tmp_path / name, **options)).result

    assert read("a.csv", labels=True) == {"added": 2, "unchanged": 0, "labelled": 2}
    assert read("a.ndjson") == {"added": 1, "unchanged": 0, "labelled": 0}
    assert read("a.svm")["added"] == 1
    with pytest.raises(AskNextError, match="index 0") as error:
        read("odd.svmlight")
    assert error.value.status == 0
    assert read("odd.svmlight", index_base=0)["unchanged"] == 1
    with pytest.raises(ValueError, match=r"ends in \.npz"):
        client.import_file(project, tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError):
        client.import_file(project, tmp_path / "b.csv")
    assert {entry["key"] for entry in client.labels(project)} == {"a", "b"}


def test_keys_of_people(address, client, project):
    created = client.create_key("ann", "annotator", project)
    assert created["id"] in [key["id"] for key in client.list_keys()]
    with Client(address, created["key"]) as ann:
        assert ann.me() == {"name": "ann", "role": "annotator", "project": project}
        assert ann.query(project)
        with pytest.raises(AskNextError) as error:
            ann.train(project)
        assert error.value.status == 403
        client.revoke_key(created["id"])
        with pytest.raises(AskNextError) as error:
            ann.me()
        assert error.value.status == 401


def test_the_file_alone_is_enough(tmp_path):
    shutil.copy(module.__file__, tmp_path / "copied.py")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import httpx; before = set(sys.modules); import copied; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names); "
        "print(sorted(new), copied.Client.label.__doc__)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("['copied'] Label an item")
