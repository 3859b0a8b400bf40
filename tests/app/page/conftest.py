import os
import shutil
import threading

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from app.commands.demo import make_demo
from tests.app.live import ADMIN, in_thread
from tests.app.page.people import Person
from tests.app.site import Site

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="package")
def browser():
    path = shutil.which("chromium")
    if path is None:
        needed = os.environ.get("CI") or os.environ.get("ASKNEXT_REQUIRE_BROWSER")
        (pytest.fail if needed else pytest.skip)("there is no chromium")
    expect.set_options(timeout=30_000)  # milliseconds, of a busy machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def live(tmp_path_factory):
    """(address, service) of a server with the demo, shared by all tests of the page."""
    with in_thread(None, tmp_path_factory.mktemp("page")) as (address, service):
        make_demo(service)
        yield address, service


@pytest.fixture(scope="package")
def server(live):
    """Its address."""
    return live[0]


@pytest.fixture
def busy_jobs(live):
    """Every job waits, until it is called."""
    _, service = live
    free = threading.Event()
    (project, *_) = service.all_running()

    def wait(_):
        free.wait(120)
        return {}

    for _ in range(service.settings.job_threads):
        service.jobs.start(project.project.id, "import", wait)
    yield free.set
    free.set()


@pytest.fixture(scope="package")
def site(server):
    """An administrator's requests."""
    with httpx.Client(base_url=server, timeout=60) as http:
        yield Site(http, None, ADMIN)


@pytest.fixture
def person(browser, server):
    """Makes people; whatever the browser complained about fails the test, unless it was expected."""
    people = []

    def make(address=server, **options):
        people.append(Person(browser, address, **options))
        return people[-1]

    yield make
    for one in people:
        assert one.complaints == []
        one.context.close()


@pytest.fixture
def make_project(site):
    """A project with these items in the running service: its id."""

    def make(name, classes, data, features=lambda i: [1.0, float(i)], **settings):
        body = {"name": name, "classes": classes, "settings": settings}
        project = site.post("/v1/projects", body, 201)["id"]
        items = [{"key": key, "features": features(i), "data": entry} for i, (key, entry) in enumerate(data.items())]
        site.post(f"/v1/projects/{project}/items", {"items": items}, 201)
        return project

    return make
