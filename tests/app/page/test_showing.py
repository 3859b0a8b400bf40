"""Items as people see them: what others sent is shown, and never run."""

from playwright.sync_api import expect

from tests.app.page.people import EVIL


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
    assert ann.page.locator("#title").inner_text() == f"Bad {EVIL}"
    assert ann.page.evaluate("window.ran") is None
    assert ann.page.evaluate("window.violations") == []
    assert all(url.startswith(ann.address) for url in requests)


def test_keys_and_pictures(person, server):
    ann = person()
    ann.page.goto(server)

    def keys(*classes, had=None):
        code = """([names, had]) => import('/label/keymap.js')
            .then(m => [...m.keysOf(names, new Map(Object.entries(had))).values()])"""
        return ann.page.evaluate(code, [list(classes), had or {}])

    assert keys("cat", "dog") == ["1", "2"]
    assert keys(*"0123456789", "ten") == [*"0123456789", "a"]
    assert keys("Y", "N", "s", "other") == ["y", "n", "1", "2"]
    many = keys(*(f"class {i}" for i in range(40)))
    assert many[:12] == [*"1234567890", "a", "b"]
    assert len(set(many)) == 32  # 31 keys, and none for the rest
    assert not {"c", "s", "u", "z", "g"} & set(many)
    assert keys("cat", "2", "eel", had={"ant": "1", "bee": "2", "cat": "3"}) == ["3", "4", "5"]  # no key changes hands

    def picture(image):
        return ann.page.evaluate("image => import('/item/pictures.js').then(m => m.pictureOf({data: {image}}))", image)

    assert picture("data:image/png;base64,AA==") == "data:image/png;base64,AA=="
    assert picture("/icon.svg") == f"{server}/icon.svg"
    refused = ["data:image/svg+xml,x", "data:image/pngx,", " data:text/html,", "blob:x", "x.png", "/\t/127.0.0.1/x", 5]
    assert [picture(image) for image in refused] == [None] * len(refused)


def test_a_histogram_is_drawn_as_bars(person, make_project):
    make_project("Bars", ["yes"], {"plain": None, "known": {"colour": "red"}}, features=lambda i: [0.0, 0.5, 0.0, 1.0])
    ann = person()
    item = ann.open("Bars")
    drawing = ann.page.get_by_role("img", name="Histogram of 4 columns, 2 of them not zero")
    heights = "all => all.map(bar => Math.round(Number(bar.getAttribute('height'))))"
    for _ in range(2):
        expect(drawing.locator("rect")).to_have_count(2)
        assert drawing.locator("rect").evaluate_all(heights) == [120, 240]
        data = ann.page.locator("#content .data")
        expect(data).to_have_text("colourred") if item == "known" else expect(data).to_have_count(0)
        ann.page.keyboard.press("1")
        item = "known" if item == "plain" else "plain"


def test_pictures_are_enlarged_and_moved_by_keys(person):
    ann = person()
    ann.open("Demo")
    picture, place = ann.page.locator("#content img"), ann.page.locator("#content")

    def width():
        return picture.evaluate("image => image.offsetWidth")

    fit = width()
    assert 96 < fit <= place.evaluate("place => place.clientWidth")
    ann.page.keyboard.press("=")
    assert width() == 96  # as large as it is
    ann.page.keyboard.press("=")
    assert width() == fit
    for _ in range(6):
        ann.page.keyboard.press("+")
    assert width() > place.evaluate("place => place.clientWidth")
    before = place.evaluate("place => [place.scrollLeft, place.scrollTop]")
    ann.page.keyboard.press("ArrowRight")
    ann.page.keyboard.press("ArrowDown")
    after = place.evaluate("place => [place.scrollLeft, place.scrollTop]")
    assert after[0] > before[0]
    assert after[1] > before[1]
    ann.page.get_by_role("button", name="Fit").click()
    assert width() == fit


def test_letters_have_the_size_that_was_chosen(person, make_project):
    make_project("Letters", ["yes"], {name: {"text": f"text {name}"} for name in "abc"})
    ann = person()
    ann.open("Letters")
    text = ann.page.locator("#content .text")

    def size():
        return text.evaluate("text => parseFloat(getComputedStyle(text).fontSize)")

    before = size()
    ann.page.keyboard.press("+")
    ann.page.get_by_role("button", name="Larger").click()
    chosen = size()
    assert chosen > before
    ann.press("1")
    assert size() == chosen
    ann.page.reload()
    ann.wait()
    assert size() == chosen


def test_names_of_classes_are_whole_on_a_phone_with_guesses_too(person, make_project):
    names = ["Bedroom", "Coast", "Highway", "Industrial", "LivingRoom", "Mountain", "OpenCountry", "TallBuilding"]
    project = make_project("Scenes", names, {f"i{n}": {"text": f"text {n}"} for n in range(4)})
    ann = person(viewport={"width": 390, "height": 780}, has_touch=True, is_mobile=True)
    ann.sign_in(project=project)
    ann.wait()
    ann.press("1")
    ann.press("2")
    ann.page.locator("#show-guess").click()
    expect(ann.page.locator(".guessed")).to_be_visible()
    cut = "names => names.filter(n => n.scrollHeight > n.clientHeight + 1).map(n => n.innerText)"
    assert ann.page.locator(".class .name").evaluate_all(cut) == []
    heights = ann.page.locator(".class .name").evaluate_all("names => names.map(n => n.clientHeight)")
    assert len(set(heights)) == 1  # none is broken into two lines
