"""Making a link from both sides: AskNext's project, Label Studio's backend and webhook, and a first sync."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.client import AskNextError, Client
from app.label_studio.label_config import LabelConfig, read_config
from app.label_studio.protocol import RemoteProject
from app.label_studio.remote import Remote, RemoteError
from app.services.problems import Invalid

TITLE = "AskNext"
LOCAL = (
    "Label Studio refuses backends at private and loopback addresses by default. Start it with the variable\n"
    "  USE_DEFAULT_BANNED_SUBNETS=false\n"
    "(or with both ML_BLOCK_LOCAL_IP=false and SSRF_PROTECTION_ENABLED=false), or give --callback-url an address of\n"
    "AskNext that is not private; then run this command again."
)
NOTES = (
    "Label Studio's webhooks carry no credentials: the secret in the address above is what protects them, so keep it.",
    "Begin with the button Label All Tasks: a page that is opened by its address goes by the order of its tab.",
    "Settings > Annotation > Prediction version is kept up to date by AskNext: do not choose another one there.",
)
Say = Callable[[str], object]


@dataclass(frozen=True)
class Connector:
    """Connects a project of Label Studio with one of AskNext."""

    remote: Remote
    client: Client
    address: str  # of Label Studio
    token: str
    number: int  # of its project
    callback: str  # where Label Studio finds AskNext
    top: int

    def make(self, project: str | None, say: Say) -> str:
        """Make the link; the id of AskNext's project. RemoteError, Invalid and AskNextError say what is in the way."""
        theirs = self.remote.project(self.number)
        config = read_config(theirs.label_config or "")
        project = project or self._linked() or self._made(theirs, config)
        link = self.client.link_label_studio(project, self.address, self.token, self.number, self.top)
        url = self.callback.rstrip("/") + link["path"]
        say(f"AskNext project {project} with {len(config.classes)} classes: {', '.join(config.classes[:10])}")
        self._register(project, url)
        say(f"Label Studio project {self.number} has the backend and webhook\n  {url}")
        self.remote.call("PATCH", f"api/projects/{self.number}/", {"sampling": "Uncertainty sampling"})
        say("Label Studio asks by Uncertainty sampling: the next task is the one that AskNext wants")
        counts = self.client.wait_for_job(project, self.client.sync_label_studio(project)).result or {}
        say(f"{counts.get('tasks', 0)} tasks and {counts.get('annotations', 0)} annotations are here")
        for one in (self.client.label_studio(project) or {"broken": []})["broken"]:
            say(f"  task {one['task']}: {one['reason']}")
        return project

    def _linked(self) -> str | None:
        """A project that was linked with this one before."""
        for project in self.client.list_projects():
            try:
                link = self.client.label_studio(project.id)
            except AskNextError as error:
                if error.status in (403, 404):
                    continue
                raise
            if link is not None and (link["address"], link["remote_project"]) == (self.address, self.number):
                return project.id
        return None

    def _made(self, theirs: RemoteProject, config: LabelConfig) -> str:
        if config.kind is None:
            raise Invalid(
                f"AskNext encodes texts and pictures, not <{config.tag[:40]}>: make a project whose items have "
                "features, name their keys in the field key of each task, and give it as --asknext-project"
            )
        name = theirs.title.strip()[:200] or f"Label Studio {self.number}"
        return self.client.create_project(name, list(config.classes), {"encoder": config.kind}).id

    def _register(self, project: str, url: str) -> None:
        """The backend, and the webhook that comes with it; older ones of this project go."""
        mark = f"/label-studio/{project}/"
        for path, end in (("api/ml/", ""), ("api/webhooks/", "/")):
            for entry in _entries(self.remote.call("GET", f"{path}?project={self.number}")):
                if mark in str(entry.get("url")):
                    self.remote.call("DELETE", f"{path}{entry['id']}{end}")
        try:
            self.remote.call("POST", "api/ml/", {"project": self.number, "url": url, "title": TITLE})
        except RemoteError as error:
            hint = f"\n{LOCAL}" if error.status == 403 else ""
            raise RemoteError(f"{error}{hint}", error.status, error.reason.replace(url, self.callback)) from error
        hooks = _entries(self.remote.call("GET", f"api/webhooks/?project={self.number}"))
        if not any(str(hook.get("url")).startswith(url) for hook in hooks):
            hook = {"project": self.number, "url": f"{url}/webhook", "send_payload": True, "send_for_all_actions": True}
            self.remote.call("POST", "api/webhooks/", hook)


def _entries(found: Any) -> list[dict[str, Any]]:
    entries = found.get("results", []) if isinstance(found, dict) else found
    return [entry for entry in entries or [] if isinstance(entry, dict)]
