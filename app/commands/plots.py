"""Pictures of what commands measure."""

from pathlib import Path
from typing import Any

import typer


def new_figure(width: float, height: float) -> Any:
    """An empty figure, or a sentence that says what to install."""
    try:
        from matplotlib.figure import Figure  # an extra
    except ImportError as error:
        raise typer.BadParameter("--plot needs the extra: pip install 'asknext[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Legends and grids for all its axes, and to the file."""
    for axes in figure.axes:
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def check_folder(path: Path | None) -> None:
    """Before hours of work: a BadParameter if there is no folder for the picture."""
    if path is not None and not path.resolve().parent.is_dir():
        raise typer.BadParameter(f"the folder of {path} does not exist")
