"""People in front of a browser."""

import json
import re
import uuid

import httpx
from playwright.sync_api import expect
from sklearn.datasets import load_digits

from app.commands.demo import NAMES
from tests.app.live import ADMIN

DIGITS = load_digits().target
GLANCE = 220  # milliseconds; answers on items that were not seen that long do not count
EVIL = '<img src=x onerror="window.ran=1"><svg onload="window.ran=2"><script>window.ran=3</script>'


class Person:
    """Somebody with a key of their own and a browser that remembers every complaint."""

    def __init__(self, browser, address, role="annotator", project=None, **options):
        self.address = address
        self.name = f"person {uuid.uuid4().hex}"
        self.key = made_key(address, self.name, role, project)
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def visit(self, **parts):
        """A view by its address: visit(project=..., view="look")."""
        self.page.goto(f"{self.address}/#" + "&".join(f"{name}={value}" for name, value in parts.items()))

    def sign_in(self, **parts):
        self.visit(key=self.key, **parts)

    def open(self, project):
        """Label in the project of this name; the first item."""
        self.sign_in()
        self.page.locator("a.project", has_text=project).click()
        return self.wait()

    def wait(self, other_than=""):
        """The key of the item at hand, when there is one (and another one) and they have looked at it."""
        code = "key => { const now = document.getElementById('item').dataset.key; return now && now !== key && now }"
        key = self.page.wait_for_function(code, arg=other_than).json_value()
        self.page.wait_for_timeout(GLANCE)
        return key

    def press(self, key):
        """Answer; the item that comes then."""
        before = self.page.locator("#item").get_attribute("data-key")
        self.page.keyboard.press(key)
        return self.wait(other_than=before)

    def press_at_once(self, *keys):
        """Keys that come together, faster than anybody can look."""
        code = "keys => keys.forEach(key => document.activeElement.dispatchEvent(" + (
            "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})))"
        )
        self.page.evaluate(code, keys)

    def label_digits(self, count):
        """What was answered, item by item."""
        said = {}
        item = self.wait()
        for _ in range(count):
            said[item] = digit(item)
            item = self.press(digit(item))
        self.saved()
        return said

    def saved(self):
        expect(self.page.locator("#saved")).to_have_attribute("data-waiting", "0")
        expect(self.page.locator("#saved")).to_have_text("Saved")

    def events(self):
        """What the service stored of this person's answers."""
        (project,) = re.findall("project=([^&]+)", self.page.url)
        url = f"{self.address}/v1/projects/{project}/labels?history=true"
        lines = httpx.get(url, headers={"Authorization": f"Bearer {self.key}"}).text.splitlines()
        events = [json.loads(line) for line in lines]
        return [(e["kind"], e["key"], e["label"]) for e in events if e["annotator"] == self.name]


def digit(item):
    """The right key for an item of the demo."""
    return NAMES[DIGITS[int(item.removeprefix("digit-"))]]


def made_key(address, name, role="annotator", project=None):
    body = {"name": name, "role": role, "project": project}
    answer = httpx.post(f"{address}/v1/keys", json=body, headers={"Authorization": f"Bearer {ADMIN}"})
    answer.raise_for_status()
    return answer.json()["key"]
