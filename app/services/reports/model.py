"""The model in a few figures: version, kernel, hyperparameters, and whether to go on labelling."""

from dataclasses import asdict
from typing import Any

from app.services.project.settings import ProjectSettings
from app.services.project.state import Project
from app.services.project.view import View
from app.services.runtime.writer import Task
from core import Published


def advice(view: View) -> list[dict[str, Any]]:
    """Whether to go on or stop, by the published state."""
    return [asdict(one) for one in view.model.advice()] if view.model is not None else []


def model_note(settings: ProjectSettings, model: Published) -> str:
    """The model in use, and why or how far."""
    if model.model_choice is not None:
        return str(model.model_choice)
    if settings.model == "auto" and model.model == "gp" and (model.labels >= 0).sum() < 2 * settings.leaf_size:
        return f"gp: a forest is compared with it from {2 * settings.leaf_size} labels on"
    if model.model == "forest" and model.solver != "forest":
        return f"forest: one leaf until a training on more than {settings.leaf_size} labels"
    return model.model


class DescribeModel(Task):
    """The model, between two turns."""

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
            "likelihood": project.settings.likelihood,
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
                "model": model_note(project.settings, model),
                "solver": model.solver,
                "kernel": str(model.choice or model.kernel),
                "hyperparameters": dict(model.hyperparameters),
                "warnings": list(model.warnings),
            }
