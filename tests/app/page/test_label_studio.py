"""Label Studio on the page Manage."""

import httpx
import pytest
from playwright.sync_api import expect

from tests.app.label_studio import wire
from tests.app.label_studio.stand_in import TOKEN, stand_in


@pytest.fixture
def boss(person, make_project):
    data = {f"k{i}": {"text": f"text {i}"} for i in range(6)}
    one = person(role="admin")
    one.project = make_project("Reviews", ["Positive", "Negative"], data, features=lambda i: [1.0 - i % 2, 0.1 + i % 2])
    one.sign_in(project=one.project, view="manage")
    return one


def test_a_link_is_made_synced_and_ended(boss):
    page = boss.page
    with stand_in() as (remote, address):
        remote.tasks = [wire.task(i + 1, text="text", key=f"k{i}") for i in range(6)]
        page.get_by_label("Address of Label Studio").fill(address)
        page.get_by_label("Access token").fill(TOKEN)
        page.get_by_label("Project number").fill("12")
        page.get_by_role("button", name="Create a link").click()
        url = page.get_by_label("Address for Label Studio").input_value()
        assert httpx.get(f"{url}/health").json()["status"] == "UP"
        studio = page.locator("#manage-studio")
        expect(studio).to_contain_text(f"{address}, project 12")
        remote.annotate(remote.tasks[0], wire.annotation(1, remote.tasks[0], ["Positive"]))
        page.get_by_role("button", name="Sync now").click()
        expect(studio.locator("div", has_text="Annotations").locator("dd").nth(3)).to_have_text("1")
        expect(studio).not_to_contain_text(TOKEN)
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Disconnect").click()
        expect(page.get_by_role("button", name="Create a link")).to_be_visible()
        assert httpx.get(f"{url}/health").status_code == 401
