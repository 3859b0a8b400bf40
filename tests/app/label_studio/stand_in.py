"""A small Label Studio over real HTTP: only the calls that AskNext makes. The real one is in tests/label_studio."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.app.label_studio import wire

TOKEN = "0123456789abcdef"


class StandIn:
    """What it has, and what it was told."""

    def __init__(self, schema):
        self.schema, self.tasks, self.said, self.files = schema, [], {}, {}
        self.predictions, self.versions, self.calls = {}, [], []
        self.backends, self.hooks, self.settings = {}, {}, {}
        self.away = self.guarded = False
        self.status = 200  # of what it answers

    def annotate(self, task, annotation):
        self.said.setdefault(task["id"], {})[annotation["id"]] = annotation

    def export(self):
        return [task | {"annotations": list(self.said.get(task["id"], {}).values())} for task in self.tasks]

    def answer(self, method, path, body):
        name = path.partition("?")[0].removeprefix("/api/projects/12/")
        found = None
        if method == "PATCH":
            assert body.get("model_version", self.versions and self.versions[-1]) in [*self.predictions, []]
            self.versions += [body["model_version"]] if "model_version" in body else []
            self.settings |= body
            found = {}
        elif name.startswith(("/api/ml/", "/api/webhooks/")):
            found = self.listed(method, name, body)
        elif name == "":
            found = {"id": 12, "title": "Reviews", "label_config": self.schema}
        elif name == "export":
            found = self.export()
        elif name == "/api/users/":
            found = [{"id": 1, "email": "ann@example.com"}]
        elif name == "import/predictions":
            for one in body:
                self.predictions.setdefault(one["model_version"], []).append(one)
            found = {"created": len(body)}
        elif name == "model-versions/":
            if method == "DELETE":
                del self.predictions[body["model_version"]]
            found = {version: len(these) for version, these in self.predictions.items()}
        return found

    def listed(self, method, name, body):
        """Backends bring their webhooks, and leave them when they go."""
        entries = self.backends if "/ml/" in name else self.hooks
        if method == "DELETE":
            return entries.pop(int(name.strip("/").rsplit("/", 1)[1]))
        if method == "POST":
            entries[len(self.calls)] = body
            self.hooks[len(self.calls)] = {"url": f"{body['url'].removesuffix('/webhook')}/webhook"}
        return [{"id": number} | entry for number, entry in entries.items()]

    def queue(self):
        """Tasks in the order in which it would ask."""
        found = self.predictions[self.versions[-1]]
        return [one["task"] for one in sorted(found, key=lambda one: one["score"])]


def handler(one):
    class Handler(BaseHTTPRequestHandler):
        def reply(self, status, content, headers=()):
            self.send_response(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            one.calls.append((self.command, self.path))
            if one.away:
                self.reply(502, b"away")
            elif self.headers.get("Authorization") != f"Token {TOKEN}":
                self.reply(401, b'{"detail": "Invalid token"}')
            elif one.guarded and (self.command, self.path) == ("POST", "/api/ml/"):
                self.reply(403, b'{"detail": "URL resolves to a reserved network address"}')
            elif self.path in one.files:
                content = one.files[self.path]
                if isinstance(content, str):
                    self.reply(302, b"", {"Location": content})
                else:
                    self.reply(200, content)
            else:
                found = one.answer(self.command, self.path, json.loads(body) if body else None)
                self.reply(404 if found is None else one.status, json.dumps(found).encode())

        do_GET = do_POST = do_PATCH = do_DELETE = do  # noqa: N815

        def log_message(self, *args):
            pass

    return Handler


@contextmanager
def stand_in(schema=None):
    """(what it has, its address)"""
    one = StandIn(schema or wire.config())
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(one))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield one, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
