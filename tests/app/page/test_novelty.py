"""The page says what is unlike anything so far."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.app.page.test_accessibility import faults

USUAL, STRANGE = 24, 3


@pytest.fixture
def one_class(site, make_project):
    """The name and id of a project of one class whose usual items have labels, but for two."""
    rng = np.random.default_rng(1)
    rows = np.vstack(
        [rng.dirichlet([30, 10, 0.01, 0.01], size=USUAL), rng.dirichlet([0.01, 0.01, 20, 20], size=STRANGE)]
    ).round(6)
    keys = [f"usual {i}" for i in range(USUAL)] + [f"strange {i}" for i in range(STRANGE)]
    project = make_project(
        "Parts that pass",
        ["passes"],
        {key: {"text": key} for key in keys},
        lambda i: rows[i].tolist(),
        kernel="hik",
        explore=0,
    )
    labels = [{"key": key, "label": "passes"} for key in keys[: USUAL - 2]]
    site.post(f"/v1/projects/{project}/labels", {"labels": labels}, 201)
    yield project
    site.delete(f"/v1/projects/{project}", 204)


def test_what_is_unlike_anything_is_told_while_labelling(person, one_class):
    ann = person()
    ann.sign_in(project=one_class)
    first = ann.wait()
    assert first.startswith("strange")
    note = ann.page.locator("#unlike")
    expect(note).to_be_visible()
    expect(note).to_have_text("Unlike anything so far")
    expect(ann.page.locator("#why")).to_have_text("Asked because it is the most unlike anything labelled so far")
    assert faults(ann.page) == []
    seen = [first]
    for _ in range(STRANGE + 1):
        expect(note).to_be_visible(visible=seen[-1].startswith("strange"))
        seen.append(ann.press("Space"))
    assert {key for key in seen if key.startswith("strange")} == {f"strange {i}" for i in range(STRANGE)}
    ann.saved()


def test_the_dialog_of_an_item_tells_how_unlike_it_is(person, one_class):
    ann = person()
    ann.sign_in(project=one_class, view="look")
    ann.page.get_by_role("img", name=f"Map of {USUAL + STRANGE} items").wait_for()
    dialog = ann.page.locator(".item-dialog")
    novelty = dialog.locator(".pairs div", has_text="Novelty").locator("dd")
    for key, said in (("strange 0", r"^\d+(\.\d+)?\s%, unlike anything so far$"), ("usual 0", r"^\d+(\.\d+)?\s%$")):
        ann.visit(project=one_class, view="look", item=key)
        expect(dialog.locator("h2")).to_have_text(key)
        expect(novelty).to_have_text(re.compile(said))
    ann.page.keyboard.press("Escape")
    ann.page.get_by_role("button", name="Most unlike").click()
    first = ann.page.locator(".ranked").first
    expect(first).to_contain_text("strange")
    expect(first).to_contain_text("Novelty")
    expect(first).not_to_contain_text("Guess")
