"""The labelling page in a real browser."""

import json
import os
import re
import shutil
import uuid

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright
from sklearn.datasets import load_digits

from app.commands.demo import NAMES, make_demo
from app.services import catalogue
from app.services.pool import AddItems, NewItem, dense_row
from app.services.project_settings import ProjectSettings
from tests.app.live import in_thread

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
DIGITS = load_digits().target
EVIL = '<img src=x onerror="window.ran=1"><svg onload="window.ran=2"><script>window.ran=3</script>'


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    if path is None:
        needed = os.environ.get("CI") or os.environ.get("ASKNEXT_REQUIRE_BROWSER")
        (pytest.fail if needed else pytest.skip)("there is no chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with in_thread(None, tmp_path_factory.mktemp("page")) as (address, service):
        make_demo(service)
        yield address, service


class Person:
    """Somebody with a key of their own and a browser that remembers every complaint."""

    def __init__(self, browser, server, project=None, **options):
        self.address, self.service = server
        self.name = f"person {uuid.uuid4().hex}"
        self.key = self.service.access.create(self.name, "annotator", project)["key"]
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(10_000)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, project):
        self.page.goto(f"{self.address}/#key={self.key}")
        self.page.locator("a.project", has_text=project).click()
        return self.wait()

    def wait(self, other_than=""):
        """The key of the item at hand, when there is one (and another one)."""
        code = "key => { const now = document.getElementById('item').dataset.key; return now && now !== key && now }"
        return self.page.wait_for_function(code, arg=other_than).json_value()

    def press(self, key):
        """Answer; the item that comes then."""
        before = self.page.locator("#item").get_attribute("data-key")
        self.page.keyboard.press(key)
        return self.wait(other_than=before)

    def label_digits(self, count):
        """What was answered, item by item."""
        said = {}
        item = self.wait()
        for _ in range(count):
            digit = DIGITS[int(item.removeprefix("digit-"))]
            said[item] = NAMES[digit]
            item = self.press(NAMES[digit])
        self.saved()
        return said

    def saved(self):
        expect(self.page.locator("#saved")).to_have_attribute("data-waiting", "0")
        expect(self.page.locator("#saved")).to_have_text("Saved")

    def events(self):
        """What the service stored of this person's answers."""
        (project,) = re.findall("project=([^&]+)", self.page.url)
        url = f"{self.address}/v1/projects/{project}/labels?history=true"
        lines = httpx.get(url, headers={"Authorization": f"Bearer {self.key}"}).text.splitlines()
        events = [json.loads(line) for line in lines]
        return [(e["kind"], e["key"], e["label"]) for e in events if e["annotator"] == self.name]


@pytest.fixture
def person(browser, server):
    """Makes people; whatever the browser complained about fails the test, unless it was expected."""
    people = []

    def make(project=None, **options):
        people.append(Person(browser, server, project, **options))
        return people[-1]

    yield make
    for one in people:
        assert one.complaints == []
        one.context.close()


@pytest.fixture
def make_project(server):
    """A project with these items in the running service."""

    def make(name, classes, data, **settings):
        _, service = server
        project = catalogue.create(service.database, name, classes, ProjectSettings(**settings))
        items = [NewItem(key, dense_row([1.0, float(i)]), entry) for i, (key, entry) in enumerate(data.items())]
        running = service.open(project["id"])
        running.writer.do(AddItems(running.project, items, 2))
        return project["id"]

    return make


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
    expect(ann.page.locator("#advice li").first).to_contain_text("uncertainty")


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


def test_a_reload_keeps_the_place(person):
    ann = person()
    ann.open("Demo")
    ann.label_digits(2)
    here = ann.wait()
    ann.page.reload()
    assert ann.wait() == here
    back = ann.press("z")
    ann.page.reload()
    assert ann.wait() == back
    assert ann.press("1") == here


