"""The encoder of a project: kept by it, and at work on the few raw items of a request."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.db import encoders, projects
from app.encoders import Encoder, Kind, Raw, restore
from app.encoders.guess import cell_of
from app.services import features
from app.services.clock import now
from app.services.problems import Conflict, Invalid
from app.services.project import Project, StoredEncoder
from app.services.turns import Task

EXPECTED: dict[Kind, str] = {
    "text": "a text",
    "table": "a row of cells by column",
    "vectors": "a list of all numbers",
    "image": "an import of pictures",
    "sets": "an import of sets",
}


@dataclass
class KeepEncoder(Task):
    """Make a fitted encoder the project's, unless somebody was faster; the answer is the project's."""

    project: Project
    encoder: StoredEncoder
    state: bytes

    def record(self, connection: Connection) -> None:
        """Together with the width of the features that it makes."""
        project, encoder = self.project, self.encoder
        if project.encoder is None:
            row = asdict(encoder) | {"project_id": project.id, "state": self.state, "created_at": now()}
            encoders.add(connection, row)
            projects.change(connection, project.id, width=sum(encoder.columns))
            project.encoder, project.width, project.revision = encoder, sum(encoder.columns), project.revision + 1
        self.answer = project.encoder


def state_of(project: Project) -> bytes:
    """Of the encoder that the project has."""
    with project.database.read() as connection:
        row = encoders.get(connection, project.id)
    if row is None:
        raise Conflict("this project has no encoder yet: it is fitted by the first import of raw items")
    return bytes(row.state)


def fitted(project: Project) -> Encoder:
    """The encoder that the project has, read once."""
    if project.fitted is None:
        project.fitted = restore(state_of(project))
    return project.fitted


def is_raw(project: Project, given: Any) -> bool:
    """Whether features must first be made of this: a text, the cells of a row, a vector that is to be encoded."""
    return isinstance(given, str | dict) or (project.encoder is not None and project.encoder.kind == "vectors")


def encode_few(project: Project, given: Sequence[Any]) -> list[bytes]:
    """Features of a few raw items of a request, in the caller's thread."""
    encoder = fitted(project)
    wanted = encoder.kind
    for place, one in enumerate(given):
        kind = "text" if isinstance(one, str) else "table" if isinstance(one, dict) else "vectors"
        if kind != wanted or (kind == "vectors" and not isinstance(one, list)):
            raise Invalid(f"entry {place}: expected {EXPECTED[wanted]}, since that is what this project encodes")
    encoded = encoder.encode([_raw(one) for one in given])
    if encoded.broken:
        place, reason = min(encoded.broken.items())
        raise Invalid(f"entry {place}: {reason}")
    return features.blobs(encoded.table)


def _raw(given: Any) -> Raw:
    if isinstance(given, dict):
        return {name: cell_of(cell) for name, cell in given.items()}
    return given if isinstance(given, str) else np.array(given, dtype=np.float64)
