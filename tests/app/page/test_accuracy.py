"""How good the model is, beside the item and in the view Look."""

import os
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.app.page.test_accessibility import faults

N, DRAWN = 400, 60
SIDES = np.arange(N) % 2


@pytest.fixture(scope="module")
def taught(site):
    """Two clouds of items, sixty of them drawn at random and labelled: the project's id."""
    rng = np.random.default_rng(0)
    rows = np.abs(rng.normal(size=(N, 2)) * 0.2 + np.where(SIDES[:, None] == 0, [1.0, 0.0], [0.0, 1.0]))
    settings = {"explore": 1.0, "kernel": "hik", "retrain": "off", "target_accuracy": 0.8}
    project = site.post("/v1/projects", {"name": "Sides", "classes": ["left", "right"], "settings": settings}, 201)[
        "id"
    ]
    path = f"/v1/projects/{project}"
    items = [{"key": f"i{i}", "features": row.tolist(), "data": {"text": f"item {i}"}} for i, row in enumerate(rows)]
    site.post(f"{path}/items", {"items": items}, 201)
    label = lambda key: {"key": key, "label": ["left", "right"][SIDES[int(key[1:])]]}  # noqa: E731
    site.post(f"{path}/labels", {"labels": [label("i0"), label("i1")]}, 201)
    for _ in range(DRAWN):
        (question,) = site.post(f"{path}/query", {})["items"]
        site.post(f"{path}/labels", {"labels": [label(question["key"])]}, 201)
    return project


def shown(page, name):
    """A picture for whoever wants to look."""
    folder = os.environ.get("ASKNEXT_SHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_annotators_see_what_random_items_tell(person, site, taught):
    accuracy = site.get(f"/v1/projects/{taught}/model")["accuracy"]
    ann = person()
    ann.open("Sides")
    place = ann.page.locator("#accuracy")
    expect(place.locator(".seen")).to_have_text(accuracy["sentence"])
    expect(place.locator(".seen")).to_contain_text("On the last 50 items drawn at random the model was right on")
    expect(place.locator(".verdict.good")).to_have_text(accuracy["advice"])
    expect(place).to_contain_text("You can stop: of the items without a label the model gets about")
    shown(ann.page, "label")
    assert faults(ann.page) == []
    ann.visit(project=taught, view="look")
    panel = ann.page.get_by_role("region", name="Should you keep labelling?")
    expect(panel.locator(".verdict.good")).to_have_text(accuracy["advice"])
    panel.get_by_text("Other estimates").click()
    expect(panel.locator(".estimates li")).to_have_count(2)
    expect(ann.page.locator("body")).not_to_contain_text("eave-one-out")
    panel.get_by_role("link", name="Model card").click()
    expect(ann.page.locator(".model-page")).to_contain_text("drawn at random the model was right on")
    expect(ann.page.locator("body")).not_to_contain_text("eave-one-out accuracy")


def test_leads_see_the_figures_and_set_the_target(person, site, taught):
    lead = person(role="admin")
    lead.sign_in(project=taught, view="look")
    panel = lead.page.get_by_role("region", name="Should you keep labelling?")
    expect(panel.locator(".facts dt")).to_have_text(["Right today, best guess", "After 50 more labels", "Target"])
    expect(panel.locator(".facts dd").last).to_have_text("80.0 %")
    panel.get_by_text("Other estimates").click()
    expect(panel.locator(".estimates li").first).to_contain_text("Leave-one-out accuracy")
    shown(lead.page, "look")
    assert faults(lead.page) == []
    lead.visit(project=taught, view="manage")
    lead.page.get_by_label("Target accuracy").fill("0.999")
    lead.page.get_by_label("Random share").fill("auto")
    lead.page.get_by_role("button", name="Save", exact=True).click()
    expect(lead.page.get_by_text("Saved", exact=True)).to_be_visible()
    settings = site.get(f"/v1/projects/{taught}")["settings"]
    assert (settings["target_accuracy"], settings["explore"]) == (0.999, "auto")
    lead.visit(project=taught, view="look")
    expect(panel.locator(".verdict")).to_contain_text("Keep labelling: of the items without a label")
    expect(panel.locator(".verdict.good")).to_have_count(0)


def test_on_a_phone(person, taught):
    ann = person(viewport={"width": 390, "height": 800}, color_scheme="dark")
    ann.sign_in(project=taught, view="look")
    panel = ann.page.get_by_role("region", name="Should you keep labelling?")
    expect(panel.locator(".seen")).to_be_visible()
    assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown(ann.page, "phone")
