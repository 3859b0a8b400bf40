"""The model of a project from its snapshot, or from its items, answers and last training."""

import logging
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from app.db import jobs
from app.services.items.stored import item_table
from app.services.model.snapshots import read_snapshot, snapshot_path
from app.services.project.learner_labels import apply_changes, label_changes
from app.services.project.settings import learner_settings
from app.services.project.state import Project
from app.services.runtime.writer import Task
from core import Labelling, OnlineLearner, Parameters
from core.insight.track_record import TrackRecord

log = logging.getLogger(__name__)

OLDEST = {"likelihood": "gaussian", "model": "gp", "n_trees": 10, "leaf_size": 500, "normalise": False}
FORMER_NAMES = {
    "decided_at": "kernel_chosen_at",
    "compared_at": "model_chosen_at",
    "weighed_at": "likelihood_chosen_at",
}  # of what trainings stored


@dataclass
class ReadAgain(Task):
    """Others may have written: everything is read again, and the model brought up to date."""

    project: Project
    snapshots: Path

    def respond(self) -> None:
        """Read the project from the database, then bring its learner up to date."""
        self.project.reload()
        restore_model(self.project, self.snapshots)


def restore_model(project: Project, folder: Path) -> None:
    """Give the project its learner back, or bring the one that it has up to date; its rows must have been read."""
    training = last_training(project)
    mine = project.learner if _still_fits(project, training) else None
    project.training_id = training.id if training else 0
    project.trained_labels = training.report["labels"] if training and _is_of_today(project, training) else 0
    if not project.keys:
        project.learner = None
        return
    try:
        learner = mine or read_snapshot(project, snapshot_path(project, folder)) or build(project, training)
        for start, stop in batches(project, len(learner)):
            learner.add_items(item_table(project, start, stop))
        apply_changes(learner, label_changes(learner, project.agreed_labels()))
        learner.remember(project.draws())
        project.learner, project.broken = learner, None
        project.made_with = project.model_settings()
    except Exception as error:
        log.exception("the model of project %s could not be restored", project.id)
        project.learner, project.broken = None, f"the model could not be restored ({type(error).__name__})"


def _still_fits(project: Project, training: Any) -> bool:
    """Whether the learner comes from the last training and has the settings and classes of today."""
    return (
        project.learner is not None
        and len(project.learner) <= len(project.keys)
        and project.training_id == (training.id if training else 0)
        and not project.is_outdated
        and project.learner.nodes == project.classes.nodes()
    )


def build(project: Project, training: Any) -> OnlineLearner:
    """A new learner with the levels and parameters of the last training; it has no labels yet."""
    parameters, first = Parameters(), next(iter(batches(project, 0)))[1]
    if training is not None:
        first = training.at_item
        if _is_of_today(project, training):
            parameters = parameters_of(training.parameters)
    nodes, record = project.classes.nodes(), TrackRecord(project.draws())
    labelling = Labelling(nodes.given, parameters=parameters, record=record, parents=nodes.parents)
    settings, x = learner_settings(project.model_settings()), item_table(project, 0, first)
    return OnlineLearner.build(settings, x, labelling, allocate=project.arrays.allocate, engine=project.engine)


def _is_of_today(project: Project, training: Any) -> bool:
    """Whether a training was of the model of today; those from before there was a choice have the first of all."""
    return bool(OLDEST | training.parameters["model"] == project.model_settings())


def batches(project: Project, start: int) -> list[tuple[int, int]]:
    """Items from `start` on in the portions they came in: levels depend on them."""
    ends = [i for i in range(start + 1, len(project.keys)) if project.batches[i] != project.batches[i - 1]]
    edges = [start, *ends, len(project.keys)]
    return [(a, b) for a, b in pairwise(edges) if a < b]


def last_training(project: Project) -> Any:
    """The newest row of the table, or None."""
    with project.database.read() as connection:
        return jobs.last_training(connection, project.id)


def parameters_of(stored: dict[str, Any]) -> Parameters:
    """The parameters in a row of the table of trainings, which `stored_parameters` made."""
    stored = _by_todays_names(stored)
    theta = stored["theta"]
    exp = stored["kernel"] == "hik-exp" or stored["model"].get("transform") == "exp"
    if theta is not None and exp and "warnings" not in stored:  # a training from before values had a unit
        theta = [theta[0], 1.0, *theta[1:]]
    found = Parameters(
        stored["kernel"],
        stored["kernel_chosen_at"],
        None if theta is None else tuple(theta),
        warnings=tuple(stored.get("warnings", ())),
        levels=stored.get("levels", "auto"),
        sharpness=stored.get("sharpness"),
        likelihood=stored.get("likelihood"),
        likelihood_chosen_at=stored.get("likelihood_chosen_at", 0),
    )
    if "forest" not in stored:  # a training from before there were any
        return found
    trees = tuple(tuple(tuple(part) for part in tree) for tree in stored["forest"]["trees"])
    return replace(found, **_by_todays_names(stored["forest"]) | {"trees": trees})


def _by_todays_names(stored: dict[str, Any]) -> dict[str, Any]:
    return {FORMER_NAMES.get(name, name): value for name, value in stored.items()}


def stored_parameters(project_model: dict[str, Any], parameters: Parameters) -> dict[str, Any]:
    """Parameters as JSON, with the model settings they belong to."""
    theta = None if parameters.theta is None else list(parameters.theta)
    return {
        "model": project_model,
        "kernel": parameters.kernel,
        "kernel_chosen_at": parameters.kernel_chosen_at,
        "theta": theta,
        "warnings": list(parameters.warnings),
        "levels": parameters.levels,
        "sharpness": parameters.sharpness,
        "likelihood": parameters.likelihood,
        "likelihood_chosen_at": parameters.likelihood_chosen_at,
        "forest": {
            "model": parameters.model,
            "model_chosen_at": parameters.model_chosen_at,
            "trees": parameters.trees,
            "grown_at": parameters.grown_at,
        },
    }
