"""A project from a file that is dropped on the page."""

import base64
import csv
import io
import re

import pytest
from playwright.sync_api import expect

from tests.app.page.drawings import drawn, zip_of_shapes
from tests.app.page.people import EVIL

DROP = """(zone, {name, content}) => {
    const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name));
    for (const type of ["dragenter", "dragover", "drop"])
        zone.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}"""
STRAY = """place => !["dragover", "drop"].some(type => place.dispatchEvent(
    new DragEvent(type, {dataTransfer: new DataTransfer(), bubbles: true, cancelable: true})))"""
PLENTY = 60_000  # milliseconds for encoding on a busy machine


@pytest.fixture(scope="module")
def pictures():
    """A zip of forty-one drawings, one of them with a name that means no good, and a file that is no picture."""
    more = {f"{EVIL.replace('/', '')}.png": drawn("circle", 99), "broken.png": b"not a picture"}
    return zip_of_shapes(40, **more)


@pytest.fixture(scope="module")
def texts():
    """A csv of texts with classes that mean no good."""
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(["id", "message", "label"])
    for i in range(60):
        words = "win a free prize now, call us" if i % 3 == 0 else "see you at home for dinner tonight, love"
        table.writerow([f"m{i}", f"{words} number {i} {EVIL if i == 1 else ''}", "spam" if i % 3 == 0 else EVIL])
    return file.getvalue().encode()


@pytest.fixture
def boss(person):
    one = person(role="admin")
    one.sign_in(view="new")
    return one


def drop(boss, name, content, place=".drop"):
    zone = boss.page.locator(place)
    zone.evaluate(DROP, {"name": name, "content": base64.b64encode(content).decode()})
    expect(boss.page.get_by_role("button", name="Start labelling")).to_be_enabled(timeout=PLENTY)


def test_from_a_zip_of_pictures(boss, pictures):
    page = boss.page
    drop(boss, "shapes_drawn.zip", pictures)
    expect(page.locator(".step").first).to_contain_text("Found 41 pictures")
    expect(page.locator(".broken summary")).to_have_text("1 file was left out: not a JPEG, PNG or WebP picture")
    page.locator(".broken summary").click()
    expect(page.locator(".broken")).to_contain_text("broken.png")
    expect(page.get_by_label("Name", exact=True)).to_have_value("shapes drawn")
    page.get_by_role("textbox", name="Classes").fill("circle\nsquare\n\ncircle")
    page.get_by_role("button", name="Start labelling").click()
    boss.wait()
    picture = page.locator("#content img")
    said = []
    for _ in range(30):
        key = page.locator("#item").get_attribute("data-key")
        expect(picture).to_have_attribute("src", re.compile("^blob:"))
        name = "square" if "square" in key else "circle"
        said.append(("label", key, name))
        boss.press({"circle": "1", "square": "2"}[name])
    boss.saved()
    assert boss.events() == said
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 96
    assert page.evaluate("window.ran") is None
    page.route("**/media/**", lambda route: route.abort())
    for _ in range(3):
        boss.press("1")
    page.unroute("**/media/**")
    expect(picture).to_have_attribute("src", re.compile("^blob:"))  # a picture that was lost on the way comes later
    assert all("ERR_FAILED" in complaint for complaint in boss.complaints)
    boss.complaints.clear()
    boss.visit(project=re.findall("project=([^&]+)", page.url)[0], view="look")
    expect(page.locator(".ranked img").first).to_be_visible()


def test_from_a_csv_of_texts_whose_labels_count(boss, texts):
    page = boss.page
    drop(boss, "messages.csv", texts)
    expect(page.locator(".step").first).to_contain_text("Found 60 texts")
    expect(page.locator(".step").first).to_contain_text("message")
    assert sorted(page.get_by_role("textbox", name="Classes").input_value().split("\n")) == sorted([EVIL, "spam"])
    page.get_by_label("Use the labels in this file").check()
    page.get_by_role("button", name="Start labelling").click()
    expect(page.locator("#content h2")).to_have_text("Nothing left to label", timeout=PLENTY)
    expect(page.locator("#labelled")).to_have_text("60")
    assert page.evaluate("window.ran") is None


