"""The `asknext` command."""

import typer

from app.commands import files, keys, label_studio
from app.commands.cluster import scheduler, worker
from app.commands.evaluate import evaluate
from app.commands.serve import migrate_command, serve
from app.commands.simulate import simulate

app = typer.Typer(
    help="AskNext chooses which item to label next, and learns from each label at once.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.command()(serve)
app.command("migrate")(migrate_command)
app.add_typer(keys.app, name="keys")
app.command("import")(files.import_file)
app.command("export")(files.export_labels)
app.add_typer(label_studio.app, name="label-studio")
app.command()(scheduler)
app.command()(worker)
app.command()(simulate)
app.command()(evaluate)


def main() -> None:
    """Entry point of the command."""
    app()
