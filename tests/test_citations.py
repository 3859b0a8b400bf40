"""Citations in sources and pages point to something that is in the repository."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAPERS = (ROOT / "core/PAPERS.md").read_text()
DESIGN = (ROOT / "core/DESIGN.md").read_text()
NAMES = set(re.findall(r"^## (\w+)$", PAPERS, re.MULTILINE))
SECTIONS = set(re.findall(r"^## (\d+)\. ", DESIGN, re.MULTILINE))
SOURCES = [
    path
    for room in ("app", "core", "migrations", "tests")
    for path in sorted((ROOT / room).rglob("*"))
    if path.suffix in {".py", ".md"} and path != Path(__file__)
] + sorted(ROOT.glob("*.md"))
TEXTS = {str(path.relative_to(ROOT)): path.read_text() for path in SOURCES}


def found(pattern):
    """(file, what is cited) of all citations of this form."""
    return [(name, cited) for name, text in TEXTS.items() for cited in re.findall(pattern, text)]


def test_papers_have_an_entry_and_are_cited():
    cited = found(r"\b([A-Z][a-z]+(?:19|20)\d\d)\b")
    assert [one for one in cited if one[1] not in NAMES] == []
    assert {paper for name, paper in cited if name.endswith(".py")} == NAMES


def test_sections_of_the_design_exist():
    cited = found(r"core/DESIGN\.md,\s+section (\d+)")
    assert len(cited) > 10
    assert [one for one in cited if one[1] not in SECTIONS] == []


def test_sections_are_numbered_in_order():
    assert re.findall(r"^## (\d+)\. ", DESIGN, re.MULTILINE) == [str(n + 1) for n in range(len(SECTIONS))]


def test_nothing_is_cited_by_number_or_from_elsewhere():
    assert found(r"(?i)\bpapers? 0\d\d|\bdesign, section|\bdesign section") == []


@pytest.mark.parametrize("page", ["core/PAPERS.md", "core/DESIGN.md"])
def test_files_that_are_named_exist(page):
    named = re.findall(r"`((?:app|core|tests)/[\w/.]+)`", TEXTS[page])
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
