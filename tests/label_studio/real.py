"""A real Label Studio in a process of its own, and an annotator at its REST interface."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import httpx

from tests.app.live import ADMIN, free_port

USER, PASSWORD = "ann@example.com", "a-long-password"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
OPEN = {"USE_DEFAULT_BANNED_SUBNETS": "false"}  # lets backends be on this machine
QUIET = {"COLLECT_ANALYTICS": "False", "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}
WORDS = {
    "sport": (
        "The {} scored late in the {}|A {} was sent off in the {}|Our {} trained for the {}|The {} lost the {} again",
        "striker captain keeper rookie sprinter veteran goalie winger",
        "cup final|league match|relay|derby|semi-final|qualifier|friendly|playoff",
    ),
    "cooking": (
        "Stir the {} gently in a warm {}|Let the {} rest in the {}|Boil the {} in a {}|Season the {} in the {}",
        "butter onions dough broth spices mushrooms lentils sauce",
        "pan|large pot|mixing bowl|oven tray|wok|deep dish|saucepan|clay pot",
    ),
}
TEXT = (
    '<View><Text name="text" value="$text"/><Choices name="label" toName="text">'
    '<Choice value="sport"/><Choice value="cooking"/></Choices></View>'
)


def sentences(count, seed=0):
    """Sentences and what they are about."""
    rng, made, topics = random.Random(seed), {}, list(WORDS)
    while len(made) < count:
        topic = topics[len(made) % 2]
        forms, who, where = WORDS[topic]
        text = rng.choice(forms.split("|")).format(rng.choice(who.split()), rng.choice(where.split("|")))
        made.setdefault(text, topic)
    return made


@dataclass
class Server:
    """`label-studio start`, on the same data each time."""

    folder: object
    port: int = field(default_factory=free_port)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self, **environment):
        command = [os.environ["LABEL_STUDIO"], "start", "--no-browser", "--port", str(self.port)]
        own = {
            "LABEL_STUDIO_BASE_DATA_DIR": str(self.folder),
            "LABEL_STUDIO_USERNAME": USER,
            "LABEL_STUDIO_PASSWORD": PASSWORD,
            "LABEL_STUDIO_USER_TOKEN": TOKEN,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--internal-host", "127.0.0.1"],
                env=os.environ | own | QUIET | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + 300
        while True:
            assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
            assert time.monotonic() < end, "Label Studio does not start"
            try:
                if httpx.get(f"{self.address}/api/version", timeout=5).is_success:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.5)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(30)


class Annotator:
    """Somebody at one project of Label Studio."""

    def __init__(self, http, number=None):
        self.http, self.number = http, number

    def call(self, method, path, body=None):
        answer = self.http.request(method, path, json=body)
        assert answer.is_success, (method, path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    def make(self, title, label_config, tasks=()):
        self.number = self.call("POST", "/api/projects/", {"title": title, "label_config": label_config})["id"]
        if tasks:
            self.call("POST", f"/api/projects/{self.number}/import", [{"data": {"text": one}} for one in tasks])
        return self

    def project(self):
        return self.call("GET", f"/api/projects/{self.number}/")

    def next(self):
        return self.call("GET", f"/api/projects/{self.number}/next")

    def submit(self, task, label, **more):
        value = {"choices": [label]} if label else None
        shown = "image" if "image" in task["data"] else "text"
        part = {"from_name": "label", "to_name": shown, "type": "choices", "value": value}
        body = {"result": [part] if label else [], "was_cancelled": False, "lead_time": 1.5} | more
        return self.call("POST", f"/api/tasks/{task['id']}/annotations/", body)


def connect(server, asknext, number, *more):
    """`asknext label-studio connect`: the finished process."""
    command = [sys.executable, "-m", "app", "label-studio", "connect", "--url", server.address, "--token", TOKEN]
    command += ["--project", str(number), "--asknext-url", asknext.address, "--key", ADMIN, *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
