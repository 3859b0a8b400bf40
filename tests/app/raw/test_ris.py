"""References come in, and go out with their answers."""

import pytest

from app.services.items import ris

FILE = """TY  - JOUR
ID  - one
AU  - Ng, A
AU  - Poe, B
TI  - Dogs are
 friendly
AB  - We asked dogs.
DO  - 10.1/x
XX  - kept
ER  -

TY  - JOUR
ID  - two
T1  - Cats are not
N1  - AskNext label: other
ER  -

TI  - no type
ER  -

TY  - JOUR
TI  - no end
""".replace("ER  -", "ER  - ")


@pytest.fixture
def project(site):
    return site.project(["relevant", "other"], encoder="text", encoder_options={"least": 1}, kernel=None)


def send(project, text, **params):
    job = project.call("POST", "/import", 202, content=text.encode(), params=params)["job"]
    ended = project.wait(job)
    assert ended["state"] == "done", ended
    return ended["result"]


@pytest.mark.parametrize("params", [{}, {"format": "ris"}])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_references_are_read_and_written_with_their_answers(project, params, end):
    result = send(project, "\ufeff" + FILE.replace("\n", end), labels=True, **params)
    assert (result["added"], result["labelled"], result["broken_count"]) == (2, 1, 2)
    assert {"does not begin with its type (TY)" in one["reason"] for one in result["broken"]} == {True, False}
    one = project.get("/items/one")
    assert one["data"]["text"] == "Dogs are friendly\n\nWe asked dogs."
    assert (one["data"]["authors"], one["data"]["doi"]) == ("Ng, A; Poe, B", "10.1/x")
    project.label({"one": "relevant"})
    project.label({"two": "relevant"})
    first, second = project.get("/labels?format=ris").text.strip().split("\n\n")
    assert first == FILE.split("\n\n", maxsplit=1)[0].removesuffix("ER  - ") + "N1  - AskNext label: relevant\nER  - "
    assert "XX  - kept" in first
    assert second.count("AskNext label") == 1
    # What went out comes in again, with its answers.
    again = project.get("/labels?format=ris").text
    assert ris.entry_of(again.split("\n\n")[1].splitlines())["label"] == "relevant"


def test_items_that_were_no_references_become_some(site):
    project = site.project()
    project.add([[1.0, 2.0]], data={"k0": {"text": "A title\nand\nmore"}})
    project.label({"k0": "a"})
    expected = "TY  - GEN\nID  - k0\nTI  - A title\nAB  - and more\nN1  - AskNext label: a\nER  - \n\n"
    assert project.get("/labels?format=ris").text == expected


def test_a_history_has_no_ris_form(site):
    assert "RIS" in site.project().get("/labels?format=ris&history=true", 422)["detail"]


def test_references_that_are_not_utf8_are_refused(project):
    job = project.call("POST", "/import", 202, content=b"TY  - JOUR\nTI  - caf\xe9\nER  - \n")["job"]
    ended = project.wait(job)
    assert ended["state"] == "failed"
    assert "UTF-8" in str(ended)
