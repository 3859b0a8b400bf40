"""Snapshots: the arrays of a model in a file, which make the next start fast. The log is what counts."""

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.services.project.settings import learner_settings
from app.services.project.state import Project
from app.services.runtime.writer import Task
from core import OnlineLearner

log = logging.getLogger(__name__)

FORMAT = 7


@dataclass
class TakeSnapshot(Task):
    """The model as arrays, between two turns."""

    project: Project

    def respond(self) -> None:
        """The version and the arrays; cheap, since arrays are shared, not copied."""
        self.answer = self.project.version, take_snapshot(self.project)


def snapshot_path(project: Project, folder: Path) -> Path:
    """Where the snapshot of a project is."""
    return folder / f"{project.id}.npz"


def take_snapshot(project: Project) -> dict[str, np.ndarray[Any, Any]] | None:
    """Arrays to be written by any thread; None without a model, or where a cluster has the items."""
    if project.learner is None or not len(project.learner) or not project.learner.is_here:
        return None
    return {
        **project.learner.dump(refit=False),
        "format": np.array(FORMAT),
        "project": np.array(project.id),
        "n_items": np.array(len(project.learner)),
        "items_checksum": np.array(project.checksums[len(project.learner) - 1], dtype=np.uint64),
        "training_id": np.array(project.training_id),
        "model": np.array(repr(sorted(project.made_with.items()))),
        "class_numbers": _class_numbers(project),
    }


def write_snapshot(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Write the file all or nothing: under another name, synced, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_snapshot(project: Project, path: Path) -> OnlineLearner | None:
    """The learner of a snapshot; None if there is none that fits the settings, training and classes of today."""
    if project.engine is not None and learner_settings(project.model_settings()).lives_in_parts:
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
        learner = OnlineLearner.load(learner_settings(project.model_settings()), arrays, project.arrays.allocate)
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
        "model": str(arrays["model"]) == repr(sorted(project.model_settings().items())),
        "list of items": 0 < n_items <= len(checksums) and int(arrays["items_checksum"]) == checksums[n_items - 1],
        "list of classes": np.array_equal(arrays["class_numbers"], _class_numbers(project))
        and len(arrays["classes"]) == len(project.classes.names),
    }
    return next((name for name, is_same in expected.items() if not is_same), None)


def _class_numbers(project: Project) -> np.ndarray[Any, Any]:
    """The numbers of all classes and of their parents (-1 for none): a snapshot with others does not fit."""
    parents = project.classes.parents
    numbers = [(number, parents.get(number, -1)) for number in sorted(project.classes.names)]
    return np.array(numbers, dtype=np.int64).reshape(-1, 2)
