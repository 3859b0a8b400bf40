"""The walks lead through files and functions that are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = [(ROOT / page).read_text() for page in ("app/README.md", "core/DESIGN.md")]
HOPS = [hop for text in TEXTS for hop in re.findall(r"^\| `([\w/.]+\.py): ([\w.]+)`", text, re.MULTILINE)]


def names_in(path):
    """Functions, classes, and methods by the class that has them."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            parts = (part for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from (f"{node.name}.{part.name}" for part in parts)


def test_there_are_walks():
    assert len(HOPS) > 60


@pytest.mark.parametrize(("file", "name"), sorted(set(HOPS)))
def test_a_hop_is_there(file, name):
    path = ROOT / (file if file.startswith(("app/", "core/")) else f"app/{file}")
    assert name in set(names_in(path))
