"""Training: in the background, on what is known when it begins, then caught up and put in place in one turn."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from app.db import jobs
from app.services.items.stored import item_table
from app.services.model.restoring import batches, stored_parameters
from app.services.problems import Conflict
from app.services.project.learner_labels import Labels, apply_changes, label_changes
from app.services.project.settings import learner_settings
from app.services.project.state import Project
from app.services.runtime.clock import now
from app.services.runtime.jobs import Progress
from app.services.runtime.writer import LATER, Task, Writer
from core import Labelling, OnlineLearner, Parameters
from core.classes.nodes import Nodes
from core.insight.track_record import TrackRecord
from core.queries.draws import RANDOM, drawn

FIRST_TRAINING = 10  # labels
GROWTH = 1.5  # of the labels, from one training to the next
CLOSE = 3  # labels behind which the last few are learnt while people wait


class Outdated(Conflict):
    """What was trained does not fit any more: begin again."""


@dataclass
class Material:
    """What a training starts from."""

    model: dict[str, Any]
    labelling: Labelling
    n_items: int
    sequence: int


@dataclass
class TakeMaterial(Task):
    """Copy what is known now."""

    project: Project

    def respond(self) -> None:
        """Labels by name, with the parameters of today."""
        project, learner = self.project, self.project.learner
        labels = in_order(project, project.agreed_labels())
        nodes = project.classes.nodes()
        parameters, record = Parameters(), TrackRecord(project.draws())
        if learner is not None and len(learner) and project.made_with == project.model_settings():
            known = learner.labelling()
            parameters, record = known.parameters, known.record
        labelling = Labelling(
            nodes.given,
            {item: name for item, (name, _) in labels.items()},
            {item: noise_factor for item, (_, noise_factor) in labels.items()},
            parameters,
            record,
            parents=nodes.parents,
        )
        self.answer = Material(project.model_settings(), labelling, len(project.keys), project.ledger.sequence)


def in_order(project: Project, labels: Labels) -> Labels:
    """Those that nobody was asked for first, by lot, and then the others as they came.

    A training looks at what was said of labels before they came; the order of an upload means nothing.
    """
    items, firsts = np.array(list(labels), dtype=np.int64), project.ledger.firsts
    lots = dict(zip(labels, drawn(0, RANDOM, items).tolist(), strict=True))
    asked = {item: item in firsts and firsts[item].asked for item in labels}
    return {item: labels[item] for item in sorted(labels, key=lambda item: (asked[item], asked[item] or lots[item]))}


@dataclass
class TakeLabels(Task):
    """What the model should know now."""

    project: Project

    def respond(self) -> None:
        """Classes may have changed, too."""
        self.answer = self.project.classes.nodes(), self.project.agreed_labels()


@dataclass
class PutInPlace(Task):
    """Make the trained learner the project's."""

    project: Project
    learner: OnlineLearner
    material: Material

    def prepare(self) -> None:
        """What the training tells of itself."""
        report: dict[str, Any] = {"labels": len(self.material.labelling.labels), "items": self.material.n_items}
        model = self.learner.publish()
        choices = {
            "choice": model.choice,
            "model_choice": model.model_choice,
            "likelihood_choice": model.likelihood_choice,
        }
        for name, choice in choices.items():
            if choice is not None:
                report[name] = str(choice)
        self._parameters = self.learner.labelling().parameters
        report["warnings"] = list(self._parameters.warnings)
        self._report = report

    def record(self, connection: Connection) -> None:
        """A restart builds the same model from this row."""
        _check_classes(self.learner, self.project.classes.nodes())
        if self.material.model != self.project.model_settings():
            raise Outdated("the settings were changed during the training")
        row = {
            "project_id": self.project.id,
            "at_event": self.material.sequence,
            "at_item": self.material.n_items,
            "parameters": stored_parameters(self.material.model, self._parameters),
            "report": self._report,
            "created_at": now(),
        }
        self._training_id = jobs.add_training(connection, row)
        shown = asdict(self._parameters) | {"trees": len(self._parameters.trees)}
        self.answer = self._report | {"parameters": shown}

    def learn(self) -> None:
        """Catch up with the last few changes."""
        project = self.project
        project.learner, project.broken = self.learner, None
        project.training_id = self._training_id
        project.trained_labels = len(self.material.labelling.labels)
        project.made_with = self.material.model
        _add_classes(self.learner, project.classes.nodes())
        for start, stop in batches(project, len(self.learner)):
            self.learner.add_items(item_table(project, start, stop))
        project.learn_all()
        self.learner.remember(project.draws())


def train(project: Project, writer: Writer, progress: Progress, *, tune: bool) -> dict[str, Any]:
    """The whole of it, in the thread of a job; the writer is needed for moments only."""
    material: Material = progress.wait_for(writer.submit(TakeMaterial(project), LATER))
    if not material.n_items:
        return {"labels": 0, "items": 0}
    progress.report(0, None, "reading items")
    x = item_table(project, 0, material.n_items, progress.check)
    settings = learner_settings(material.model)
    progress.report(0, None, "training")
    learner = OnlineLearner.build(
        settings,
        x,
        material.labelling,
        train=tune,
        on_step=progress.step,
        allocate=project.arrays.allocate,
        engine=project.engine,
    )
    try:
        while _catch_up(learner, *writer.do(TakeLabels(project), LATER)) > CLOSE:
            progress.step()
        progress.check()
        return dict(writer.do(PutInPlace(project, learner, material), LATER))
    except Outdated:
        return train(project, writer, progress, tune=tune)


def _catch_up(learner: OnlineLearner, nodes: Nodes, labels: Labels) -> int:
    """Learn what came in while training, and tell how much it was."""
    _check_classes(learner, nodes)
    _add_classes(learner, nodes)
    changes = label_changes(learner, labels)
    apply_changes(learner, changes)
    return len(changes)


def _add_classes(learner: OnlineLearner, nodes: Nodes) -> None:
    names = nodes.given[len(learner.nodes.given) :]
    if names:
        learner.add_classes(names, {name: nodes.parents[name] for name in names if name in nodes.parents})


def _check_classes(learner: OnlineLearner, nodes: Nodes) -> None:
    known = learner.nodes
    same = all(nodes.parents.get(name) == known.parents.get(name) for name in known.given)
    if nodes.given[: len(known.given)] != known.given or not same:
        raise Outdated("classes were renamed, moved or merged during the training")


def is_due(project: Project) -> bool:
    """Whether labels have grown enough since the last training, or the model is broken, outdated or lacks items.

    A leaf of a forest that has become too large is split by a training, too.
    """
    view = project.view
    n_known = len(view.model) if view.model is not None else 0
    if project.broken is not None or n_known < view.n_items or project.is_outdated:
        return True
    grown = view.n_labels >= max(FIRST_TRAINING, GROWTH * project.trained_labels) and view.n_seen > 1
    outgrown = view.model is not None and view.model.is_outgrown
    return (grown or outgrown) and project.settings.retrain == "auto"
