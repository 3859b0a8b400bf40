"""Imports: a file is stored, then read in the background, portion by portion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.services import features
from app.services.answers import Answer, AnswerTask
from app.services.classes import check_labels
from app.services.item_files import Format, Portion, read_portions
from app.services.job_runner import Progress
from app.services.media import Media
from app.services.pool import AddItems
from app.services.problems import Invalid
from app.services.raw_imports import RawImport
from app.services.raw_items import Form, form_of
from app.services.service import Running
from app.services.turns import LATER


@dataclass(frozen=True)
class Import:
    """A file to be read, and whose labels they are, if labels in it count; without a form it is looked at."""

    path: Path
    form: Form | None
    media: Media
    index_base: int = 1
    annotator: str | None = None


def run_import(running: Running, wanted: Import, progress: Progress) -> dict[str, Any]:
    """Add all items, then build the model once: its levels should know all of them."""
    n_items = len(running.project.keys)
    with running.importing():
        try:
            return _read(running, wanted, progress)
        finally:
            wanted.path.unlink(missing_ok=True)
            if len(running.project.keys) > n_items:
                running.train(progress, tune=False)


def _read(running: Running, wanted: Import, progress: Progress) -> dict[str, Any]:
    """All items of the file."""
    form = wanted.form or form_of(wanted.path, running.project.budgets, progress.check)
    if running.project.settings.encoder != "none":
        raw = RawImport(running, wanted.media, wanted.annotator, progress)
        return raw.run(wanted.path, form, wanted.index_base)
    if form == "zip":
        raise Invalid("a zip of pictures or texts needs a project with an encoder: set encoder to auto")
    return _add_features(running, wanted, form, progress)


def _add_features(running: Running, wanted: Import, form: Format, progress: Progress) -> dict[str, Any]:
    """Items whose features the file holds."""
    project = running.project
    added = unchanged = labelled = 0
    width = (
        _columns(running, wanted, form, progress)
        if project.width is None and project.settings.columns is None
        else None
    )
    for portion in read_portions(wanted.path, form, wanted.index_base, project.budgets, progress.check):
        progress.tell(portion.read, portion.total, f"{added + unchanged} items read")
        if not portion.rows:
            continue
        if wanted.annotator is not None:
            # Before the items are stored: they come with their labels or not at all.
            check_labels(project, (row.label for row in portion.rows if row.label is not None))
        task = AddItems(project, [row.item for row in portion.rows], portion.width or width, teach=False)
        answer = progress.wait_for(running.writer.submit(task, LATER))
        added, unchanged = added + answer["added"], unchanged + answer["unchanged"]
        labelled += _label(running, wanted, portion, answer["keys"], progress)
    return {"added": added, "unchanged": unchanged, "labelled": labelled}


def _columns(running: Running, wanted: Import, form: Format, progress: Progress) -> int | None:
    """Of a file that does not tell: its first rows need not have them all, so it is read twice."""
    most = None
    if form in ("svmlight", "jsonl"):
        for portion in read_portions(wanted.path, form, wanted.index_base, running.project.budgets, progress.check):
            progress.tell(portion.read, portion.total, "counting columns")
            most = max(most or 0, portion.width or 0, features.n_columns(row.item.features for row in portion.rows))
            running.project.budgets.check_columns(most)
    return most


def _label(running: Running, wanted: Import, portion: Portion, keys: list[str], progress: Progress) -> int:
    if wanted.annotator is None:
        return 0
    answers = [Answer(key, row.label) for key, row in zip(keys, portion.rows, strict=True) if row.label is not None]
    if answers:
        task = AnswerTask(project=running.project, annotator=wanted.annotator, answers=answers)
        progress.wait_for(running.writer.submit(task, LATER))
    return len(answers)
