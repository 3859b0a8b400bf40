"""Labelling by keys and by touch."""

import re

import pytest
from playwright.sync_api import expect

from tests.app.page.test_accessibility import faults


def test_digits_are_labelled_by_keys(person):
    ann = person()
    ann.open("Demo")
    assert ann.key not in ann.page.url
    picture = ann.page.locator("#content img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 96
    before = int(ann.page.locator("#labelled").inner_text())
    said = ann.label_digits(7)
    assert ann.events() == [("label", key, name) for key, name in said.items()]
    expect(ann.page.locator("#labelled")).to_have_text(str(before + 7))
    expect(ann.page.locator("#sitting")).to_have_text("7")
    expect(ann.page.locator("#accuracy .verdict")).to_contain_text("eep labelling")


def test_one_round_trip_per_label_and_the_next_picture_at_once(person):
    ann = person()
    ann.open("Demo")
    calls = []
    ann.page.on("request", lambda r: "/model" not in r.url and calls.append(r.url.rsplit("/", 1)[1]))
    ann.page.route("**/labels", lambda route: None)  # never answered
    ann.press("1")
    assert ann.page.locator("#content img").evaluate("image => image.complete")
    assert [call for call in calls if not call.startswith("png")] == ["labels"]


def test_undo_skip_and_unsure(person):
    ann = person()
    first = ann.open("Demo")
    second = ann.press("3")
    third = ann.press("Space")
    fourth = ann.press("u")
    ann.saved()  # what was never sent is taken back without a trace
    assert ann.press("z") == third
    assert ann.press("Backspace") == second
    assert ann.press("z") == first
    ann.page.keyboard.press("z")
    expect(ann.page.locator("#problem")).to_have_text("There is nothing to undo.")
    assert ann.complaints.pop().startswith("Failed to load resource: the server responded with a status of 409")
    assert ann.press("4") == second
    assert ann.press("s") == third
    assert ann.press("1") == fourth
    ann.saved()
    kinds = [(kind, key) for kind, key, _ in ann.events()]
    assert kinds[:3] == [("label", first), ("skip", second), ("unsure", third)]
    assert kinds[3:6] == [("retract", third), ("retract", second), ("retract", first)]
    assert ann.events()[6:] == [("label", first, "4"), ("skip", second, None), ("label", third, "1")]


def test_an_item_that_nobody_has_seen_gets_no_answer(person):
    ann = person()
    first = ann.open("Demo")
    ann.press_at_once("3", "3", "4", " ", "u")
    ann.page.locator("button.class").first.evaluate("button => button.click()")
    second = ann.wait(other_than=first)
    ann.saved()
    assert ann.events() == [("label", first, "3")]
    ann.press("3")
    ann.saved()
    assert ann.events() == [("label", first, "3"), ("label", second, "3")]


def test_unsure_and_skipped_are_counted_apart(person):
    ann = person()
    ann.open("Demo")
    for key in ("u", "Space", "Space", "1"):
        ann.press(key)

    def counts():
        return [ann.page.locator(place).inner_text() for place in ("#sitting", "#skipped", "#unsure-count")]

    assert counts() == ["1", "2", "1"]
    ann.saved()
    ann.press("z")
    ann.press("z")
    assert counts() == ["0", "1", "1"]
    ann.page.reload()
    ann.wait()
    assert counts() == ["0", "1", "1"]


def test_what_was_skipped_is_offered_again(person, make_project):
    make_project("Alone", ["yes", "no"], {name: {"text": name} for name in "abcd"})
    ann = person()
    skipped = [ann.open("Alone"), ann.press("Space"), ann.press("Space")]
    unsure = ann.press("Space")
    ann.page.keyboard.press("u")
    content = ann.page.locator("#content")
    expect(content).to_contain_text("You skipped 3 items")
    assert faults(ann.page) == []
    ann.page.get_by_role("button", name="Show the skipped items again").click()
    again = [ann.wait()]
    again += [ann.press("1")]
    again += [ann.press("Space")]
    ann.page.keyboard.press("2")
    expect(content).to_contain_text("You skipped 1 item")  # once more, and it does not come back by itself
    assert sorted(again) == sorted(skipped)
    kinds = [(kind, key) for kind, key, _ in ann.events()]
    assert kinds == [("skip", key) for key in skipped] + [
        ("unsure", unsure),
        ("label", again[0]),
        ("skip", again[1]),
        ("label", again[2]),
    ]


def test_guesses_are_shown_on_demand_only(person):
    ann = person()
    ann.open("Demo")
    ann.label_digits(2)
    guesses = ann.page.locator(".class .value", has_text="%")
    guess = ann.page.locator("#guess")
    expect(guesses).to_have_count(0)
    ann.page.keyboard.press("g")
    expect(guesses.first).to_be_visible()
    expect(guess).to_have_text(re.compile(r"Guess: \d, \d+\.\d{1,2}\s%"))
    ann.press("1")
    expect(guesses.first).to_be_visible()
    ann.page.reload()  # the choice is kept
    expect(guesses.first).to_be_visible()
    ann.page.keyboard.press("g")
    expect(guesses).to_have_count(0)
    expect(guess).to_be_empty()


def test_the_end_is_told(person, make_project):
    make_project("Nearly done", [], {"only": {"text": "one item"}})
    ann = person()
    ann.open("Nearly done")
    ann.page.locator("#new-class-name").fill("a first class")
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator("#content h2")).to_have_text("Nothing left to label")
    assert ann.events() == [("label", "only", "a first class")]
    ann.press("z")
    expect(ann.page.locator("#content")).to_have_text("one item")


