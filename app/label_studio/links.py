"""All links to Label Studio: made, found by their secrets, removed."""

import secrets
import threading
from typing import Any

from app.db import label_studio as rows
from app.label_studio.link import Link
from app.label_studio.remote import checked_address
from app.services.access import digest_of
from app.services.problems import Invalid, NotFound, Unauthorised
from app.services.registry.service import Service
from app.services.runtime.clock import now


class LabelStudio:
    """The links of a service; it starts and stops with the application."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._links: dict[str, Link] = {}
        self._changing = threading.Lock()

    def start(self) -> None:
        """Begin to work on all links there are."""
        with self._service.database.read() as connection:
            found = rows.every_link(connection)
        for row in found:
            self._begin(row)

    def stop(self) -> None:
        """End the work on all links."""
        for link in list(self._links.values()):
            link.stop()

    def find(self, project_id: str, secret: str, address: str) -> Link:
        """The link behind an address; whoever keeps guessing is told to wait."""
        link = self._links.get(project_id)
        if link is None or not link.opens_with(digest_of(secret)):
            self._service.access.note_guess(address)
            raise Unauthorised(
                "AskNext does not know this address: a newer one may have replaced it. Create a link again"
            )
        return link

    def of_project(self, project_id: str) -> Link:
        """The link of a project that somebody may see."""
        link = self._links.get(project_id)
        if link is None:
            raise NotFound("this project is not linked to Label Studio")
        return link

    def describe(self, project_id: str) -> dict[str, Any] | None:
        """How the link of a project goes, if there is one."""
        link = self._links.get(project_id)
        return None if link is None else link.describe()

    def create(
        self, project_id: str, address: str | None, token: str | None, remote_project: int | None, top: int
    ) -> dict[str, Any]:
        """A new link, instead of an old one; its path is in the answer and nowhere else."""
        if (address is None) != (token is None):
            raise Invalid("give both the address of Label Studio and a token, or neither")
        secret = secrets.token_urlsafe(32)
        values = {
            "project_id": project_id,
            "digest": digest_of(secret),
            "address": None if address is None else checked_address(address),
            "token": token,
            "remote_project": remote_project,
            "top": top,
            "created_at": now(),
        }
        with self._changing:
            self.end(project_id)
            with self._service.database.write() as connection:
                before = rows.link(connection, project_id)
                if before is not None and not _same(before, values):
                    rows.forget_all(connection, project_id)
                rows.put_link(connection, values)
                row = rows.link(connection, project_id)
            shown = self._begin(row).describe()
        return shown | {"path": f"/label-studio/{project_id}/{secret}"}

    def remove(self, project_id: str) -> None:
        """End a link; what was labelled stays."""
        with self._changing:
            self.of_project(project_id)
            self.end(project_id)
            with self._service.database.write() as connection:
                rows.forget_all(connection, project_id)
                rows.remove_link(connection, project_id)

    def sync(self, project_id: str) -> str:
        """Bring everything from Label Studio, in the background: the job."""
        link = self.of_project(project_id)
        return self._service.jobs.start(project_id, "label studio", link.sync)

    def _begin(self, row: Any) -> Link:
        link = Link(self._service, row)
        self._links[row.project_id] = link
        link.start()
        return link

    def end(self, project_id: str) -> None:
        """Stop working for a project."""
        link = self._links.pop(project_id, None)
        if link is not None:
            link.stop()


def _same(before: Any, values: dict[str, Any]) -> bool:
    """Whether two links are with the same project, as far as one can tell."""
    pairs = [(getattr(before, name), values[name]) for name in ("address", "remote_project")]
    return all(old is None or new is None or old == new for old, new in pairs)
