"""The view Manage: people, classes, settings, training, files, the end of a project."""

import csv
import io
import json

import pytest
from playwright.sync_api import expect

from tests.app.page.test_accessibility import faults


@pytest.fixture
def boss(person, make_project):
    """An administrator at a small project of their own."""
    data = {f"t{i}": {"text": f"text {i}"} for i in range(12)}
    project = make_project("Small", ["cat", "dog", "hound"], data, features=lambda i: [1.0 + i % 2, 2.0 - i % 2])
    one = person(role="admin")
    one.project = project
    one.sign_in(project=project, view="manage")
    expect(one.page.locator(".settings")).to_be_visible()
    return one


def test_a_link_lets_somebody_in_until_it_is_revoked(boss, person):
    page = boss.page
    page.get_by_label("Name", exact=True).fill("Carol")
    page.get_by_role("button", name="Create a key").click()
    link = page.get_by_label("Link for Carol").input_value()
    guest = person()
    guest.page.goto(link)
    guest.wait()
    assert "key=" not in guest.page.url
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke the key of Carol").click()
    expect(page.locator("tr.revoked")).to_contain_text("Carol")
    guest.page.reload()
    expect(guest.page.locator("#sign-in")).to_be_visible()
    assert any("401" in complaint for complaint in guest.complaints)
    guest.page.close()  # it may have asked for more than one thing
    guest.complaints.clear()


def test_classes_are_added_renamed_and_merged(boss, site):
    page = boss.page

    def classes():
        return site.get(f"/v1/projects/{boss.project}")["classes"]

    page.get_by_label("New class", exact=True).fill("bird")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("Name of bird")).to_be_visible()
    page.get_by_label("Name of cat").fill("kitten")
    page.get_by_label("Name of cat").press("Enter")
    expect(page.get_by_label("Name of kitten")).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("Merge hound into").select_option("dog")
    expect(page.get_by_label("Name of hound")).to_have_count(0)
    assert classes() == ["kitten", "dog", "bird"]


def test_settings_are_kept(boss, site):
    page = boss.page
    page.get_by_label("Query strategy").select_option("bald")
    page.get_by_label("People per item").fill("2")
    page.get_by_label("Annotators may add classes").check()
    page.get_by_label("Project name").fill("Renamed")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    found = site.get(f"/v1/projects/{boss.project}")
    wanted = {"strategy": "bald", "overlap": 2, "open_classes": True}
    assert found["name"] == "Renamed"
    assert {name: found["settings"][name] for name in wanted} == wanted
    page.get_by_label("People per item").fill("0")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("People per item: ")
    assert "422" in boss.complaints.pop()


def beside(control):
    """What went wrong, told near the control that caused it: seen, and read out."""
    alert = control.page.get_by_role("alert")
    expect(alert).to_have_count(1)
    expect(alert).to_be_in_viewport(ratio=1)
    here, there = control.bounding_box(), alert.bounding_box()
    assert 0 <= there["y"] - (here["y"] + here["height"]) < 120, (here, there)
    return alert.inner_text()


def test_what_goes_wrong_is_told_beside_its_button(boss, site, tmp_path):
    page = boss.page
    page.set_viewport_size({"width": 1200, "height": 600})
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_label("People per item").fill("0")
    save = page.get_by_role("button", name="Save")
    save.click()
    expect(page.get_by_role("alert")).to_contain_text("People per item: ")
    assert "People per item" in beside(save)
    page.get_by_label("New class", exact=True).fill("cat")
    add = page.get_by_role("button", name="Add", exact=True)
    add.click()
    expect(page.get_by_role("alert")).to_have_text("There is already a class with this name.")
    beside(add)
    site.post(f"/v1/projects/{boss.project}/classes/hound/merge", {"into": "dog"})
    merge = page.get_by_label("Merge hound into")
    merge.select_option("cat")
    expect(page.get_by_role("alert")).to_have_text("The project has no class with this name.")
    beside(merge)
    expect(merge).to_have_value("")
    assert faults(page) == []
    wider = tmp_path / "wider.csv"
    wider.write_text("key,a,b,c\nnew,1,2,3\n")
    page.locator("#manage-files input[type=file]").set_input_files(wider)
    zone = page.locator("#manage-files .drop")
    expect(page.locator("#manage-files").get_by_role("alert")).to_be_visible(timeout=30_000)
    beside(zone)
    page.get_by_label("Address of Label Studio").fill("no address")
    link = page.get_by_role("button", name="Create a link")
    link.click()
    expect(page.locator("#manage-studio").get_by_role("alert")).to_be_visible()
    beside(link)
    site.delete(f"/v1/projects/{boss.project}", 204)
    train = page.get_by_role("button", name="Train without tuning")
    train.click()
    expect(page.get_by_role("alert")).to_have_text("There is no such project.")
    beside(train)
    boss.complaints.clear()


