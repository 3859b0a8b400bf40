"""People who label over HTTP, and the books they keep of what they were answered."""

import json
import random
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
import numpy as np

from tests.app.live import ADMIN
from tests.app.reliability.servers import PATIENCE, scaled

CLASSES = ["red", "green", "blue"]
COLUMNS = 8
TOP = scaled(25, 100)  # questions that are compared


def client(address, key=ADMIN, timeout=120.0):  # a database may pause for a minute
    """Threads may share it: httpcore closes surplus idle connections even if it has just given them to a thread."""
    headers, limits = {"Authorization": f"Bearer {key}"}, httpx.Limits(max_connections=None)
    return httpx.Client(
        base_url=address, headers=headers, timeout=timeout, limits=limits, trust_env=False, verify=False
    )


class Site:
    """A project on a server: its administrator, and annotators with keys of their own.

    With one digit of features there are few levels, and a label costs little, however many there are.
    """

    def __init__(self, address, n_items, n_people, *, digits=4, **settings):
        self.address = address
        self.admin = client(address)
        body = {"name": "site", "classes": CLASSES, "settings": settings}
        self.project = done(self.admin.post("/v1/projects", json=body))["id"]
        self.path = f"/v1/projects/{self.project}"
        self.features = np.random.default_rng(7).dirichlet(np.ones(COLUMNS), n_items).round(digits)
        self.keys = [f"item-{i}" for i in range(n_items)]
        items = [{"key": key, "features": row.tolist()} for key, row in zip(self.keys, self.features, strict=True)]
        for first in range(0, n_items, 1000):
            done(self.admin.post(f"{self.path}/items", json={"items": items[first : first + 1000]}))
        self.people = [client(address, self.new_key(f"person-{i}")) for i in range(n_people)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in (self.admin, *self.people):
            one.close()

    def new_key(self, name, role="annotator"):
        return done(self.admin.post("/v1/keys", json={"name": name, "role": role, "project": self.project}))["key"]

    def label_of(self, key):
        """What people mostly say of an item."""
        return CLASSES[int(self.features[self.keys.index(key), :3].argmax())]

    def post(self, person, note, key, label, **more):
        """One label; its note is its idempotency key, so that the export tells which post it came from."""
        entry = {"key": key, "label": label, "note": note}
        headers = {"Idempotency-Key": note}
        return person.post(f"{self.path}/labels", json={"labels": [entry], **more}, headers=headers)

    def lines(self, **options):
        answer = self.admin.get(f"{self.path}/labels", params=options)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def history(self):
        return self.lines(history=True)

    def predictions(self):
        """Means, variances and probabilities of all items."""
        answer = done(self.admin.post(f"{self.path}/predict", json={"keys": self.keys}))
        rows = answer["predictions"]
        assert not answer["degraded"]
        return np.array([[*row["mean"].values(), row["variance"], *row["probabilities"].values()] for row in rows])

    def top(self, count=TOP):
        """The best questions and their scores; their leases are given back."""
        asked = {"count": count, "seed": 1, "explore": 0}
        items = done(self.admin.post(f"{self.path}/query", json=asked))["items"]
        for item in items:
            assert self.admin.delete(f"{self.path}/leases/{item['lease']['id']}").status_code == 204
        return [item["key"] for item in items], np.array([item["score"] for item in items])

    def wait_until_quiet(self, seconds=PATIENCE):
        """No training is going on or due; returns the last state of the model."""
        end, quiet = time.monotonic() + seconds, 0
        while quiet < 4:
            state = done(self.admin.get(f"{self.path}/model"))
            quiet = quiet + 1 if state["training"] is None else 0
            assert time.monotonic() < end, f"still training: {state}"
            time.sleep(0.1)
        return state


def done(answer):
    """The body of a 2xx."""
    assert answer.is_success, f"{answer.status_code}: {answer.text}"
    return answer.json()


@dataclass
class Books:
    """What became of every post, by its note."""

    posted: dict = field(default_factory=dict)  # note: number of the person, key, label, what else the body held
    answers: dict = field(default_factory=dict)  # note: body of the 201
    refused: dict = field(default_factory=dict)  # note: status
    returned: set = field(default_factory=set)  # leases that were given back, or may have been
    seconds: list = field(default_factory=list)  # of answered posts

    @property
    def unanswered(self):
        return [note for note in self.posted if note not in self.answers and note not in self.refused]

    def post(self, site, number, note, key, label, **more):
        """Post a label in the name of a person, and write down what came of it; raises if no answer came."""
        self.posted[note] = (number, key, label, more)
        begun = time.perf_counter()
        answer = site.post(site.people[number], note, key, label, **more)
        self.seconds.append(time.perf_counter() - begun)
        if answer.status_code == 201:
            self.refused.pop(note, None)
            assert self.answers.setdefault(note, answer.json()) == answer.json()
        else:
            self.refused[note] = answer.status_code
        return answer

    def give_back(self, site, number, lease):
        """Promise no longer to answer an item."""
        self.returned.add(lease)
        assert site.people[number].delete(f"{site.path}/leases/{lease}").status_code in {204, 404}

    def repeat(self, site, note):
        """The same post again."""
        number, key, label, more = self.posted[note]
        return self.post(site, number, note, key, label, **more)

    def check(self, site):
        """Every answered label is there once, no refused one, others at most once; the export agrees."""
        history = site.history()
        found = Counter(event["note"] for event in history)
        assert [note for note in self.answers if not found[note]] == [], "answered, and lost"
        assert [note for note, times in found.items() if times > 1] == [], "written twice"
        assert [note for note in self.refused if found[note]] == [], "refused, and written"
        votes = defaultdict(dict)
        for event in history:
            number, key, label, _ = self.posted[event["note"]]
            assert (event["annotator"], event["key"], event["label"]) == (f"person-{number}", key, label)
            votes[event["key"]][event["annotator"]] = event["label"]
        exported = {line["key"]: {v["annotator"]: v["label"] for v in line["votes"]} for line in site.lines()}
        assert exported == votes
        return history


class Crowd:
    """Everybody posts labels, each as fast as they are answered, until there is no answer or they are told to stop."""

    def __init__(self, site, books, seed, *, pause=0.0, bad=0.05, keys=None, return_share=0.0):
        self.site, self.books, self.seed, self.pause, self.bad = site, books, seed, pause, bad
        self.return_share = return_share  # of the items asked for that are given back at once
        self.keys = keys or site.keys
        self.stopping = threading.Event()
        self.errors = []

    def __enter__(self):
        self._threads = ThreadPoolExecutor(len(self.site.people))
        self._work = [self._threads.submit(self._label, number) for number in range(len(self.site.people))]
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self._threads.shutdown()
        for work in self._work:
            work.result()

    def _label(self, number):
        rng = random.Random(f"{self.seed}-{number}")
        for count in range(100_000):
            if self.stopping.is_set():
                return
            key = rng.choice(self.keys)
            label = "no such class" if rng.random() < self.bad else rng.choice(CLASSES)
            ask = {"next": {"count": 1}} if rng.random() < 0.2 else {}
            try:
                answer = self.books.post(self.site, number, f"{self.seed}-{number}-{count}", key, label, **ask)
                for item in answer.json().get("items", []):
                    if rng.random() < self.return_share:
                        self.books.give_back(self.site, number, item["lease"]["id"])
            except httpx.TransportError as error:
                self.errors.append(error)
                return
            time.sleep(self.pause)
