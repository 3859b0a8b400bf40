"""Addresses that cannot be opened, for a while or for ever."""

from playwright.sync_api import expect

from tests.app.page.test_accessibility import faults


def test_the_view_comes_back_after_an_outage(person):
    ann = person()
    ann.sign_in()
    expect(ann.page.locator("a.project", has_text="Demo")).to_be_visible()
    ann.page.route("**/v1/**", lambda route: route.abort())
    ann.page.locator("a.project", has_text="Demo").click()
    expect(ann.page.get_by_role("alert")).to_contain_text("The service cannot be reached.")
    ann.page.unroute("**/v1/**")
    ann.wait()  # nobody touches anything
    expect(ann.page.get_by_role("alert")).to_have_count(0)
    ann.complaints.clear()


def test_an_outage_in_the_midst_of_labelling(person):
    ann = person()
    said = [ann.open("Demo")]
    ann.page.route("**/v1/**", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}))
    said += [ann.press("1") for _ in range(2)]
    ann.page.keyboard.press("1")
    expect(ann.page.locator("#content h2")).to_have_text("One moment")
    ann.page.unroute("**/v1/**")
    assert ann.wait() not in said
    ann.saved()
    assert ann.events() == [("label", key, "1") for key in said]
    ann.complaints.clear()


def test_a_project_that_is_gone_is_told_with_a_way_home(person, make_project, site):
    ann = person()
    ann.sign_in(project="nowhere")
    expect(ann.page.get_by_role("heading", name="Project not found")).to_be_visible()
    expect(ann.page.locator("#views")).to_be_hidden()
    assert faults(ann.page) == []
    ann.page.get_by_role("link", name="All projects", exact=True).click()
    expect(ann.page.locator("a.project", has_text="Demo")).to_be_visible()
    project = make_project("Short life", ["yes", "no"], {name: {"text": name} for name in "abcdef"})
    ann.visit(project=project)
    ann.wait()
    site.delete(f"/v1/projects/{project}", 204)
    ann.page.keyboard.press("1")
    expect(ann.page.get_by_role("heading", name="Project not found")).to_be_visible()
    ann.page.get_by_role("link", name="All projects", exact=True).click()
    expect(ann.page.locator("a.project", has_text="Demo")).to_be_visible()
    assert ann.complaints
    assert all("404" in complaint for complaint in ann.complaints)
    ann.complaints.clear()
