"""The model in a few figures: version, kernel, hyperparameters, and whether to go on labelling."""

from dataclasses import asdict
from typing import Any

from app.services.project.settings import ProjectSettings
from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.writer import Task
from core import Published
from core.insight.stopping import CONFIDENCE, GOOD_ACCURACY, STABLE, SURE, Advice
from core.selection.likelihood import MIN_LABELS


def advice(view: View) -> list[dict[str, Any]]:
    """Whether to keep labelling or stop, by the published state, each estimate with a sentence."""
    model = view.model
    return [asdict(one) | {"reason": _sentence(one, model)} for one in model.advice()] if model is not None else []


def _sentence(one: Advice, model: Published) -> str:
    """What an estimate means, with the counts behind it; one that cannot be made yet says what is missing."""
    if one.value is None:
        return one.reason.replace("go on: ", "keep labelling: ")
    word = "enough" if one.stop else "keep labelling"
    if one.name == "leave-one-out accuracy":
        n = len(model.left_out.items)
        return f"{word}: {round(one.value * n)} of {n} labels are predicted by all the others{_bound(one)}"
    if one.name == "accuracy on random items":
        n = len(model.record.outcomes)
        return f"{word}: on {n} items drawn at random the model was right on {round(one.value * n)}{_bound(one)}"
    if one.name == "stability of predictions":
        return f"{word}: this share of the predictions has stayed the same lately (enough from {100 * STABLE:.0f} %)"
    if one.name == "mean pool uncertainty":
        return f"{word}: the model expects to be wrong on this share of the items (enough from {100 * SURE:.0f} % down)"
    return one.reason


def _bound(one: Advice) -> str:
    low = "" if one.low is None else f", at least {100 * one.low:.1f} % with {100 * CONFIDENCE:.0f} % confidence"
    return f"{low} (enough from {100 * GOOD_ACCURACY:.0f} %)"


def model_note(settings: ProjectSettings, model: Published) -> str:
    """The model in use, and why or how far."""
    if model.model_choice is not None:
        return str(model.model_choice)
    if settings.model == "auto" and model.model == "gp" and (model.labels >= 0).sum() < 2 * settings.leaf_size:
        return f"gp: it is compared with a forest from {2 * settings.leaf_size} labels on"
    if model.model == "forest" and model.solver != "forest":
        return f"forest: one leaf until it is trained on more than {settings.leaf_size} labels"
    return model.model


def likelihood_note(settings: ProjectSettings, model: Published) -> str:
    """The likelihood in use, and why or how far."""
    if model.likelihood_choice is not None:
        return str(model.likelihood_choice)
    if settings.likelihood == "auto" and (settings.balance or settings.model != "gp"):
        return f"{model.likelihood}: balanced classes and forests have label regression alone"
    if settings.likelihood == "auto" and (model.labels >= 0).sum() < MIN_LABELS:
        return f"{model.likelihood}: it is compared with softmax from {MIN_LABELS} labels on"
    return model.likelihood


class DescribeModel(Task):
    """The model, between two turns of the writer."""

    def __init__(self, project: Project, training: str | None) -> None:
        self._project, self._training = project, training

    def respond(self) -> None:
        """All from one state."""
        project, model = self._project, self._project.view.model
        labels = project.agreed_labels()
        counts = dict.fromkeys(project.classes.active(), 0)
        for name, _ in labels.values():
            counts[name] += 1
        self.answer = {
            "version": project.version,
            "degraded": project.degraded,
            "likelihood": None,
            "model": None,
            "solver": None,
            "kernel": None,
            "hyperparameters": {},
            "warnings": [],
            "items": len(project.keys),
            "labelled": len(labels),
            "classes": counts,
            "training": self._training,
            "sequence": project.ledger.sequence,
        }
        if model is not None:
            self.answer |= {
                "likelihood": likelihood_note(project.settings, model),
                "model": model_note(project.settings, model),
                "solver": model.solver,
                "kernel": str(model.choice or model.kernel),
                "hyperparameters": dict(model.hyperparameters),
                "warnings": list(model.warnings),
            }
