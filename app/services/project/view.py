"""What readers see of a project while its writer goes on."""

from dataclasses import dataclass

from core import Published


@dataclass(frozen=True)
class View:
    """What readers see: the last published state of the model, and what it was made of."""

    version: int = 0
    sequence: int = 0  # of the last event that the model knows
    n_items: int = 0
    n_labels: int = 0
    n_seen: int = 0  # classes with labels
    training_id: int = 0  # the training that the model comes from
    model: Published | None = None
    degraded: str | None = None
