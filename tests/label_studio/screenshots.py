"""`LABEL_STUDIO=command python -m tests.label_studio.screenshots`: the two together, for the page about them."""

import re
import shutil
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import expect, sync_playwright

from tests.app.live import ADMIN, Process
from tests.label_studio.real import OPEN, PASSWORD, TEXT, TOKEN, USER, Annotator, Server, connect, sentences

PICTURES = Path(__file__).parents[1] / "pictures"
TOPICS = sentences(120)
ANSWERS = 14


def main() -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        asknext, server = Process(None, Path(one)).start(), Server(Path(other)).start(**OPEN)
        try:
            project, annotator = taught(server, asknext)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                label(browser, server, annotator)
                manage(browser, asknext, project)
                browser.close()
        finally:
            server.stop()
            asknext.stop()


def taught(server, asknext):
    """AskNext's project, and an annotator who has answered some tasks."""
    http = httpx.Client(base_url=server.address, headers={"Authorization": f"Token {TOKEN}"}, timeout=60)
    annotator = Annotator(http).make("Topics", TEXT, TOPICS)
    done = connect(server, asknext, annotator.number)
    assert done.returncode == 0, done.stderr
    for _ in range(ANSWERS):
        task = annotator.next()
        annotator.submit(task, TOPICS[task["data"]["text"]])
    return re.findall("AskNext project (\\w+)", done.stdout)[0], annotator


def label(browser, server, annotator):
    page = browser.new_context(viewport={"width": 1100, "height": 520}).new_page()
    page.goto(f"{server.address}/user/login")
    page.locator("input[name=email]").fill(USER)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button[type=submit], input[type=submit]").first.click()
    page.wait_for_url(lambda url: "/login" not in url)
    page.goto(f"{server.address}/projects/{annotator.number}/data")
    page.get_by_text("Label All Tasks", exact=True).click(timeout=60_000)
    expect(page.get_by_text("Submit", exact=True)).to_be_visible(timeout=60_000)
    page.wait_for_timeout(3000)
    page.screenshot(path=PICTURES / "label_studio.png")


def manage(browser, asknext, project):
    page = browser.new_context(viewport={"width": 1100, "height": 560}).new_page()
    page.goto(f"{asknext.address}/#key={ADMIN}&project={project}&view=manage")
    section = page.locator("#manage-studio")
    expect(section).to_contain_text("Last sync", timeout=30_000)
    section.screenshot(path=PICTURES / "label_studio_manage.png")


if __name__ == "__main__":
    main()