def test_a_wrong_key_is_told(person, server):
    ann = person()
    ann.page.goto(server)
    ann.page.locator("#key").fill("ask_" + "x" * 43)
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator("#problem")).to_have_text("This key is unknown or was revoked: ask for a new one.")
    assert "401" in ann.complaints.pop()
    ann.page.locator("#key").fill(ann.key)
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator("a.project", has_text="Demo")).to_be_visible()
    assert ann.page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(person, scheme):
    ann = person(viewport={"width": 380, "height": 740}, color_scheme=scheme, has_touch=True)
    first = ann.open("Demo")
    assert ann.page.evaluate("document.documentElement.scrollWidth") == 380
    sizes = ann.page.locator("button.class, .actions button").evaluate_all("all => all.map(b => b.offsetHeight)")
    assert min(sizes) >= 44
    assert ann.page.locator("#undo").evaluate("b => b.getBoundingClientRect().bottom") < 740
    ann.page.locator("button.class").nth(2).tap()
    ann.wait(other_than=first)
    ann.saved()


def test_comments_are_kept_with_the_item_or_with_a_skip(person, site):
    ann = person()
    first = ann.open("Demo")
    ann.page.keyboard.press("c")
    ann.page.keyboard.type("1 is how it looks")  # keys do not label while somebody writes
    ann.page.keyboard.press("Control+Enter")
    expect(ann.page.locator("#commenting")).to_be_hidden()
    assert ann.wait() == first
    ann.page.keyboard.press("c")
    ann.page.keyboard.type("too dark")
    ann.page.get_by_role("button", name="Add and skip").click()
    ann.wait(other_than=first)
    ann.saved()
    (project,) = re.findall("project=([^&]+)", ann.page.url)
    said = site.get(f"/v1/projects/{project}/items/{first}")["history"]
    assert [(e["kind"], e["note"]) for e in said[-2:]] == [("comment", "1 is how it looks"), ("skip", "too dark")]
    assert ann.press("z") == first
    kinds = [kind for kind, _, _ in ann.events()]
    assert kinds == ["comment", "skip", "retract"]


def test_another_project_shows_nothing_of_the_one_before(person, site):
    project = site.post("/v1/projects", {"name": "Empty", "classes": ["yes"]}, 201)["id"]
    ann = person()
    ann.open("Demo")
    ann.visit(project=project)
    expect(ann.page.locator("#content h2")).to_have_text("Nothing left to label")
    expect(ann.page.locator("#item")).to_have_attribute("data-key", "")
    expect(ann.page.locator(".about")).to_have_text(re.compile(r"^\s*$"), use_inner_text=True)