def test_from_a_file_that_is_dropped_on_the_list_of_projects(boss, texts):
    boss.visit()
    expect(boss.page.get_by_role("heading", name="Projects")).to_be_visible()
    expect(boss.page.locator("a.project").first).to_be_visible()
    drop(boss, "from_home.csv", texts, place="body")
    expect(boss.page.locator(".step").first).to_contain_text("Found 60 texts")
    expect(boss.page.get_by_label("Name", exact=True)).to_have_value("from home")


def test_a_file_that_is_dropped_where_it_means_nothing_stays_out(person):
    ann = person()
    item = ann.open("Demo")
    for place in ("#item", "body"):
        assert ann.page.locator(place).evaluate(STRAY)  # or the browser would leave the page for the file
    assert ann.wait() == item


def test_words_that_tell_are_marked(boss, texts):
    page = boss.page
    drop(boss, "messages.csv", texts)
    page.get_by_role("button", name="Start labelling").click()
    item = boss.wait()
    keys = dict(
        zip(page.locator(".class .name").all_inner_texts(), page.locator(".class kbd").all_inner_texts(), strict=True)
    )
    for _ in range(12):
        item = boss.press(keys["spam"] if int(item[1:]) % 3 == 0 else keys[EVIL])
    expect(page.locator("#content mark").first).to_be_visible()
    assert page.locator("#content .text").inner_text().startswith(("win a free", "see you at"))  # the text is as it was
    page.reload()
    expect(page.locator("#content mark").first).to_be_visible()


def test_a_reload_while_a_file_is_read_and_a_change_of_mind(boss, texts, site):
    page = boss.page
    before = len(site.get("/v1/projects")["projects"])
    drop(boss, "again.csv", texts)
    page.reload()
    expect(page.locator(".step").first).to_contain_text("Found 60 texts", timeout=PLENTY)
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()
    assert len(site.get("/v1/projects")["projects"]) == before


def test_a_file_that_is_nothing_is_told(boss):
    boss.page.locator(".drop").evaluate(DROP, {"name": "x.bin", "content": base64.b64encode(b"\0\1\2" * 50).decode()})
    expect(boss.page.get_by_text("The file could not be read")).to_be_visible(timeout=PLENTY)
    boss.complaints.clear()


def test_an_empty_project_is_made_by_hand(boss, site):
    page = boss.page
    page.get_by_text("Or start with an empty project").click()
    page.get_by_role("textbox", name="Name").fill("By hand")
    page.get_by_role("textbox", name="Classes").fill("yes\nno")
    page.get_by_role("button", name="Create project").click()
    expect(page.locator("#title")).to_have_text("By hand")
    expect(page.locator(".settings")).to_be_visible()


def test_a_wrong_guess_is_read_another_way(boss, site):
    page = boss.page
    lines = ["fruit,remark,size"] + [f"{i % 5} apples,what we said of number {i} at home,{i % 3}" for i in range(30)]
    drop(boss, "fruit.csv", "\n".join(lines).encode())
    way = page.get_by_label("Read it as")
    expect(way.locator("option:checked")).to_have_text("texts in “remark”")
    page.get_by_role("textbox", name="Classes").fill("few\nmany")
    before = len(site.get("/v1/projects")["projects"])
    for choice, found in (("texts in “fruit”", "Found 30 texts"), ("rows of a table", "Found 30 rows")):
        start = page.get_by_role("button", name="Start labelling")
        address = page.url
        way.select_option(label=choice)
        page.wait_for_url(lambda url, address=address: url != address)
        expect(start).to_be_enabled(timeout=PLENTY)
        expect(page.locator(".step").first).to_contain_text(found)
        expect(way.locator("option:checked")).to_have_text(choice)
    expect(page.get_by_role("textbox", name="Classes")).to_have_value("few\nmany")
    start.click()
    boss.wait()
    project = site.get(f"/v1/projects/{re.findall('project=([^&]+)', page.url)[0]}")
    assert (project["encoder"]["kind"], project["classes"]) == ("table", ["few", "many"])
    assert len(site.get("/v1/projects")["projects"]) == before
