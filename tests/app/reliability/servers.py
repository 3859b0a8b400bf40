"""Servers that die and come back."""

import os
import signal
import time
from pathlib import Path

from app.services.encoding.process import CONTEXT, PRELOADED
from tests.app.live import ADMIN, Process, wait_until_ready

# A process has one server to fork from, with what was asked for first: encoding processes and servers ask for the same.
PRELOADED += ["__main__", "app.main", "app.commands.serve", "tests.app.reliability.warm"]

TORTURE = os.environ.get("ASKNEXT_TORTURE") == "1"


def scaled(short, full):
    """One number for `make test`, another for `make torture`."""
    return full if TORTURE else short


PATIENCE = scaled(60.0, 300.0)  # seconds that a training, or a model that is restored, may wait for the processor


class Server(Process):
    """`asknext serve` forked from a process that has imported it already: a start takes half a second, not three."""

    patience = PATIENCE

    def start(self, *, ready=True):
        CONTEXT.set_forkserver_preload(PRELOADED)
        self.log = Path(self.data_dir).parent / f"{Path(self.data_dir).name}.log"
        self.log.write_text("")
        settings = {"ASKNEXT_ADMIN_KEY": ADMIN} | self.environment
        arguments = (self.url, self.data_dir, self.port, settings, self.log)
        self.process = CONTEXT.Process(target=_serve, args=arguments, daemon=True)
        self.process.start()
        while "Listening on" not in self.log.read_text():
            if not self.process.is_alive():
                raise RuntimeError(self.log.read_text())
            time.sleep(0.01)
        self.address = self.log.read_text().split("Listening on ")[1].split()[0]
        self.port = int(self.address.rpartition(":")[2])
        if ready:
            wait_until_ready(self.address, self.patience)
        return self

    def stop(self):
        os.kill(self.process.pid, signal.SIGTERM)
        return self.wait()

    def wait(self):
        self.process.join(60)
        assert self.process.exitcode is not None, "the server has not ended within a minute"
        return self.process.exitcode

    @property
    def lines(self):
        """What it has printed."""
        return self.log.read_text().splitlines(keepends=True)

    @property
    def is_running(self):
        return self.process.is_alive()

    def end(self):
        """Whatever state it is in."""
        if self.is_running:
            self.kill()


def _serve(url, data_dir, port, environment, log):
    os.environ.update(environment)
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 2)
    from app.commands.serve import serve

    serve(host=None, port=port, database=url, data_dir=data_dir)
