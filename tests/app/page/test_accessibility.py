"""For everybody: axe-core finds no fault, the keyboard suffices, a screen reader is told what happens."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

AXE = Axe()
PHONE = {"viewport": {"width": 380, "height": 740}, "has_touch": True}
VIEWS = {
    "projects": "a.project",
    "new": ".drop",
    "label": "#content img",
    "look": ".ranked",
    "manage": ".settings",
    "card": ".model-page",
}


def faults(page):
    """What axe-core complains about, in short."""
    found = AXE.run(page).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


@pytest.fixture(scope="module")
def taught(site):
    """The demo with enough labels to show something everywhere: its id."""
    from tests.app.page.people import digit

    (project,) = [one["id"] for one in site.get("/v1/projects")["projects"] if one["name"].startswith("Demo")]
    keys = [f"digit-{i:04d}" for i in range(0, 120, 2)]
    labels = {"labels": [{"key": key, "label": digit(key)} for key in keys]}
    site.post(f"/v1/projects/{project}/labels", labels, 201)
    return project


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_no_fault(person, taught, options):
    boss = person(role="admin", **options)
    boss.page.goto(boss.address)
    expect(boss.page.locator("#key")).to_be_visible()
    assert faults(boss.page) == []
    boss.sign_in()
    for view, sign in VIEWS.items():
        boss.visit(view=view, **({} if view in ("projects", "new") else {"project": taught}))
        expect(boss.page.locator(sign).first).to_be_visible()
        if view == "label":
            boss.page.keyboard.press("g")
            expect(boss.page.locator(".guessed")).to_be_visible()
        assert faults(boss.page) == [], view
        width = boss.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, view


def test_dialogs_have_no_fault(person, taught):
    ann = person()
    ann.sign_in(project=taught)
    ann.wait()
    for key, name in [("?", "help"), ("c", "commenting")]:
        ann.page.keyboard.press(key)
        expect(ann.page.locator(f"#{name}")).to_be_visible()
        assert faults(ann.page) == []
        ann.page.keyboard.press("Escape")
        expect(ann.page.locator(f"#{name}")).to_be_hidden()
    ann.visit(project=taught, view="look", item="digit-0000")
    expect(ann.page.locator(".item-dialog")).to_be_visible()
    assert faults(ann.page) == []


def said(what, item):
    """The whole of it; an item that is like none before is announced as such, too."""
    return re.compile(rf"^{re.escape(what)} Next: {item}(\. Unlike anything so far)?$")


def test_everything_is_said(person, taught):
    ann = person()
    ann.sign_in(project=taught)
    first = ann.wait()
    status = ann.page.locator("#status")
    second = ann.press("1")
    expect(status).to_have_text(said("Labelled 1.", second))
    third = ann.press("Space")
    expect(status).to_have_text(said("Skipped.", third))
    ann.press("z")
    expect(status).to_have_text(said("Undid the last answer.", second))
    ann.press("z")
    expect(status).to_have_text(said("Undid the last answer.", first))


def test_the_keyboard_suffices(person, taught):
    boss = person(role="admin")
    boss.page.goto(boss.address)
    boss.page.keyboard.type(boss.key)  # the field has the focus
    boss.page.keyboard.press("Enter")
    expect(boss.page.locator("a.project").first).to_be_visible()
    tab_to(boss.page, "a.project", has_text="Demo")
    boss.page.keyboard.press("Enter")
    first = boss.wait()
    tab_to(boss.page, "button.class", has_text="3")
    boss.page.keyboard.press("Enter")
    boss.wait(other_than=first)
    boss.saved()
    assert boss.events() == [("label", first, "3")]


def tab_to(page, selector, **options):
    """Press Tab until this has the focus."""
    wanted = page.locator(selector, **options).first
    for _ in range(40):
        if wanted.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by Tab")
