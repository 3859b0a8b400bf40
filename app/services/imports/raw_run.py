"""Imports of raw items: looked at, encoded in a process of their own, stored portion by portion."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.encoders import Kind, restore
from app.encoders.text import texts_of
from app.services.encoding.process import EncodingProcess
from app.services.imports.archives import Archive
from app.services.imports.raw_items import Broken, ImportFormat, RawItem, RawPortion, Source
from app.services.imports.tables import Lines
from app.services.imports.vectors import Sets, Vectors, holds_sets
from app.services.items import features
from app.services.items.add import AddItems, NewItem
from app.services.items.encoder import StoreEncoder, encoder_state
from app.services.items.media import Media
from app.services.labelling.answers import Answer, AnswerTask
from app.services.problems import Invalid
from app.services.project.classes import AddClass, check_labels
from app.services.project.state import StoredEncoder
from app.services.registry.running import Running
from app.services.runtime.jobs import Progress
from app.services.runtime.writer import LATER, Task

FIT_ON: dict[str, int] = {"text": 20_000, "image": 1000, "table": 20_000, "vectors": 5000, "sets": 20_000}  # at most
LEARNING = {"text": "learning a vocabulary", "image": "learning visual words"}
MODEL_KINDS = ("text", "image")  # that pretrained models embed
SHOWN_BROKEN = 100


class RawImport:
    """One import: what was found, and what became of it."""

    def __init__(self, running: Running, media: Media, annotator: str | None, progress: Progress) -> None:
        self._running, self._project, self._writer = running, running.project, running.writer
        self._media, self._annotator, self._progress = media, annotator, progress
        self._counts: Counter[str] = Counter(added=0, unchanged=0, labelled=0)
        self._broken: list[Broken] = []
        self._seen = self._broken_count = 0

    def run(self, path: Path, form: ImportFormat, index_base: int) -> dict[str, Any]:
        """Import a file; the training that follows is the caller's."""
        project = self._project
        rule = project.settings.encoder
        kind = project.encoder.kind if project.encoder else None if rule in ("auto", "none") else rule
        self._progress.phase("looking at the file")
        with TemporaryDirectory(prefix=f"{path.stem}.", suffix=".unpacked", dir=path.parent) as folder:
            asked = texts_of(project.settings.encoder_options.get("column"))
            with closing(self._opened(path, form, index_base, kind, asked or self._texts(), Path(folder))) as source:
                missing = [column for column in asked if column not in source.guess.columns]
                if source.guess.columns and missing:
                    raise Invalid(f"there is no column {missing[0]!r} to read texts from")
                return self.add(source)

    def _texts(self) -> tuple[str, ...]:
        """The columns that texts came in so far."""
        encoder = self._project.encoder
        return () if encoder is None else texts_of(encoder.description.get("text_column"))

    def _opened(
        self, path: Path, form: ImportFormat, index_base: int, kind: Any, texts: Sequence[str], folder: Path
    ) -> Any:
        """The file as a source, which is to be closed."""
        limits = self._project.budgets, self._progress.check
        if form == "zip":
            return Archive(path, folder, kind, *limits)
        if form == "ris" or form in ("csv", "jsonl"):
            return Lines(path, form, kind, texts, *limits, has_encoder=self._project.encoder is not None)
        if form == "npz" and holds_sets(path, *limits):
            return Sets(path, kind, *limits)
        return Vectors(path, form, index_base, kind, *limits)

    def add(self, source: Source) -> dict[str, Any]:
        """All items of a source that has been looked at."""
        self._check_labels(source)
        downloads = self._project.models.downloads
        with EncodingProcess(source.guess.kind, self._progress.check, downloads=downloads) as process:
            self._prepare(source, process)
            for portion in source.portions():
                self._take(portion, source, process)
        return self._result(source)

    def _prepare(self, source: Source, process: EncodingProcess) -> None:
        """The encoder of the project, fitted now if it has none, and room for media."""
        if self._project.encoder is None:
            self._fit(source, process)
        else:
            process.load(encoder_state(self._project))
        if source.guess.kind == "image":
            self._media.open(self._project.id)

    def _fit(self, source: Source, process: EncodingProcess) -> None:
        """Learn an encoder and keep it, unless another import was faster."""
        kind, guess = source.guess.kind, source.guess
        message = LEARNING.get(kind, "learning the encoder")
        self._progress.phase(message)
        raws = source.sample(FIT_ON[kind])
        self._progress.check()
        options = self._suited(kind) | self._model(kind) | self._project.settings.options_for(kind)
        state = process.fit(raws, options, lambda done: self._progress.report(done, len(raws), message))
        encoder = restore(state)
        description = encoder.describe() | {"model": encoder.model()}
        if kind == "text" and guess.columns:
            description["text_column"] = list(guess.columns)
        model = description["options"].get("model")
        why = guess.why if model is None else f"{guess.why}; the pretrained model {model} embeds them"
        stored = StoredEncoder(kind, why, encoder.channels, description)
        kept = self._do(StoreEncoder(self._project, stored, state))
        if kept is not stored:
            if kept.kind != kind:
                raise Invalid(f"another import came first: the items of this project are of kind {kept.kind}")
            process.load(encoder_state(self._project))

    def _suited(self, kind: Kind) -> dict[str, Any]:
        """Options by which histogram intersection can read all columns, where it is the only kernel."""
        settings = self._project.settings
        if kind == "vectors" and settings.kernel == "hik" and not settings.complement:
            return {"form": "split"}
        return {"standardised": False} if kind == "table" and settings.has_intersection_alone else {}

    def _model(self, kind: Kind) -> dict[str, Any]:
        """Which pretrained model is taken, unless the project says so: none where all columns have the same kernel."""
        if kind not in MODEL_KINDS:
            return {}
        return {"model": self._project.models.default(kind) if self._project.settings.leaves_kernel_open else None}

    def _take(self, portion: RawPortion, source: Source, process: EncodingProcess) -> None:
        """Encode, keep media, add items, label them."""

        def report(done: int = 0) -> None:
            seen = self._seen + done
            self._progress.report(seen, source.total, f"encoding {seen} of {source.total}")

        report()
        encoded = process.encode([item.raw for item in portion.items], report)
        broken = [Broken(portion.items[place].name, reason) for place, reason in sorted(encoded.broken.items())]
        good = [portion.items[place] for place in encoded.good]
        if good:
            blobs = features.blobs(encoded.table)
            items = [NewItem(i.name, blob, self._data(i), i.numbered) for i, blob in zip(good, blobs, strict=True)]
            task = AddItems(self._project, items, encoded.table.shape[1], teach=False, skip_others=True)
            answer = self._do(task)
            others = set(answer["others"])
            broken += [Broken(name, "there is already an item with this key and other content") for name in others]
            self._counts.update(added=answer["added"], unchanged=answer["unchanged"])
            self._label([(key, i.label) for key, i in zip(answer["keys"], good, strict=True) if key not in others])
        self._note(portion.broken + broken)
        self._seen += portion.count

    def _data(self, item: RawItem) -> dict[str, Any] | None:
        if not isinstance(item.raw, Path):
            return item.data
        self._progress.check()
        name = self._media.put(self._project.id, item.raw)
        return {"image": f"/v1/projects/{self._project.id}/media/{name}"} | (item.data or {})

    def _check_labels(self, source: Source) -> None:
        """Refuse labels that cannot be classes before anything is stored, and make those classes that can."""
        if self._annotator is None:
            return
        check_labels(self._project, source.labels)
        for name in source.labels:
            if self._project.classes.number(name) is None:
                self._do(AddClass(self._project, name))

    def _label(self, labels: list[tuple[str, str | None]]) -> None:
        answers = [Answer(key, label) for key, label in labels if label is not None]
        if self._annotator is not None and answers:
            self._do(AnswerTask(project=self._project, annotator=self._annotator, answers=answers))
            self._counts.update(labelled=len(answers))

    def _do(self, task: Task) -> Any:
        return self._progress.wait_for(self._writer.submit(task, LATER))

    def _note(self, broken: list[Broken]) -> None:
        self._broken += broken[: SHOWN_BROKEN - len(self._broken)]
        self._broken_count += len(broken)

    def _result(self, source: Source) -> dict[str, Any]:
        guess, encoder = source.guess, self._project.encoder
        found = {
            "kind": guess.kind,
            "why": encoder.why if encoder is not None and encoder.needs_model else guess.why,
            "items": source.total,
            "columns": list(guess.columns),
            "key": guess.key,
            "label": guess.label,
            "labels": source.labels,
            "ways": source.guess.ways,
        }
        broken = [{"name": entry.name, "reason": entry.reason} for entry in self._broken]
        return {**self._counts, "broken": broken, "broken_count": self._broken_count, "found": found}