def test_nothing_that_people_sent_runs(person, make_project):
    outside = "http://127.0.0.1:9/x.png"
    data = {
        "text": {"text": EVIL},
        EVIL: {},
        "table": {EVIL: EVIL, "list": [EVIL]},
        "script": {"image": "javascript:window.ran=4"},
        "svg": {"image": "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='window.ran=5'/>"},
        "html": {"image": "data:text/html,<script>window.ran=6</script>"},
        "far": {"image": outside},
        "near": {"image": "//127.0.0.1:9/x.png"},
        "odd": {"image": "/\\127.0.0.1:9/x.png"},
    }
    make_project(f"Bad {EVIL}", [EVIL, "plain"], data)
    ann = person()
    requests = []
    ann.page.on("request", lambda request: requests.append(request.url))
    ann.page.add_init_script(
        "window.violations = []; addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective))"
    )
    item = ann.open("Bad")
    ann.page.keyboard.press("g")
    seen = {}
    for _ in data:
        seen[item] = ann.page.locator("#content").inner_text()
        assert ann.page.locator("main img, main script, main svg *:not(rect, line)").count() == 0
        if len(seen) < len(data):
            item = ann.press("1")
    assert seen.keys() == data.keys()
    assert seen["text"] == EVIL
    assert seen["table"].count(EVIL) == 2
    assert outside in seen["far"]
    assert ann.page.locator("button.class .name").first.inner_text() == EVIL
    assert ann.page.locator("h1").inner_text() == f"Bad {EVIL}"
    assert ann.page.evaluate("window.ran") is None
    assert ann.page.evaluate("window.violations") == []
    assert all(url.startswith(ann.address) for url in requests)


def test_answers_wait_for_the_network(person):
    ann = person()
    first = ann.open("Demo")
    ann.context.set_offline(True)
    second = ann.press("1")
    expect(ann.page.locator("#saved")).to_have_text("Not saved yet: 1 answer")
    ann.page.keyboard.press("2")
    expect(ann.page.locator("#saved")).to_have_text("Not saved yet: 2 answers")
    expect(ann.page.locator("#retry")).to_be_visible()
    ann.context.set_offline(False)  # the page notices by itself
    ann.saved()
    ann.wait()
    assert ann.events() == [("label", first, "1"), ("label", second, "2")]
    assert all("ERR_INTERNET_DISCONNECTED" in complaint for complaint in ann.complaints)
    ann.complaints.clear()


