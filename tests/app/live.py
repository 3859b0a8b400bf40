"""Real servers for tests: in a thread of this process, or in a process of their own that can be killed."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import uvicorn

from app.commands.server import server_config
from app.main import create_app
from app.services.registry.service import Service
from app.settings import ServiceSettings

ADMIN = "ask_" + "a" * 43


@contextmanager
def in_thread(url, data_dir, **options):
    """(address, service) of a server that shares this process."""
    settings = ServiceSettings(database=url, data_dir=data_dir, admin_key=ADMIN, **options)
    service = Service(settings)
    service.access.first_key(ADMIN)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(server_config(create_app(settings, service), settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server")
    thread.start()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        wait_until_ready(address)
        yield address, service
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def eventually(ask, is_so=bool, seconds=60.0):
    """The first answer that is so; asked ever more seldom, because answers take time that the work needs."""
    end, pause = time.monotonic() + seconds, 0.01
    while not is_so(answer := ask()):
        assert time.monotonic() < end, answer
        time.sleep(pause)
        pause = min(1.5 * pause, 0.2)
    return answer


def has_ended(job):
    return job["state"] not in ("queued", "running")


def wait_until_ready(address, seconds=60.0):
    said = ["nothing"]
    with httpx.Client(verify=False, trust_env=False) as http:  # no certificates are read, which is slow

        def is_ready():
            try:
                answer = http.get(f"{address}/health/ready")
            except httpx.TransportError as error:
                said[0] = repr(error)
                return False
            said[0] = answer.text
            return answer.status_code == 200

        try:
            eventually(is_ready, seconds=seconds)
        except AssertionError:
            raise TimeoutError(f"{address} is not ready: {said[0]}") from None


@dataclass
class Process:
    """`asknext serve` in a process of its own."""

    url: str | None
    data_dir: object
    environment: dict = field(default_factory=dict)
    port: int = 0
    patience = 60.0  # seconds until it is ready

    def start(self, *, ready=True):
        command = [sys.executable, "-m", "app", "serve", "--port", str(self.port), "--data-dir", str(self.data_dir)]
        if self.url is not None:
            command += ["--database", self.url]
        environment = os.environ | {"ASKNEXT_ADMIN_KEY": ADMIN, "PYTHONUNBUFFERED": "1"} | self.environment
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"Listening on (http://[^\s/]+:(\d+))", line)
            if found:
                self.address, self.port = found[1], int(found[2])
                break
        else:
            self.process.wait()
            raise RuntimeError("".join(self.lines))
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self._reader.start()
        if ready:
            wait_until_ready(self.address, self.patience)
        return self

    def kill(self):
        self.process.kill()
        self.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        code = self.process.wait(180)
        self._reader.join()
        self.process.stderr.close()
        return code
