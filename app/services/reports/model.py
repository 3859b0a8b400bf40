"""The model in a few figures: version, kernel, hyperparameters, and estimates of how good it is."""

from dataclasses import asdict
from typing import Any

from app.services.project.settings import ProjectSettings
from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.writer import Task
from core import Published
from core.insight.stopping import LEFT_OUT
from core.selection.likelihood import MIN_LABELS


def estimates(view: View, *, for_leads: bool) -> list[dict[str, Any]]:
    """What else can be said of the published model; annotators are not told how hard the labels asked for are."""
    found = view.model.estimates() if view.model is not None else []
    return [asdict(one) for one in found if for_leads or one.name != LEFT_OUT]


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
    if settings.likelihood == "auto" and (settings.goal == "find" or settings.tune == "none"):
        return f"{model.likelihood}: searches, and hyperparameters that stay as they are, have label regression alone"
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
