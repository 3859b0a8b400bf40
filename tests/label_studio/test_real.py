"""AskNext and a real Label Studio, as their users have them; each is stopped and started in between."""

import io
import re
import time

import httpx
import pytest
from PIL import Image

from app.label_studio.remote import Remote
from tests.app.live import ADMIN, Process, free_port, wait_until_ready
from tests.app.site import Site
from tests.label_studio.real import OPEN, TEXT, TOKEN, Annotator, Server, connect, sentences

TOPICS = sentences(60)
MANY = TEXT.replace("<Choices ", '<Choices choice="multiple" ')
IMAGE = TEXT.replace('<Text name="text" value="$text"/>', '<Image name="image" value="$image"/>').replace(
    'toName="text"', 'toName="image"'
)


@pytest.fixture(scope="module")
def asknext(tmp_path_factory):
    one = Process(None, tmp_path_factory.mktemp("asknext"), port=free_port()).start(ready=False)
    wait_until_ready(one.address, 300)  # kernels may have to be compiled
    yield one
    if one.process.poll() is None:
        one.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    one = Server(tmp_path_factory.mktemp("label-studio")).start()
    yield one
    if one.process.poll() is None:
        one.stop()


@pytest.fixture(scope="module")
def http(asknext):
    with httpx.Client(base_url=asknext.address, timeout=60) as http:
        yield http


@pytest.fixture(scope="module")
def annotate(server):
    """Makes annotators."""
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Token {TOKEN}"}, timeout=60) as http:
        yield lambda *options: Annotator(http).make(*options)


class Pair:
    """A project that both have."""

    def __init__(self, http, annotator, project):
        self.annotator, self.site = annotator, Site(http, None, ADMIN, f"/v1/projects/{project}")

    def link(self):
        return self.site.get("/label-studio")["link"]

    def until(self, true, seconds=120):
        end = time.monotonic() + seconds
        while not true(found := self.link()):
            assert time.monotonic() < end, found
            time.sleep(0.1)
        return found

    def up_to_date(self, annotations):
        """Wait until AskNext knows so many annotations, and Label Studio the order that follows from them."""

        def both(link):
            version = self.site.get("/model")["version"]
            known = link["annotations"] == annotations and not link["waiting_annotations"]
            return known and link["pushed_version"] == f"asknext-{version}"

        return self.until(both)

    def wanted(self):
        """The task that AskNext itself would ask about."""
        somebody = self.site.as_other()
        question = somebody.post("/query", {"count": 1, "explore": 0.0})["items"][0]
        somebody.delete(f"/leases/{question['lease']['id']}", 204)
        return int(question["key"].removeprefix("task-"))

    def history(self, task):
        return [(e["kind"], e["label"]) for e in self.site.get(f"/items/task-{task['id']}")["history"]]


@pytest.fixture(scope="module")
def pair(asknext, server, http, annotate):
    """Refused while Label Studio has its defaults, connected when its guard is open."""
    annotator = annotate("Topics", TEXT, TOPICS)
    refused = connect(server, asknext, annotator.number)
    assert refused.returncode == 1, refused.stdout
    assert "USE_DEFAULT_BANNED_SUBNETS=false" in refused.stderr
    server.stop()
    server.start(**OPEN)
    done = connect(server, asknext, annotator.number)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 tasks and 0 annotations" in done.stdout
    (project,) = re.findall("AskNext project (\\w+)", done.stdout)
    one = Pair(http, annotator, project)
    one.site.patch("", {"settings": {"explore": 0.0}})
    assert annotator.project()["sampling"] == "Uncertainty sampling"
    assert len(annotator.call("GET", f"/api/ml/?project={annotator.number}")) == 1
    assert len(annotator.call("GET", f"/api/webhooks/?project={annotator.number}")) == 1
    return one


def answer(pair, count, known):
    """Answer so many tasks; each must be the one that AskNext wants. Returns how many annotations there are."""
    at_once = 0
    for _ in range(count):
        pair.up_to_date(known)
        before, task = pair.annotator.project()["model_version"], pair.annotator.next()
        assert task["id"] == pair.wanted()
        pair.annotator.submit(task, TOPICS[task["data"]["text"]])
        at_once += pair.annotator.project()["model_version"] != before
        known += 1
        pair.up_to_date(known)
        assert pair.annotator.project()["model_version"] == pair.link()["pushed_version"]
        assert pair.history(task) == [("label", TOPICS[task["data"]["text"]])]
    print(f"\n{at_once} of {count} pushes were there as soon as the annotator had an answer")
    return known


def test_every_next_task_is_the_one_that_the_model_wants(pair):
    assert answer(pair, 8, 0) == 8


