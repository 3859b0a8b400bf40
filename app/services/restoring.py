"""The model of a project from its snapshot, or from its items, answers and last training."""

import logging
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from app.db import jobs
from app.services.project import Project
from app.services.project_settings import learner_settings
from app.services.teaching import differences, tell
from core import Labelling, OnlineLearner, Parameters
from core.labelling import TrackRecord

log = logging.getLogger(__name__)

FORMAT = 4
OLDEST = {"likelihood": "gaussian", "model": "gp", "n_trees": 10, "leaf_size": 500}


def restore_model(project: Project, folder: Path) -> None:
    """Give the project its learner back, or bring the one that it has up to date; its rows must have been read."""
    training = last_training(project)
    mine = project.learner if _still_fits(project, training) else None
    project.training_id = training.id if training else 0
    project.trained_labels = training.report["labels"] if training else 0
    if not project.keys:
        project.learner = None
        return
    try:
        learner = mine or _from_snapshot(project, path_of(project, folder)) or build(project, training)
        for start, stop in batches(project, len(learner)):
            learner.add_items(project.table(start, stop))
        tell(learner, differences(learner, project.all_wanted()))
        learner.remember(project.foretold())
        project.learner, project.broken = learner, None
        project.made_with = project.model()
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
    """From scratch, as the last training left it: the same levels and parameters; labels are for others to tell."""
    parameters, first = Parameters(), next(iter(batches(project, 0)))[1]
    if training is not None:
        first = training.at_item
        # Trainings from before there was a choice have the first of all.
        if OLDEST | training.parameters["model"] == project.model():
            parameters = parameters_of(training.parameters)
    nodes, record = project.classes.nodes(), TrackRecord(project.foretold())
    labelling = Labelling(nodes.given, parameters=parameters, record=record, parents=nodes.parents)
    settings, x = learner_settings(project.model()), project.table(0, first)
    return OnlineLearner.build(settings, x, labelling, allocate=project.arrays.allocate, engine=project.engine)


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
    """From what `stored_parameters` gave."""
    theta = stored["theta"]
    exp = stored["kernel"] == "hik-exp" or stored["model"].get("transform") == "exp"
    if theta is not None and exp and "warnings" not in stored:  # a training from before values had a unit
        theta = [theta[0], 1.0, *theta[1:]]
    found = Parameters(
        stored["kernel"],
        stored["decided_at"],
        None if theta is None else tuple(theta),
        warnings=tuple(stored.get("warnings", ())),
    )
    if "forest" not in stored:  # a training from before there were any
        return found
    trees = tuple(tuple(tuple(part) for part in tree) for tree in stored["forest"]["trees"])
    return replace(found, **stored["forest"] | {"trees": trees})


def stored_parameters(project_model: dict[str, Any], parameters: Parameters) -> dict[str, Any]:
    """As JSON, with the settings they belong to."""
    theta = None if parameters.theta is None else list(parameters.theta)
    return {
        "model": project_model,
        "kernel": parameters.kernel,
        "decided_at": parameters.decided_at,
        "theta": theta,
        "warnings": list(parameters.warnings),
        "forest": {
            "model": parameters.model,
            "compared_at": parameters.compared_at,
            "trees": parameters.trees,
            "grown_at": parameters.grown_at,
        },
    }


def path_of(project: Project, folder: Path) -> Path:
    """Where the snapshot of a project is."""
    return folder / f"{project.id}.npz"


def take_snapshot(project: Project) -> dict[str, np.ndarray[Any, Any]] | None:
    """Arrays to be written by any thread; None without a model, or where a cluster has the items."""
    if project.learner is None or not len(project.learner) or not project.learner.is_here:
        return None
    return {
        **project.learner.state(refit=False),
        "format": np.array(FORMAT),
        "project": np.array(project.id),
        "n_items": np.array(len(project.learner)),
        "items_checksum": np.array(project.checksums[len(project.learner) - 1], dtype=np.uint64),
        "training_id": np.array(project.training_id),
        "model": np.array(repr(sorted(project.made_with.items()))),
        "class_numbers": _class_numbers(project),
    }


def write_snapshot(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """All or nothing: a file under another name, synced, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _from_snapshot(project: Project, path: Path) -> OnlineLearner | None:
    """None if there is none, or none that fits the settings, training and classes of today."""
    if project.engine is not None and learner_settings(project.model()).lives_in_parts:
        return None  # the cluster reads the items itself
    try:
        arrays = project.arrays.read(path)
        other = _differs(project, arrays)
        if other is not None:
            log.warning(
                "the snapshot of project %s is of another %s; the model is built from the log", project.id, other
            )
            return None
        nodes = project.classes.nodes()  # names may be other ones by now
        arrays["classes"] = np.array(nodes.given, dtype=np.str_)
        arrays["parents"] = np.array([nodes.parents.get(name, "") for name in nodes.given], dtype=np.str_)
        learner = OnlineLearner.restore(learner_settings(project.model()), arrays, project.arrays.allocate)
    except FileNotFoundError:
        return None
    except Exception:
        log.warning("the snapshot of project %s cannot be used; the model is built from the log", project.id)
        return None
    return learner


def _differs(project: Project, arrays: dict[str, np.ndarray[Any, Any]]) -> str | None:
    """What of a snapshot is not as in the project, if anything."""
    n_items, checksums = int(arrays["n_items"]), project.checksums
    expected = {
        "format": int(arrays["format"]) == FORMAT,
        "project": str(arrays["project"]) == project.id,
        "training": int(arrays["training_id"]) == project.training_id,
        "model": str(arrays["model"]) == repr(sorted(project.model().items())),
        "list of items": 0 < n_items <= len(checksums) and int(arrays["items_checksum"]) == checksums[n_items - 1],
        "list of classes": np.array_equal(arrays["class_numbers"], _class_numbers(project))
        and len(arrays["classes"]) == len(project.classes.names),
    }
    return next((name for name, is_same in expected.items() if not is_same), None)


def _class_numbers(project: Project) -> np.ndarray[Any, Any]:
    """Of all classes with their parents (-1 for none), which no snapshot of others fits."""
    parents = project.classes.parents
    numbers = [(number, parents.get(number, -1)) for number in sorted(project.classes.names)]
    return np.array(numbers, dtype=np.int64).reshape(-1, 2)
