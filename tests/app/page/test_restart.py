"""A long sitting with everything that can go wrong: what SQL holds is exactly what was pressed."""

import sqlite3
from contextlib import closing

import httpx
import pytest
from sklearn.datasets import load_digits

from app.commands.demo import NAMES, picture
from tests.app.live import ADMIN
from tests.app.page.people import digit
from tests.app.reliability.servers import Server

ITEMS = 120
DEAD = ("ERR_CONNECTION", "503 (Service Unavailable)")  # what a browser says of a server that is gone, or starting
STORED = """
SELECT events.kind, items.key, classes.name, keys.name FROM events
JOIN items ON items.project_id = events.project_id AND items.number = events.item
JOIN keys ON keys.id = events.key_id
LEFT JOIN classes ON classes.project_id = events.project_id AND classes.number = events.class_number
ORDER BY events.sequence
"""


@pytest.fixture
def process(tmp_path):
    """A server in a process of its own, with a hundred digits."""
    server = Server(None, tmp_path / "data").start()
    headers = {"Authorization": f"Bearer {ADMIN}"}
    digits = load_digits()
    rows = [
        {"key": f"digit-{i:04d}", "features": digits.data[i].tolist(), "data": {"image": picture(digits.images[i])}}
        for i in range(ITEMS)
    ]
    with httpx.Client(base_url=server.address, headers=headers, timeout=60) as http:
        project = http.post("/v1/projects", json={"name": "Digits", "classes": NAMES}).json()["id"]
        http.post(f"/v1/projects/{project}/items", json={"items": rows}).raise_for_status()
    yield server
    server.kill()


def stored(folder):
    """(kind, item, class, person) of every event, read from the file itself."""
    with closing(sqlite3.connect(f"file:{folder}/asknext.db?mode=ro", uri=True)) as connection:
        return connection.execute(STORED).fetchall()


class Sitting:
    """Somebody who writes down what they press."""

    def __init__(self, person):
        self.person, self.pressed = person, []
        self.item = person.open("Digits")

    def label(self, times=1):
        for _ in range(times):
            self.pressed.append(("label", self.item, digit(self.item), self.person.name))
            self.item = self.person.press(digit(self.item))

    def other(self, key, kind):
        self.pressed.append((kind, self.item, None, self.person.name))
        self.item = self.person.press(key)

    def undo(self):
        """The last answer is taken back, and its item comes again; one that was never sent would leave no trace."""
        self.person.saved()
        last = [key for kind, key, _, _ in self.pressed if kind != "retract"][-1]
        self.pressed.append(("retract", last, None, self.person.name))
        self.item = self.person.press("z")
        assert self.item == last

    def reload(self):
        self.person.saved()
        self.person.page.reload()
        assert self.person.wait() == self.item

    def restart(self, process):
        """The server dies without a word; two answers are given before it is back."""
        self.person.saved()
        process.kill()
        self.label(2)
        process.start()


def test_thirty_items_an_undo_a_reload_a_killed_server_and_two_people(person, process):
    ann, bob = (Sitting(person(address=process.address)) for _ in range(2))
    ann.label(8)
    bob.label(3)
    ann.undo()
    ann.label(4)
    ann.reload()
    ann.other("Space", "skip")
    bob.other("u", "unsure")
    ann.label(4)
    ann.restart(process)
    bob.label(3)
    ann.label(8)
    ann.undo()
    ann.reload()
    ann.label(6)
    people = [ann, bob]
    for one in people:
        one.person.saved()
        one.person.complaints[:] = [text for text in one.person.complaints if not any(word in text for word in DEAD)]
    events = stored(process.data_dir)
    for one in people:
        assert [event for event in events if event[3] == one.person.name] == one.pressed
    assert len(events) == sum(len(one.pressed) for one in people)
    labels = [item for kind, item, _, _ in events if kind == "label"]
    taken_back = [item for kind, item, _, _ in events if kind == "retract"]
    assert len(labels) - len(taken_back) >= 30
    assert len(set(labels)) == len(labels) - len(taken_back)  # nobody was asked about what another had labelled
