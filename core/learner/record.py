"""What a learner knows besides its items and settings: with them it makes the same model again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.insight.track_record import TrackRecord
from core.models.parameters import Parameters


@dataclass(frozen=True, eq=False)
class Labelling:
    """Classes, labels by item, what multiplies the noise of each label, and what was found by training.

    `parents` tell what some of the classes are a kind of.
    """

    classes: tuple[str, ...]
    labels: Mapping[int, str] = field(default_factory=dict)
    noise_factors: Mapping[int, float] = field(default_factory=dict)
    parameters: Parameters = Parameters()
    record: TrackRecord = field(default_factory=TrackRecord)
    version: int = 0
    parents: Mapping[str, str] = field(default_factory=dict)