def test_an_answer_that_was_lost_on_the_way_is_stored_once(person):
    ann = person()
    first = ann.open("Demo")
    keys = []

    def lose(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    ann.page.route("**/labels", lose)
    ann.press("1")
    ann.saved()
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert ann.events() == [("label", first, "1")]
    ann.complaints.clear()


def test_unsaved_answers_outlive_a_reload(person):
    ann = person()
    first = ann.open("Demo")
    ann.page.route("**/labels", lambda route: route.abort())
    second = ann.press("1")
    expect(ann.page.locator("#saved")).to_have_text("Not saved yet: 1 answer")
    ann.page.unroute("**/labels")
    ann.page.on("dialog", lambda dialog: dialog.accept())
    ann.page.reload()
    assert ann.wait() == second
    assert ann.events() == [("label", first, "1")]
    ann.complaints.clear()


def test_an_undo_that_was_lost_on_the_way_is_done_once(person):
    ann = person()
    first = ann.open("Demo")
    second = ann.press("1")
    ann.press("1")
    ann.saved()

    def lose(route):
        route.fetch()
        route.abort()

    ann.page.route("**/undo", lose)
    assert ann.press("z") == second
    assert [(kind, key) for kind, key, _ in ann.events()] == [("label", first), ("label", second), ("retract", second)]
    ann.complaints.clear()


def test_a_refused_answer_comes_back(person, make_project, server):
    project = make_project("Moving classes", ["old"], {"a": {"text": "a"}, "b": {"text": "b"}})
    ann = person(project)
    ann.page.goto(f"{ann.address}/#key={ann.key}")  # good for one project: no list
    first = ann.wait()
    admin = server[1].access.create("boss", "admin")["key"]
    auth = {"Authorization": f"Bearer {admin}"}
    url = f"{ann.address}/v1/projects/{project}/classes/old"
    assert httpx.patch(url, headers=auth, json={"name": "new"}).status_code == 200
    ann.page.keyboard.press("1")
    expect(ann.page.locator("#problem")).to_contain_text("The label is not a class of this project")
    assert ann.wait() == first
    expect(ann.page.locator("button.class .name")).to_have_text(["new"])
    assert "422" in ann.complaints.pop()
    ann.press("1")
    expect(ann.page.locator("#problem")).to_be_hidden()


def test_guesses_are_shown_on_demand_only(person):
    ann = person()
    ann.open("Demo")
    ann.label_digits(2)
    guesses = ann.page.locator(".class .value", has_text="%")
    guess = ann.page.locator("#guess")
    expect(guesses).to_have_count(0)
    ann.page.keyboard.press("g")
    expect(guesses.first).to_be_visible()
    expect(guess).to_have_text(re.compile(r"Guess: \d, \d+\.\d %"))
    ann.press("1")
    expect(guesses.first).to_be_visible()
    ann.page.reload()  # the choice is kept
    expect(guesses.first).to_be_visible()
    ann.page.keyboard.press("g")
    expect(guesses).to_have_count(0)
    expect(guess).to_be_empty()


def test_a_double_click_is_one_answer(person):
    ann = person()
    first = ann.open("Demo")
    ann.page.locator("button.class").first.dblclick()
    ann.wait(other_than=first)
    ann.saved()
    assert ann.events() == [("label", first, "0")]
    expect(ann.page.locator("#item")).to_be_focused()  # so that the space bar skips, and does not press the button


def test_items_at_hand_are_kept_from_others_while_somebody_is_there(person, make_project):
    make_project("Short leases", ["x", "y"], {name: {"text": name} for name in "abcdef"}, lease_seconds=1.0)
    ann, bob = person(), person()
    held = ann.open("Short leases")
    ann.page.wait_for_timeout(1500)
    assert bob.open("Short leases") != held
    assert ann.wait() == held


def test_the_end_is_told(person, make_project):
    make_project("Few", [], {"only": {"text": "one item"}})
    ann = person()
    ann.open("Few")
    ann.page.locator("#new-class-name").fill("a first class")
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator("#content h2")).to_have_text("Nothing to ask")
    assert ann.events() == [("label", "only", "a first class")]
    ann.press("z")
    expect(ann.page.locator("#content")).to_have_text("one item")


def test_a_wrong_key_is_told(person, server):
    ann = person()
    ann.page.goto(server[0])
    ann.page.locator("#key").fill("ask_" + "x" * 43)
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator("#problem")).to_have_text("The key is not known or was revoked.")
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


def test_keys_and_pictures(person, server):
    ann = person()
    ann.page.goto(server[0])

    def keys(*classes):
        return ann.page.evaluate("names => import('/label/keymap.js').then(m => m.keysOf(names))", list(classes))

    assert keys("cat", "dog") == ["1", "2"]
    assert keys(*"0123456789", "ten") == [*"0123456789", "a"]
    assert keys("Y", "N", "s", "other") == ["y", "n", "1", "2"]
    many = keys(*(f"class {i}" for i in range(40)))
    assert many[:12] == [*"1234567890", "a", "b"]
    assert len(set(many)) == 32  # 31 keys, and none for the rest
    assert not {"c", "s", "u", "z", "g"} & set(many)

    def picture(image):
        return ann.page.evaluate("image => import('/item/pictures.js').then(m => m.pictureOf({data: {image}}))", image)

    assert picture("data:image/png;base64,AA==") == "data:image/png;base64,AA=="
    assert picture("/icon.svg") == f"{server[0]}/icon.svg"
    refused = ["data:image/svg+xml,x", "data:image/pngx,", " data:text/html,", "blob:x", "x.png", "/\t/127.0.0.1/x", 5]
    assert [picture(image) for image in refused] == [None] * len(refused)
