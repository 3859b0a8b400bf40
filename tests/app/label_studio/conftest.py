import random

import pytest

from tests.app.label_studio import wire
from tests.app.label_studio.stand_in import stand_in
from tests.app.live import eventually

WORDS = {"Positive": "great lovely funny warm bright fine", "Negative": "dull poor sad weak slow bad"}


class Backend:
    """A project as Label Studio sees it: calls under the secret path."""

    def __init__(self, site, schema=None, link=None, **settings):
        self.site, self.schema = site, schema or wire.config()
        self.project = site.project(**({"classes": (), "encoder": "text"} | settings))
        self.path = self.project.post("/label-studio", link, 201)["path"]

    def call(self, method, name, body=None, status=200):
        answer = self.site.http.request(method, f"{self.path}/{name}", json=body)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def setup(self, schema=None, status=200, **more):
        return self.call("POST", "setup", wire.setup(schema or self.schema, **more), status)

    def predict(self, tasks):
        return self.call("POST", "predict", wire.predict(tasks, self.schema))["results"]

    def event(self, action, **parts):
        """An event, and everything that it leads to."""
        answer = self.call("POST", "webhook", wire.event(action, self.schema, **parts), 201)
        self.settled()
        return answer

    def annotate(self, task, number, choices=(), action="ANNOTATION_CREATED", **more):
        return self.event(action, annotation=wire.annotation(number, task, choices, **more), task=task)

    def shown(self):
        return self.project.get("/label-studio")["link"]

    def settled(self):
        """Wait until nothing waits any more."""
        self.until(lambda link: not link["waiting_annotations"])

    def until(self, true):
        return eventually(self.shown, true)

    def up_to_date(self):
        """Wait until Label Studio has the order of the model of today."""
        self.settled()
        return self.until(lambda link: link["pushed_version"] == f"asknext-{self.project.get('/model')['version']}")

    def wanted(self):
        """The key of the item that AskNext itself would ask about."""
        somebody = self.project.as_other()
        question = somebody.post("/query", {"count": 1})["items"][0]
        somebody.delete(f"/leases/{question['lease']['id']}", 204)
        return question["key"]

    def votes(self, key):
        return {vote["annotator"]: vote["label"] for vote in self.project.get(f"/items/{key}")["votes"]}

    def kinds(self, key):
        """What was said of an item, in order."""
        return [event["kind"] for event in self.project.get(f"/items/{key}")["history"]]


def reviews(count, first=1):
    """Tasks, every second one positive."""
    rng = random.Random(first)
    names = list(WORDS)
    return [wire.task(first + i, text=" ".join(rng.choices(WORDS[names[i % 2]].split(), k=5))) for i in range(count)]


@pytest.fixture
def remote():
    """A stand-in for Label Studio, with its address."""
    with stand_in() as (one, address):
        one.address = address
        yield one


@pytest.fixture
def backend(site):
    """Makes backends on the shared server."""

    def make(schema=None, link=None, **settings):
        return Backend(site, schema, link, **settings)

    return make


@pytest.fixture
def ready(backend):
    """A backend of 24 items with features, every second one positive; tasks name them by key."""
    one = backend(encoder="none", classes=("Positive", "Negative"))
    rows = [[1.0 - i % 2 + i / 100, i % 2 + 0.1] for i in range(24)]
    items = [{"key": f"task-{i + 1}", "features": row} for i, row in enumerate(rows)]
    one.project.post("/items", {"items": items}, 201)
    one.tasks = [wire.task(i + 1, text="as they said", key=f"task-{i + 1}") for i in range(24)]
    one.setup()
    one.event("TASKS_CREATED", tasks=one.tasks)
    one.until(lambda link: link["tasks"] == 24 and not link["waiting_tasks"])
    return one


@pytest.fixture
def encoded(backend):
    """A backend that has learnt an encoder from 24 reviews."""
    one = backend()
    one.setup()
    one.tasks = reviews(24)
    one.event("TASKS_CREATED", tasks=one.tasks)
    one.until(lambda link: link["tasks"] == 24 and not link["waiting_tasks"])
    return one
