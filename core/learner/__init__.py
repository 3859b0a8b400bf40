"""The online learner: items in, labels in, the next question out."""

from core.insight.track_record import TrackRecord
from core.learner.learner import OnlineLearner
from core.learner.record import Labelling
from core.learner.view import Published

__all__ = ["Labelling", "OnlineLearner", "Published", "TrackRecord"]
