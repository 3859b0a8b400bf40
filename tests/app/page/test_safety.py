"""Nothing is lost and nothing is stored twice, whatever happens on the way."""

from playwright.sync_api import expect


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


def test_a_refused_answer_comes_back(person, make_project, site):
    project = make_project("Moving classes", ["old"], {"a": {"text": "a"}, "b": {"text": "b"}})
    ann = person(project=project)
    ann.sign_in()  # good for one project: no list
    first = ann.wait()
    site.patch(f"/v1/projects/{project}/classes/old", {"name": "new"})
    ann.page.keyboard.press("1")
    expect(ann.page.locator("#problem")).to_have_text("The class “old” no longer exists. Choose another.")
    assert ann.wait() == first
    expect(ann.page.locator("button.class .name")).to_have_text(["new"])
    assert "422" in ann.complaints.pop()
    ann.press("2")  # the key of a class that is gone is nobody else's
    expect(ann.page.locator("#problem")).to_be_hidden()


def test_keys_stay_when_a_class_is_merged_elsewhere(person, make_project, site):
    names = ["ant", "bee", "cat", "dog", *(f"more {i}" for i in range(18))]
    project = make_project("Merged", names, {f"i{i}": {"text": f"item {i}"} for i in range(12)})
    ann = person()
    first = ann.open("Merged")
    keys = ann.page.locator("button.class kbd")
    shown = ann.page.locator("button.class .name")
    problem = ann.page.locator("#problem")

    def merge(one, into):
        site.post(f"/v1/projects/{project}/classes/{one}/merge", {"into": into})

    merge("bee", "ant")
    ann.page.keyboard.press("2")  # a bee, as the page has it
    expect(problem).to_have_text("The class “bee” no longer exists. Choose another.")
    assert "422" in ann.complaints.pop()
    expect(shown).to_have_text([name for name in names if name != "bee"])
    assert keys.all_inner_texts()[:3] == ["1", "3", "4"]
    assert ann.wait() == first
    ann.page.keyboard.press("2")
    second = ann.press("3")
    merge("cat", "dog")
    ann.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # back from the other tab
    expect(shown).to_have_text([name for name in names if name not in ("bee", "cat")])
    assert keys.all_inner_texts()[:3] == ["1", "4", "5"]
    ann.wait()
    ann.page.keyboard.press("3")
    expect(problem).to_have_text("The class “cat” no longer exists. Choose another.")
    ann.press("4")
    ann.saved()
    assert ann.events() == [("label", first, "dog"), ("label", second, "dog")]  # the cat has become a dog


def test_a_double_click_is_one_answer(person):
    ann = person()
    first = ann.open("Demo")
    ann.page.locator("button.class").first.dblclick()
    ann.wait(other_than=first)
    ann.saved()
    assert ann.events() == [("label", first, "0")]
    expect(ann.page.locator("#item")).to_be_focused()  # so that the space bar skips, and does not press the button


def test_items_at_hand_are_kept_from_others_while_somebody_is_there(person, make_project):
    make_project("Short leases", ["x", "y"], {name: {"text": name} for name in "abcdef"}, lease_seconds=3.0)
    ann, bob = person(), person()
    held = ann.open("Short leases")
    ann.page.wait_for_timeout(4500)
    assert bob.open("Short leases") != held
    assert ann.wait() == held


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