def test_skips_updates_and_deletes(pair):
    known = pair.link()["annotations"]
    skipped = pair.annotator.next()
    pair.annotator.submit(skipped, "sport", was_cancelled=True)
    pair.up_to_date(known + 1)
    assert pair.history(skipped) == [("skip", None)]
    task = pair.annotator.next()
    made = pair.annotator.submit(task, "sport")
    pair.up_to_date(known + 2)
    body = {"result": [made["result"][0] | {"value": {"choices": ["cooking"]}}]}
    pair.annotator.call("PATCH", f"/api/annotations/{made['id']}/", body)
    pair.until(lambda _: pair.history(task) == [("label", "sport"), ("relabel", "cooking")])
    pair.annotator.call("DELETE", f"/api/annotations/{made['id']}/")
    pair.until(lambda _: pair.history(task)[2:] == [("retract", None)])
    empty = pair.annotator.submit(task, None)
    pair.up_to_date(known + 3)
    assert len(pair.history(task)) == 3
    assert empty["result"] == []
    # Label Studio does not ask this annotator about them again, so AskNext should not want them in what follows.
    pair.site.label({f"task-{one['id']}": TOPICS[one["data"]["text"]] for one in (skipped, task)})


def test_asknext_is_killed_and_started_again(pair, asknext):
    known = pair.link()["annotations"]
    asknext.kill()
    missed = []
    for _ in range(3):
        task = pair.annotator.next()
        pair.annotator.submit(task, TOPICS[task["data"]["text"]])
        missed.append(task)
    asknext.start()
    pair.up_to_date(known + 3)
    for task in missed:
        assert pair.history(task) == [("label", TOPICS[task["data"]["text"]])]
    answer(pair, 2, known + 3)


def test_label_studio_is_stopped_and_started_again(pair, server):
    known = pair.link()["annotations"]
    server.stop()
    wanted = pair.wanted()
    topic = TOPICS[pair.site.get(f"/items/task-{wanted}")["data"]["text"]]
    pair.site.label({f"task-{wanted}": topic})
    assert "answer" in pair.until(lambda link: link["problem"])["problem"]
    server.start(**OPEN)
    pair.up_to_date(known)
    assert pair.link()["problem"] is None
    answer(pair, 2, known)


def test_start_training_and_new_tasks(pair):
    annotator, known = pair.annotator, pair.link()["annotations"]
    more = [text for text in sentences(90, seed=9) if text not in TOPICS][:4]
    TOPICS.update(sentences(90, seed=9))
    annotator.call("POST", f"/api/projects/{annotator.number}/import", [{"data": {"text": one}} for one in more])
    pair.until(lambda link: link["tasks"] == 64 and not link["waiting_tasks"])
    (backend,) = annotator.call("GET", f"/api/ml/?project={annotator.number}")
    before = pair.link()["synced_at"]
    annotator.call("POST", f"/api/ml/{backend['id']}/train", {})
    pair.until(lambda link: link["synced_at"] > before)
    assert answer(pair, 2, known) == known + 2
    pair.until(lambda link: list(versions(annotator)) == [link["pushed_version"]])


def versions(annotator):
    return annotator.call("GET", f"/api/projects/{annotator.number}/model-versions/")


def test_predictions_are_retrieved(pair):
    """The other way: Label Studio asks."""
    annotator = pair.annotator
    (backend,) = annotator.call("GET", f"/api/ml/?project={annotator.number}")
    assert backend["state"] == "CO"
    path = f"/api/dm/actions?id=retrieve_tasks_predictions&project={annotator.number}"
    annotator.call("POST", path, {"selectedItems": {"all": True, "excluded": []}})
    version = annotator.call("GET", f"/api/ml/{backend['id']}")["model_version"]
    assert versions(annotator)[version] == 64


def test_a_label_config_that_cannot_be_served(asknext, server, annotate):
    annotator = annotate("Several", MANY)
    refused = connect(server, asknext, annotator.number)
    assert refused.returncode == 1
    assert "one class for each task" in refused.stderr


def test_pictures_and_a_personal_token(asknext, server, http, annotate):
    annotator = annotate("Colours", IMAGE)
    for place in range(10):
        file = io.BytesIO()
        Image.new("RGB", (80, 80), (250 * (place % 2), 20 * place, 250 * (1 - place % 2))).save(file, "PNG")
        form = {f"{place}.png": (f"{place}.png", file.getvalue(), "image/png")}
        assert annotator.http.post(f"/api/projects/{annotator.number}/import", files=form).is_success
    personal = annotator.call("POST", "/api/token/")["token"]
    remote = Remote(server.address, personal)
    assert remote.project(annotator.number).title == "Colours"
    remote.close()
    done = connect(server, asknext, annotator.number, "--token", personal)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 tasks and 0 annotations" in done.stdout
    (project,) = re.findall("AskNext project (\\w+)", done.stdout)
    pair = Pair(http, annotator, project)
    assert pair.link()["broken"] == []
    task = pair.annotator.next()
    pair.annotator.submit(task, "sport")
    pair.up_to_date(1)
    item = pair.site.get(f"/items/task-{task['id']}")
    assert item["label"] == "sport"
    assert item["data"]["image"].startswith("/v1/projects/")
