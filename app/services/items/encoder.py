"""The encoder of a project: stored, described, and at work on the few raw items of a request."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.db import encoders, projects
from app.db.database import Database
from app.encoders import Encoded, Encoder, Kind, Raw, restore
from app.encoders.guess import cell_of
from app.services.encoding.process import EncodingFailed
from app.services.items import features
from app.services.problems import Conflict, Invalid
from app.services.project.state import Project, StoredEncoder
from app.services.runtime.clock import now
from app.services.runtime.writer import Task

EXPECTED: dict[Kind, str] = {
    "text": "a text",
    "table": "a row of cells by column",
    "vectors": "a list of all numbers",
    "image": "an import of pictures",
    "sets": "an import of sets",
}


@dataclass
class StoreEncoder(Task):
    """Make a fitted encoder the project's, unless somebody was faster; the answer is the project's."""

    project: Project
    encoder: StoredEncoder
    state: bytes

    def record(self, connection: Connection) -> None:
        """Write the encoder, and the width of the features that it makes."""
        project, encoder = self.project, self.encoder
        if project.encoder is None:
            row = asdict(encoder) | {"project_id": project.id, "state": self.state, "created_at": now()}
            encoders.add(connection, row)
            projects.change(connection, project.id, width=sum(encoder.columns))
            project.encoder, project.width, project.revision = encoder, sum(encoder.columns), project.revision + 1
        self.answer = project.encoder


def encoder_state(project: Project) -> bytes:
    """The stored state of the project's encoder, as bytes."""
    with project.database.read() as connection:
        row = encoders.get(connection, project.id)
    if row is None:
        raise Conflict("this project has no encoder yet: the first import of raw items makes it")
    return bytes(row.state)


def fitted_encoder(project: Project) -> Encoder:
    """The encoder that the project has, read once."""
    if project.fitted is None:
        project.fitted = restore(encoder_state(project))
    return project.fitted


def encode_here(project: Project, raws: Sequence[Raw]) -> Encoded:
    """Encode a few raw items while somebody waits; a pretrained model does so in the process that keeps it."""
    encoder = fitted_encoder(project)
    if not encoder.needs_model:
        return encoder.encode(raws)
    try:
        return project.models.encode(encoder_state(project), raws)
    except (ValueError, EncodingFailed) as error:
        raise Conflict(str(error)) from error


def is_raw(project: Project, given: Any) -> bool:
    """Whether features must first be made of this: a text, the cells of a row, a vector that is to be encoded."""
    return isinstance(given, str | dict) or (project.encoder is not None and project.encoder.kind == "vectors")


def encode_few(project: Project, given: Sequence[Any]) -> list[bytes]:
    """Features of a few raw items of a request, in the caller's thread."""
    encoder = fitted_encoder(project)
    expected = encoder.kind
    for place, one in enumerate(given):
        kind = "text" if isinstance(one, str) else "table" if isinstance(one, dict) else "vectors"
        if kind == "table" and encoder.reads_columns:
            kind = expected
        if kind != expected or (kind == "vectors" and not isinstance(one, list)):
            raise Invalid(f"entry {place}: expected {EXPECTED[expected]}, as in the other items of this project")
    encoded = encode_here(project, [_raw(one) for one in given])
    if encoded.broken:
        place, reason = min(encoded.broken.items())
        raise Invalid(f"entry {place}: {reason}")
    return features.blobs(encoded.table)


def _raw(given: Any) -> Raw:
    if isinstance(given, dict):
        return {name: cell_of(cell) for name, cell in given.items()}
    return given if isinstance(given, str) else np.array(given, dtype=np.float64)


def describe_encoder(connection: Connection, project_id: str) -> dict[str, Any] | None:
    """How raw items became features, for people to read; None where features come as numbers."""
    row = encoders.without_states(connection, [project_id]).get(project_id)
    return None if row is None else asdict(StoredEncoder.of(row))


def column_names(database: Database, project_id: str) -> list[str] | None:
    """What the columns are called, where that means something to people."""
    with database.read() as connection:
        row = encoders.get(connection, project_id)
    return None if row is None else _names(bytes(row.state))


@lru_cache(maxsize=16)
def _names(state: bytes) -> list[str] | None:
    return restore(state).names()
