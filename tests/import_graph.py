"""Draws who imports whom, room by room: `make graph` writes tests/pictures/imports.svg."""

from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import matplotlib as mpl
from matplotlib.figure import Figure

TARGET = Path(__file__).parent / "pictures" / "imports.svg"
PACKAGES = ("core", "app", "app.services")
HIDDEN = {"__init__", "__main__", "_types", "checks", "drafts", "_parallel", "_blas"}  # everybody's tools


def import_graph():
    """Of all modules of the project."""
    return grimp.build_graph("core", "app", include_external_packages=False, cache_dir=None)


def rooms(graph, package):
    """Packages and modules right below a package; edges between them: {room: rooms it imports}."""
    below = {child for child in graph.find_children(package) if child.rpartition(".")[2] not in HIDDEN}
    edges = {room: set() for room in below}
    for room in below:
        for other in below - {room}:
            if graph.direct_import_exists(importer=room, imported=other, as_packages=True):
                edges[room].add(other)
    return edges


def levels(edges):
    """The rows of the drawing, lowest first: a room stands above all that it imports."""
    height = {}
    for room in TopologicalSorter(edges).static_order():
        height[room] = 1 + max((height[other] for other in edges[room]), default=-1)
    return [sorted(r for r in edges if height[r] == level) for level in range(max(height.values()) + 1)]


def draw(axes, edges, title):
    """One package. Only arrows that no longer way stands for are drawn, so that the picture can be read."""
    rows = levels(edges)
    place = {
        room: ((i + 0.5) / len(row) + 0.04 * (-1) ** y, y) for y, row in enumerate(rows) for i, room in enumerate(row)
    }
    for room, others in sorted(edges.items()):
        implied = set().union(*(_reached(edges, other) for other in others)) if others else set()
        for other in sorted(others - implied):
            axes.annotate(
                "",
                xy=place[other],
                xytext=place[room],
                arrowprops={"arrowstyle": "-|>", "color": "#9aa5b1", "shrinkA": 12, "shrinkB": 12},
            )
    box = {"boxstyle": "round,pad=0.35", "facecolor": "#eef2f7", "edgecolor": "#52606d"}
    for room, (x, y) in place.items():
        axes.text(x, y, room.rpartition(".")[2], ha="center", va="center", fontsize=9, bbox=box)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(rows) - 0.4), title=title)
    axes.axis("off")


def _reached(edges, room):
    """All that a room imports, directly or not."""
    found, ahead = set(), set(edges[room])
    while ahead:
        one = ahead.pop()
        found.add(one)
        ahead |= edges[one] - found
    return found


def main():
    """Both packages and the rooms of the services, into one picture."""
    mpl.rcParams.update({"svg.hashsalt": "imports", "svg.fonttype": "none"})  # the same picture each time, with text
    graph = import_graph()
    figure = Figure(figsize=(9, 22), layout="constrained")
    for axes, package in zip(figure.subplots(3, height_ratios=[3, 2, 2]), PACKAGES, strict=True):
        draw(axes, rooms(graph, package), package)
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
