"""How good the model is, by items drawn at random, and whether that is enough: figures, and a sentence for each."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import floor
from typing import Any

from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.writer import Task
from core.insight.accuracy import ENOUGH, MORE, RECENT, Accuracy
from core.insight.track_record import Draw


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is published of a project, and how its model did on items drawn at random."""

    view: View
    draws: Mapping[int, Draw]
    target: float
    is_search: bool
    never_draws: bool


@dataclass
class TakeEvidence(Task):
    """All from one state."""

    project: Project

    def respond(self) -> None:
        """The draws so far, judged by the labels of today."""
        project, settings = self.project, self.project.settings
        self.answer = Evidence(
            project.view,
            project.draws(),
            settings.target_accuracy,
            project.wanted is not None,
            settings.explore == 0.0,
        )


def accuracy(evidence: Evidence) -> dict[str, Any] | None:
    """The accuracy as users see it; None before there is a model, and for searches, which have a rule of their own."""
    model = evidence.view.model
    if model is None or evidence.is_search:
        return None
    found = model.accuracy(evidence.target, evidence.draws)
    return asdict(found) | {"more": MORE, "sentence": _sentence(found), "advice": _advice(found, evidence)}


def _sentence(found: Accuracy) -> str:
    """What was seen."""
    if found.value is None or found.low is None:
        so_far = f"{found.right} of {found.drawn} so far" if found.drawn else "none so far"
        return f"Items drawn at random that the model was right on: {so_far}; {ENOUGH} are needed for a figure."
    which = f"the last {RECENT}" if found.drawn == RECENT else str(found.drawn)
    shares = f"{_percent(found.value)}, at least {_percent(min(found.low, found.value))}"
    return f"On {which} items drawn at random the model was right on {found.right} ({shares})."


def _advice(found: Accuracy, evidence: Evidence) -> str:
    """Whether to go on, for whoever leads the project."""
    target = _percent(found.target)
    if not (evidence.view.n_items > evidence.view.n_labels):
        return "Done: all items are labelled."
    if found.expected is None or found.expected_more is None:
        if evidence.never_draws:
            return (
                "Nobody can tell how good the model is: the setting Random share is 0, so nothing is drawn at random."
            )
        return f"Keep labelling: it is too early to tell how good the model is. The target is {target}."
    now = f"of the items without a label the model gets about {_percent(found.expected)} right"
    later = f"about {_percent(found.expected_more)}"
    if found.stop and found.sure is not None:
        sure = _percent(min(found.sure, 0.999))
        return (
            f"You can stop: {now}, and at least the {target} that are the target ({sure} sure); "
            f"after {MORE} more labels it would be {later}."
        )
    if found.expected >= found.target:
        return (
            f"Keep labelling: {now}, but it takes more labels to be sure of the target of {target}; "
            f"after {MORE} more it would be {later}."
        )
    return f"Keep labelling: {now}, and {later} after {MORE} more labels; the target is {target}."


def _percent(share: float) -> str:
    """Rounded down, so that nobody is promised more.

    >>> _percent(0.975), _percent(0.9968), _percent(1.0)
    ('97 %', '99.6 %', '100 %')
    """
    percent = 100.0 * share + 1e-9
    return f"{floor(10 * percent) / 10:.1f} %" if 99.0 <= percent < 100.0 else f"{floor(percent)} %"
