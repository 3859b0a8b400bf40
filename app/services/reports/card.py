"""The model card: what a reader needs to know to trust the model, or not to."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.db import jobs, projects
from app.db.database import Database
from app.services.items.encoder import describe_encoder
from app.services.project import catalogue
from app.services.project.class_book import ClassBook
from app.services.project.settings import ProjectSettings
from app.services.project.view import View
from app.services.reports.accuracy import Evidence, accuracy
from app.services.reports.insights import class_counts
from app.services.reports.model import estimates, likelihood_note, model_note
from app.services.reports.report import Report
from core import Published
from core.insight.accuracy import ENOUGH

LIBRARIES = ("asknext", "numpy", "scipy", "scikit-learn", "numba")
LOOK_BACK = 100  # trainings among which the last choice of a kernel is looked for


def card(database: Database, project_id: str, evidence: Evidence, for_leads: bool) -> dict[str, Any]:
    """Everything in one answer, from the log and the published state."""
    view = evidence.view
    with database.read() as connection:
        report = Report(connection, project_id)
        classes = ClassBook.of(projects.all_classes(connection, project_id))
        project = catalogue.describe_project(connection, project_id)
        encoder = describe_encoder(connection, project_id)
        training = jobs.last_training(connection, project_id)
        kernel = _kernel(connection, project_id, project["settings"], encoder, view.model)
        settings = ProjectSettings.stored(project["settings"])
        model = _model(connection, project_id, settings, view.model)
        likelihood = _likelihood(connection, project_id, settings, view.model)
        agreement, annotators = report.agreement(), report.annotators()
    counts = class_counts(classes.active(), view.model)
    return {
        "project": project,
        "version": view.version,
        "items": view.n_items,
        "labelled": view.n_labels,
        "classes": counts,
        "encoder": encoder,
        "likelihood": likelihood,
        "model": model,
        "kernel": kernel,
        "solver": view.model.solver if view.model is not None else None,
        "hyperparameters": dict(view.model.hyperparameters) if view.model is not None else {},
        "channels": _channels(encoder, view.model),
        "figures": {
            "accuracy": accuracy(evidence),
            "estimates": estimates(view, for_leads=for_leads),
            "confusion": _confusion(view) if for_leads else {},
        },
        "annotators": annotators,
        "agreement": agreement,
        "training": None if training is None else {"created_at": training.created_at} | training.report,
        "cautions": _cautions(view, counts, len(evidence.draws)),
        "made_with": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
    }


def _kernel(
    connection: Connection,
    project_id: str,
    settings: dict[str, Any],
    encoder: dict[str, Any] | None,
    model: Published | None,
) -> dict[str, Any] | None:
    if model is None:
        return None
    rule = ProjectSettings.stored(settings).model_parts(encoder["kind"] if encoder else None)["kernel"]
    if rule != "auto":
        why = "it is chosen in the settings of the project"
        return {
            "name": model.kernel,
            "why": why if settings["kernel"] else "it fits the features that the encoder makes",
        }
    reasons = [report["choice"] for report in jobs.reports(connection, project_id, LOOK_BACK) if "choice" in report]
    if reasons and reasons[0].startswith(f"{model.kernel}:"):
        return {"name": model.kernel, "why": reasons[0]}
    return {"name": model.kernel, "why": "it fits these items; it has not been compared with other kernels yet"}


def _model(
    connection: Connection, project_id: str, settings: ProjectSettings, model: Published | None
) -> dict[str, Any] | None:
    if model is None:
        return None
    if settings.model != "auto":
        return {"name": model.model, "why": "it is chosen in the settings of the project"}
    stored = jobs.reports(connection, project_id, LOOK_BACK)
    reasons = [report["model_choice"] for report in stored if "model_choice" in report]
    why = reasons[0] if reasons and reasons[0].startswith(f"{model.model}:") else model_note(settings, model)
    return {"name": model.model, "why": why}


def _likelihood(
    connection: Connection, project_id: str, settings: ProjectSettings, model: Published | None
) -> dict[str, Any] | None:
    if model is None:
        return None
    if settings.likelihood != "auto":
        return {"name": model.likelihood, "why": "it is chosen in the settings of the project"}
    stored = jobs.reports(connection, project_id, LOOK_BACK)
    reasons = [report["likelihood_choice"] for report in stored if "likelihood_choice" in report]
    fits = reasons and reasons[0].startswith(f"{model.likelihood}:")
    return {"name": model.likelihood, "why": reasons[0] if fits else likelihood_note(settings, model)}


def _channels(encoder: dict[str, Any] | None, model: Published | None) -> list[dict[str, Any]]:
    """The weight of each group of columns in the kernel."""
    parameters = model.hyperparameters if model is not None else {}
    weights = [value for name, value in parameters.items() if name.startswith("weight[")]
    names = [channel["name"] for channel in (encoder or {}).get("channels", [])]
    names = names if len(names) == len(weights) else [f"group {place}" for place in range(len(weights))]
    return [{"name": name, "weight": weight} for name, weight in zip(names, weights, strict=True)]


def _confusion(view: View) -> dict[str, dict[str, int]]:
    """How many labels of each class the other labels take for which class (leave-one-out)."""
    model = view.model
    if model is None or not model.tells_classes_apart:
        return {}
    guesses, labels = model.left_out.predicted, model.left_out.labels
    table: dict[str, dict[str, int]] = {}
    pairs, counts = np.unique(np.stack([labels, guesses]), axis=1, return_counts=True)
    for label, guess, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
        table.setdefault(model.nodes.names[label], {})[model.classes[guess]] = count
    return table


def _cautions(view: View, counts: dict[str, dict[str, int]], n_drawn: int) -> list[str]:
    """What should make a reader careful."""
    found = []
    if view.degraded is not None:
        found.append(view.degraded)
    found.extend(view.model.warnings if view.model is not None else ())
    missing = view.n_items - (len(view.model) if view.model is not None else 0)
    if missing:
        found.append(f"{missing} items are not in the model yet")
    classes = view.model.classes if view.model is not None else tuple(counts)
    empty = sum(not counts[name]["labelled"] for name in classes if name in counts)
    if empty:
        found.append(f"{empty} of {len(classes)} classes have no label yet: predictions of these classes mean nothing")
    if n_drawn < ENOUGH:
        found.append(
            f"only {n_drawn} of the labelled items were drawn at random; with {ENOUGH} or more they tell how accurate "
            "the model is. Items that the query strategy chose are harder than most"
        )
    return found
