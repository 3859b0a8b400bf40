"""asknext import and export, over HTTP: the running service owns the models."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from app.client import AskNextError, Client, Format, Job
from app.commands.options import fatal

TRIES = 4  # of a request: somebody is waiting at the terminal

COUNTS = ("added", "unchanged", "labelled")

ProjectId = Annotated[str, typer.Option("--project", help="id of the project")]
Address = Annotated[str, typer.Option("--url", help="where the service listens")]
Key = Annotated[str, typer.Option("--key", envvar="ASKNEXT_KEY", help="your key")]
Local = "http://127.0.0.1:8000"


def import_file(
    file: Annotated[
        Path, typer.Argument(help="npz, jsonl, csv, ris, svmlight, zip, or a folder of pictures or .txt files")
    ],
    project: ProjectId,
    url: Address = Local,
    key: Key = "",
    form: Annotated[Format | None, typer.Option("--format", help="of the file (default: by its suffix)")] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="use the labels in the file, recorded under your name")
    ] = False,
    index_base: Annotated[int, typer.Option(min=0, max=1, help="the first index in svmlight files")] = 1,
) -> None:
    """Upload a file of items, and wait until they are in the model."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with connected(url, key) as client, Progress(*columns, console=Console(stderr=True)) as progress:
        upload = progress.add_task("uploading", total=None if file.is_dir() else file.stat().st_size)
        job_id = client.import_file(
            project,
            file,
            format=form,
            labels=labels,
            index_base=index_base,
            on_sent=lambda sent: progress.update(upload, completed=sent),
        )
        reading = progress.add_task("reading", total=None)

        def show(job: Job) -> None:
            progress.update(reading, description=job.message or job.state, completed=job.done, total=job.total)

        result = client.wait_for_job(project, job_id, show).result or {}
        progress.update(reading, description="done", total=1, completed=1)
    typer.echo(", ".join(f"{count} {name}" for name, count in result.items() if name in COUNTS))
    if "found" in result:
        typer.echo(f"{result['found']['kind']}: {result['found']['why']}")
        for entry in result["broken"]:
            typer.echo(f"{entry['name']}: {entry['reason']}", err=True)
        if result["broken_count"]:
            typer.echo(f"{result['broken_count']} left out", err=True)


def export_labels(
    project: ProjectId,
    url: Address = Local,
    key: Key = "",
    form: Annotated[Literal["jsonl", "csv", "ris"], typer.Option("--format", help="of the output")] = "jsonl",
    history: Annotated[
        bool, typer.Option("--history", help="every event, not only the labels as they are now")
    ] = False,
    data: Annotated[bool, typer.Option("--data", help="with the data of the items, to train elsewhere")] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="every item, with its label or what the model predicts")
    ] = False,
    excel: Annotated[bool, typer.Option("--excel", help="csv that Excel opens as UTF-8")] = False,
    output: Annotated[Path | None, typer.Option(help="file to write (default: standard output)")] = None,
) -> None:
    """Download all labels, or predictions for all items."""
    if predictions and (history or data or form == "ris"):
        raise fatal("--predictions goes with --format jsonl or csv, and has the data of the items anyway")
    with connected(url, key) as client, opened(output) as file:
        if predictions and form != "ris":
            pieces = client.export_predictions(project, form, excel)
        else:
            pieces = client.export(project, form, history, data, excel)
        for piece in pieces:
            file.write(piece)


@contextmanager
def connected(url: str, key: str) -> Iterator[Client]:
    """A client whose errors end the command with a sentence."""
    if not key:
        raise fatal("a key is needed: give --key, or set ASKNEXT_KEY")
    try:
        with Client(url, key.strip(), tries=TRIES) as client:
            yield client
    except AskNextError as error:
        where = f"{url} does not answer: {error.detail}" if error.title == "No answer" else str(error)
        raise fatal(where) from error
    except (OSError, ValueError) as error:
        raise fatal(str(error)) from error


@contextmanager
def opened(output: Path | None) -> Iterator[BinaryIO]:
    """Standard output, or a file that appears when it is complete."""
    if output is None:
        yield sys.stdout.buffer
        return
    part = output.with_name(output.name + ".part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