def test_the_panel_follows_a_training_that_began_elsewhere(boss, site, busy_jobs):
    panel = boss.page.locator("#manage-training")
    expect(panel.locator("dl")).to_contain_text("Labels0 of 12 items")
    labels = [{"key": f"t{i}", "label": ["cat", "dog"][i % 2]} for i in range(8)]
    site.post(f"/v1/projects/{boss.project}/labels", {"labels": labels}, 201)
    expect(panel.locator("dl")).to_contain_text("Labels8 of 12 items")  # by itself
    site.post(f"/v1/projects/{boss.project}/train", {"tune": False}, 202)
    expect(panel).to_contain_text("Waiting for its turn")
    expect(panel.get_by_role("button", name="Train without tuning")).to_be_disabled()
    busy_jobs()
    expect(panel).to_contain_text("Trained")
    expect(panel.get_by_role("button", name="Train without tuning")).to_be_enabled()


def test_training_import_and_export(boss, site, tmp_path):
    page = boss.page
    labels = [{"key": f"t{i}", "label": ["cat", "dog"][i % 2]} for i in range(8)]
    site.post(f"/v1/projects/{boss.project}/labels", {"labels": labels}, 201)
    page.get_by_role("button", name="Train without tuning").click()
    expect(page.get_by_text("Trained", exact=True)).to_be_visible(timeout=30_000)
    expect(page.locator("#manage-training dl")).to_contain_text("Modelgp")
    more = tmp_path / "more.csv"
    more.write_text("key,a,b,label\nnew,1,2,cat\n")
    page.get_by_label("Use the labels in this file").check()
    page.locator("#manage-files input[type=file]").set_input_files(more)
    expect(page.locator("#manage-files .job").first).to_contain_text("1 label added", timeout=30_000)
    with page.expect_download() as download:
        page.get_by_role("button", name="Labels, JSONL").click()
    lines = download.value.path().read_text().splitlines()
    assert download.value.suggested_filename == "Small-labels.jsonl"
    assert {json.loads(line)["key"] for line in lines} == {f"t{i}" for i in range(8)} | {"new"}
    with page.expect_download() as download:
        page.get_by_role("button", name="Predictions, CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert {row["key"]: row["by"] for row in rows if row["by"] == "person"}.keys() == {f"t{i}" for i in range(8)} | {
        "new"
    }
    assert {row["sureness"] for row in rows} <= {"sure", "fairly sure", "unsure"}


def test_a_training_that_ended_at_a_bound_says_so(boss, site):
    page = boss.page
    change = {"settings": {"kernel": "hik", "transform": "power"}}
    site.patch(f"/v1/projects/{boss.project}", change)
    labels = [{"key": f"t{i}", "label": ["cat", "dog"][i % 2]} for i in range(12)]
    site.post(f"/v1/projects/{boss.project}/labels", {"labels": labels}, 201)
    page.get_by_role("button", name="Tune and train").click()
    expect(page.locator("#manage-training dl")).to_contain_text("WarningThe search for eta", timeout=30_000)


def test_the_card_is_read_and_opened_as_json(boss):
    boss.page.get_by_role("link", name="Open the model card").click()
    expect(boss.page.locator(".model-page")).to_contain_text("0 of 12 items")
    expect(boss.page.locator(".cautions")).to_contain_text("3 of 3 classes have no label")
    with boss.page.expect_popup() as popup:
        boss.page.get_by_role("button", name="As JSON").click()
    assert popup.value.url.startswith("blob:")


def test_a_project_is_deleted_with_care(boss, site):
    button = boss.page.get_by_role("button", name="Delete this project")
    expect(button).to_be_disabled()
    boss.page.get_by_label("to delete it").fill("Small")
    button.click()
    expect(boss.page.get_by_role("heading", name="Projects")).to_be_visible()
    site.get(f"/v1/projects/{boss.project}", 404)
