"""A tree of classes: walked by keys and by touch, entered and changed."""

import re
import sqlite3
from contextlib import closing

from playwright.sync_api import expect

from tests.app.page.test_accessibility import faults

TREE = [
    "animal",
    {"name": "bird", "parent": "animal"},
    {"name": "robin", "parent": "bird"},
    {"name": "tit", "parent": "bird"},
    {"name": "cat", "parent": "animal"},
    "tree",
]
DATA = {f"t{i}": {"text": f"text {i}"} for i in range(12)}


def stored(tmp_path_factory, project):
    """Labels as SQL has them, with the names of their classes."""
    (file,) = tmp_path_factory.getbasetemp().glob("page[0-9]/asknext.db")
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        query = """SELECT events.kind, classes.name, above.name FROM events
            JOIN classes ON classes.project_id = events.project_id AND classes.number = events.class_number
            LEFT JOIN classes AS above ON above.project_id = classes.project_id AND above.number = classes.parent
            WHERE events.project_id = ? ORDER BY events.sequence"""
        return connection.execute(query, [project]).fetchall()


def names(page):
    return page.locator("button.class .name").all_inner_texts()


def test_a_tree_is_walked_by_keys(person, make_project, tmp_path_factory):
    project = make_project("Walk", TREE, DATA, likelihood="softmax", kernel="hik")
    ann = person()
    first = ann.open("Walk")
    assert names(ann.page) == ["animal", "tree"]
    expect(ann.page.locator("#class-path")).to_be_hidden()
    ann.page.keyboard.press("1")
    assert names(ann.page) == ["bird", "cat"]
    expect(ann.page.locator("#class-here")).to_have_text(re.compile("Some kind of animal"))
    expect(ann.page.locator("#status")).to_have_text(re.compile("^animal: 2 kinds. Enter for some kind of animal"))
    ann.page.keyboard.press("1")
    second = ann.press("2")  # a tit
    assert names(ann.page) == ["animal", "tree"]
    ann.page.keyboard.press("1")
    ann.page.keyboard.press("1")
    third = ann.press("Enter")  # some kind of bird
    ann.page.keyboard.press("1")
    ann.page.keyboard.press("1")
    ann.page.keyboard.press("Backspace")
    assert names(ann.page) == ["bird", "cat"]
    ann.page.keyboard.press("Escape")
    assert names(ann.page) == ["animal", "tree"]
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("Enter")  # nothing at the top
    assert ann.wait() == third
    ann.press("2")
    ann.saved()
    assert ann.events() == [("label", first, "tit"), ("label", second, "bird"), ("label", third, "tree")]
    assert stored(tmp_path_factory, project) == [
        ("label", "tit", "bird"),
        ("label", "bird", "animal"),
        ("label", "tree", None),
    ]
    assert ann.press("Backspace") == third  # at the top it undoes


def test_a_key_that_bounces_does_not_walk(person, make_project):
    make_project("Bounce", TREE, DATA, likelihood="softmax", kernel="hik")
    ann = person()
    first = ann.open("Bounce")
    ann.press_at_once("2", "1")  # the second came before its item was seen
    ann.wait(other_than=first)
    assert names(ann.page) == ["animal", "tree"]
    ann.saved()
    assert ann.events() == [("label", first, "tree")]


def test_a_tree_is_walked_by_touch_with_guesses(person, make_project):
    make_project("Touch", TREE, DATA, likelihood="softmax", kernel="hik")
    ann = person(viewport={"width": 380, "height": 740}, has_touch=True)
    first = ann.open("Touch")
    button = ann.page.locator("button.class")
    button.filter(has_text="animal").tap()
    button.filter(has_text="cat").tap()
    ann.wait(other_than=first)
    second = ann.press("2")
    ann.page.keyboard.press("g")
    expect(button.filter(has_text="animal").locator(".value")).to_have_text(re.compile("%"))
    button.filter(has_text="animal").tap()
    expect(button.filter(has_text="bird").locator(".value")).to_have_text(re.compile("%"))
    assert ann.page.evaluate("document.documentElement.scrollWidth") == 380
    sizes = ann.page.locator("button.class, .class-path button").evaluate_all("all => all.map(b => b.offsetHeight)")
    assert min(sizes) >= 44
    assert faults(ann.page) == []
    ann.page.locator("#class-up").tap()
    assert names(ann.page) == ["animal", "tree"]
    button.filter(has_text="animal").tap()
    ann.page.locator("#class-here").tap()
    ann.wait(other_than=second)
    ann.saved()
    assert [label for _, _, label in ann.events()] == ["cat", "tree", "animal"]


def test_the_focus_goes_along(person, make_project):
    make_project("Focus", TREE, DATA, likelihood="softmax", kernel="hik")
    ann = person()
    first = ann.open("Focus")
    ann.page.get_by_role("button", name="animal , 2 kinds").focus()
    ann.page.keyboard.press("Enter")
    expect(ann.page.get_by_role("button", name="bird , 2 kinds")).to_be_focused()
    ann.page.get_by_role("button", name="cat").focus()
    ann.page.keyboard.press("Enter")
    ann.wait(other_than=first)
    ann.saved()
    assert [label for _, _, label in ann.events()] == ["cat"]


def test_a_tree_is_entered_and_changed(person, site):
    ann = person(role="admin")
    ann.sign_in(view="new")
    ann.page.get_by_text("Or start with an empty project").click()
    ann.page.locator("#empty-name").fill("Entered")
    ann.page.get_by_role("textbox", name="Classes").fill("animal\n  bird\n    robin\n  cat\ntree")
    ann.page.get_by_role("button", name="Create project").click()
    above = ann.page.get_by_label("tree is a kind of")
    expect(above).to_be_visible()
    (project,) = re.findall("project=([^&]+)", ann.page.url)
    made = site.get(f"/v1/projects/{project}")
    assert made["parents"] == {"bird": "animal", "robin": "bird", "cat": "animal"}
    assert made["settings"]["likelihood"] == "softmax"
    assert faults(ann.page) == []
    with ann.page.expect_response("**/classes/tree"):
        above.select_option("animal")
    expect(ann.page.get_by_label("tree is a kind of")).to_have_value("animal")
    ann.page.get_by_label("animal is a kind of").select_option("robin")
    expect(ann.page.get_by_role("alert")).to_contain_text("cannot be a kind of itself")
    assert "422" in ann.complaints.pop()
    expect(ann.page.get_by_label("animal is a kind of")).to_have_value("")
    assert site.get(f"/v1/projects/{project}")["parents"]["tree"] == "animal"
