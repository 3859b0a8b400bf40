"""The view Look, on a project that people have taught."""

import numpy as np
import pytest
from playwright.sync_api import expect

N = 60


@pytest.fixture(scope="module")
def pool(site):
    """Two clouds of items with texts, some labelled wrongly by one of two people: the project's id."""
    rng = np.random.default_rng(0)
    sides = np.arange(N) % 2
    rows = np.abs(rng.normal(size=(N, 2)) * 0.1 + np.where(sides[:, None] == 0, [1.0, 0.0], [0.0, 1.0]))
    body = {"name": "Clouds", "classes": ["left", "right"], "settings": {"overlap": 2, "explore": 0.5, "kernel": "hik"}}
    project = site.post("/v1/projects", body, 201)["id"]
    path = f"/v1/projects/{project}"
    items = [{"key": f"i{i}", "features": row.tolist(), "data": {"text": f"item {i}"}} for i, row in enumerate(rows)]
    site.post(f"{path}/items", {"items": items}, 201)
    names = [["left", "right"][side] for side in sides]
    labels = [{"key": f"i{i}", "label": names[i]} for i in range(30)]
    labels[4]["label"] = "right"  # which surprises
    site.post(f"{path}/labels", {"labels": labels}, 201)
    other = site.as_other(name="Bob")
    other.path = path
    other.post("/labels", {"labels": [{"key": "i6", "label": "right"}, {"key": "i7", "label": "right"}]}, 201)
    job = site.post(f"{path}/train", {"tune": False}, 202)["job"]
    site.path = path
    site.wait(job)
    site.path = ""
    return project


def test_charts_and_advice(person, pool):
    ann = person(role="reader")
    ann.sign_in(project=pool)  # a reader cannot label: Look is what opens
    expect(ann.page.locator("#to-look")).to_have_attribute("aria-current", "page")
    expect(ann.page.locator("#to-label")).to_be_hidden()
    expect(ann.page.locator(".verdict")).to_contain_text("eep labelling")
    expect(ann.page.locator(".counts tbody tr")).to_have_text(["left1315", "right1715"])
    expect(ann.page.get_by_role("img", name="Histogram of the uncertainty of 30 items")).to_be_visible()
    expect(ann.page.get_by_role("img", name="Map of 60 items")).to_be_visible()
    expect(ann.page.get_by_role("region", name="Map of the items")).not_to_contain_text("are shown")


def test_a_point_of_the_map_opens_its_item(person, pool):
    ann = person()
    ann.sign_in(project=pool, view="look")
    canvas = ann.page.get_by_role("img", name="Map of 60 items")
    expect(canvas).to_be_visible()
    place = canvas.evaluate(
        """async canvas => { while (!globalThis.Chart?.getChart(canvas)) await new Promise(requestAnimationFrame);
                             const point = Chart.getChart(canvas).getDatasetMeta(0).data.at(-1);
                             return {x: point.x, y: point.y} }"""
    )
    canvas.click(position=place)
    expect(ann.page.locator(".item-dialog .text")).to_contain_text("item ")
    ann.page.keyboard.press("Escape")
    ann.page.get_by_role("button", name="Uncertainty", exact=True).click()
    expect(canvas).to_be_visible()


def test_a_surprise_is_put_right(person, pool, site):
    ann = person()
    ann.sign_in(project=pool, view="look")
    ann.page.get_by_role("button", name="Most surprising").click()
    ann.page.locator(".ranked", has_text="item 4").first.click()
    dialog = ann.page.locator(".item-dialog")
    expect(dialog.locator(".pairs")).to_contain_text("Labelright")
    dialog.get_by_label("Your label").select_option("left")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.locator(".said li").first).to_contain_text("Labelled left")
    votes = site.get(f"/v1/projects/{pool}/items/i4")["votes"]
    assert {vote["label"] for vote in votes} == {"left", "right"}
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog.locator(".said li").first).to_contain_text("Removed the label")
    assert [kind for kind, _, _ in ann.events()] == ["label", "retract"]


def test_your_label_is_your_own(person, pool, site):
    ann = person()
    dialog = ann.page.locator(".item-dialog")
    own = dialog.get_by_label("Your label")
    save = dialog.get_by_role("button", name="Save")

    def look(item):
        ann.visit(project=pool, view="look", item=item)
        expect(dialog.locator("h2")).to_have_text(item)

    ann.sign_in(project=pool, view="look")
    look("i40")  # nobody has labelled it
    expect(own).to_have_value("")
    expect(own.locator("option:checked")).to_have_text("None")
    expect(save).to_be_disabled()
    look("i10")  # others have
    expect(dialog.locator(".pairs")).to_contain_text("Labelleft")
    expect(own).to_have_value("")
    expect(dialog.get_by_role("button", name="Remove")).to_have_count(0)
    own.select_option("right")
    save.click()
    expect(dialog.locator(".said li").first).to_contain_text("Labelled right")
    other = site.as_other(name="Dora")
    other.post(f"/v1/projects/{pool}/labels", {"labels": [{"key": "i10", "label": "left"}]}, 201)
    look("i12")
    look("i10")
    expect(dialog.locator(".pairs")).to_contain_text("Labelleft")
    expect(own).to_have_value("right")
    dialog.get_by_role("button", name="Remove").click()
    expect(own).to_have_value("")
    mine = {"headers": {"Authorization": f"Bearer {ann.key}"}}
    site.post(f"/v1/projects/{pool}/labels", {"labels": [{"key": "i41", "action": "skip"}]}, 201, **mine)
    look("i41")
    expect(own).to_have_value("")
    expect(dialog).to_contain_text("You skipped it")


def test_the_map_says_that_it_draws_some_of_the_items(person, make_project):
    data = {f"m{i}": None for i in range(2030)}
    project = make_project("Many", ["a", "b"], data, features=lambda i: [1.0 + i % 7, float(i % 11)], kernel="hik")
    ann = person(role="reader")
    ann.sign_in(project=project)
    canvas = ann.page.get_by_role("img", name="Map of 2,000 of 2,030 items")
    expect(canvas).to_be_visible()
    drawn = canvas.evaluate(
        """async canvas => { while (!globalThis.Chart?.getChart(canvas)) await new Promise(requestAnimationFrame);
                             return Chart.getChart(canvas).data.datasets.flatMap(({data}) => data).length }"""
    )
    assert drawn == 2000  # also before anybody has labelled anything
    panel = ann.page.get_by_role("region", name="Map of the items")
    expect(panel).to_contain_text("2,000 of 2,030 items are shown")


def test_disagreements_and_history(person, pool):
    ann = person()
    ann.sign_in(project=pool, view="look")
    ann.page.get_by_role("button", name="Disagreements").click()
    expect(ann.page.locator(".ranked", has_text="item 6")).to_contain_text("Bob: right")
    rows = ann.page.locator("table.events tbody tr")
    ann.page.get_by_role("searchbox", name="Annotator").fill("Bob")
    ann.page.get_by_role("searchbox", name="Annotator").press("Enter")
    expect(rows).to_have_count(2)
    ann.page.get_by_role("searchbox", name="Item").fill("i7")
    ann.page.get_by_role("searchbox", name="Item").press("Enter")
    expect(rows).to_have_count(1)
    ann.page.get_by_role("button", name="i7").click()
    expect(ann.page.locator(".item-dialog h2")).to_have_text("i7")
