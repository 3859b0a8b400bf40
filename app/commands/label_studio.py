"""asknext label-studio: the link between a project and one of Label Studio's."""

from contextlib import closing
from typing import Annotated

import typer

from app.commands.files import Key, Local, connected
from app.commands.options import fatal

app = typer.Typer(help="Label Studio: let AskNext choose its next task.", no_args_is_help=True)

AskNext = Annotated[str, typer.Option("--asknext-url", help="where AskNext listens")]


@app.callback()
def group() -> None:
    """Label Studio: let AskNext choose its next task."""


@app.command()
def connect(
    url: Annotated[str, typer.Option("--url", help="where Label Studio is: http://host:8080")],
    token: Annotated[
        str,
        typer.Option(
            "--token", envvar="LABEL_STUDIO_TOKEN", help="a personal access token or legacy token of Label Studio"
        ),
    ],
    project: Annotated[int, typer.Option("--project", min=0, help="number of the Label Studio project")],
    asknext_project: Annotated[
        str | None, typer.Option(help="id of the AskNext project (default: the one used last, or a new one)")
    ] = None,
    asknext_url: AskNext = Local,
    callback_url: Annotated[
        str | None, typer.Option(help="where Label Studio finds AskNext (default: the same as --asknext-url)")
    ] = None,
    key: Key = "",
    top: Annotated[int, typer.Option(min=1, max=1000, help="tasks to put in order after each label")] = 20,
) -> None:
    """Connect a project of Label Studio: backend, webhook, settings, and everything that is there already."""
    from app.commands.connecting import NOTES, Connector  # seconds, which --help need not wait for
    from app.label_studio.remote import Remote, RemoteError, checked_address
    from app.services.problems import Problem

    try:
        address = checked_address(url)
        with closing(Remote(address, token)) as remote, connected(asknext_url, key) as client:
            one = Connector(remote, client, address, token.strip(), project, callback_url or asknext_url, top)
            made = one.make(asknext_project, typer.echo)
    except RemoteError as error:
        raise fatal(f"{error}\nIt says: {error.reason}" if error.reason else str(error)) from error
    except Problem as problem:
        raise fatal(problem.detail) from problem
    typer.echo("\n".join(f"- {note}" for note in NOTES))
    typer.echo(f"Label:    {address}/projects/{project}/data")
    typer.echo(f"Insights: {asknext_url}/#project={made}&view=look")
