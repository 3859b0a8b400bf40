"""Imports: a file is stored, then read in the background, portion by portion."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.services.imports.feature_files import Format, Portion, read_portions
from app.services.imports.raw_items import ImportFormat, form_of
from app.services.imports.raw_run import RawImport
from app.services.items import features
from app.services.items.add import AddItems
from app.services.items.media import Media
from app.services.labelling.answers import Answer, AnswerTask
from app.services.problems import Invalid
from app.services.project.classes import check_labels
from app.services.registry.running import Running
from app.services.runtime.jobs import Progress
from app.services.runtime.writer import LATER


@dataclass(frozen=True)
class Import:
    """A file to be read, and whose labels they are, if labels in it count; without a form it is looked at."""

    path: Path
    form: ImportFormat | None
    media: Media
    index_base: int = 1
    annotator: str | None = None


def run_import(running: Running, upload: Import, progress: Progress) -> dict[str, Any]:
    """Add all items, then build the model once: its levels should know all of them."""
    n_items = len(running.project.keys)
    with running.importing():
        try:
            return _read(running, upload, progress)
        finally:
            upload.path.unlink(missing_ok=True)
            if len(running.project.keys) > n_items:
                running.train(progress, tune=False)


def _read(running: Running, upload: Import, progress: Progress) -> dict[str, Any]:
    """Add all items of the file."""
    form = upload.form or form_of(upload.path, running.project.budgets, progress.check)
    if running.project.settings.encoder != "none":
        raw = RawImport(running, upload.media, upload.annotator, progress)
        return raw.run(upload.path, form, upload.index_base)
    if form == "zip":
        raise Invalid("a zip of pictures or texts needs a project with an encoder: set encoder to auto")
    if form == "ris":
        raise Invalid("references need a project with an encoder: set encoder to text")
    return _add_features(running, upload, form, progress)


def _add_features(running: Running, upload: Import, form: Format, progress: Progress) -> dict[str, Any]:
    """Items whose features the file holds."""
    project = running.project
    added = unchanged = labelled = 0
    width = (
        _columns(running, upload, form, progress)
        if project.width is None and project.settings.columns is None
        else None
    )
    for portion in read_portions(upload.path, form, upload.index_base, project.budgets, progress.check):
        progress.report(portion.read, portion.total, f"{added + unchanged} items read")
        if not portion.rows:
            continue
        if upload.annotator is not None:
            # Before the items are stored: they come with their labels or not at all.
            check_labels(project, (row.label for row in portion.rows if row.label is not None))
        task = AddItems(project, [row.item for row in portion.rows], portion.width or width, teach=False)
        answer = progress.wait_for(running.writer.submit(task, LATER))
        added, unchanged = added + answer["added"], unchanged + answer["unchanged"]
        labelled += _label(running, upload, portion, answer["keys"], progress)
    return {"added": added, "unchanged": unchanged, "labelled": labelled}


def _columns(running: Running, upload: Import, form: Format, progress: Progress) -> int | None:
    """The columns of a file that does not say: its first rows need not have them all, so it is read twice."""
    most = None
    if form in ("svmlight", "jsonl"):
        for portion in read_portions(upload.path, form, upload.index_base, running.project.budgets, progress.check):
            progress.report(portion.read, portion.total, "counting columns")
            most = max(most or 0, portion.width or 0, features.n_columns(row.item.features for row in portion.rows))
            running.project.budgets.check_columns(most)
    return most


def _label(running: Running, upload: Import, portion: Portion, keys: list[str], progress: Progress) -> int:
    if upload.annotator is None:
        return 0
    answers = [Answer(key, row.label) for key, row in zip(keys, portion.rows, strict=True) if row.label is not None]
    if answers:
        task = AnswerTask(project=running.project, annotator=upload.annotator, answers=answers)
        progress.wait_for(running.writer.submit(task, LATER))
    return len(answers)
