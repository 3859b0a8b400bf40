"""S4 and S7: what every kind of answer carries, and what it never does."""

import httpx
import pytest

from app.services.problems import DatabaseUnavailable
from tests.app.input.calls import MARKER, assert_problem, assert_silent, client, label, made, new_project
from tests.app.live import ADMIN, eventually


@pytest.fixture(scope="module")
def project(http):
    found = new_project(http, 4)
    made(label(http, found, {"i0": "cat", "i1": "dog"}))
    return found


def policy(response):
    """The Content-Security-Policy, by directive."""
    (value,) = response.headers.get_list("Content-Security-Policy")
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in value.split(";"))}


def assert_guarded(response):
    """Headers of every answer."""
    headers = response.headers
    assert headers.get_list("X-Content-Type-Options") == ["nosniff"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Request-ID"]
    rules = policy(response)
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "http" not in headers["Content-Security-Policy"]
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "Set-Cookie" not in headers
    assert not [name for name in headers if name.lower().startswith("access-control-")]
    if response.request.url.path.startswith("/v1"):
        assert headers["Cache-Control"] == "no-store"


def answers(http, project):
    """One of each kind, and the status it must have."""
    base = f"/v1/projects/{project}"
    yield 200, http.get(base)
    yield 201, http.post(f"{base}/classes", json={"name": "bird"})
    yield 202, http.post(f"{base}/train", json={"tune": False})
    lease = http.post(f"{base}/query", json={}).json()["items"][0]["lease"]["id"]
    yield 204, http.delete(f"{base}/leases/{lease}")
    yield 200, http.get(f"{base}/labels")
    yield 200, http.get(f"{base}/labels?format=csv&history=true")
    yield 200, http.post(f"{base}/predict", json={"keys": ["i0"]})
    yield 404, http.get("/v1/nothing")
    yield 404, http.get("/nothing.html")
    yield 404, http.get("/docs-of-something")
    yield 405, http.put(base)
    yield 405, http.options(base, headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})
    yield 409, http.post(f"{base}/classes", json={"name": "bird"})
    yield 412, http.patch(base, json={"name": "x"}, headers={"If-Match": '"0"'})
    yield 413, http.post(f"{base}/items", content=b"[" + b" " * 9 * 2**20, headers={"Content-Type": "application/json"})
    yield 415, http.post(f"{base}/items", content=b"{}")
    yield 422, http.post(f"{base}/items", json={})
    yield 422, http.get("/v1/projects/%00")
    yield 200, http.get("/")
    yield 200, http.head("/")
    yield 200, http.get("/openapi.json")
    yield 200, http.get("/health/live")
    yield 200, http.get("/health/ready")
    yield 200, http.get("/metrics")
    yield 200, http.get("/docs")


def test_headers_of_every_kind_of_answer(http, live, project):
    for status, response in answers(http, project):
        assert response.status_code == status, response.text
        assert_guarded(response)
        if status >= 400 and response.request.method != "HEAD":
            assert_problem(response, status)


def test_headers_without_a_key_and_from_another_origin(live, project):
    for origin in ("https://evil.example", "null", live[0]):
        with client(live[0], None, headers={"Origin": origin}) as http:
            for path in ("/v1/me", f"/v1/projects/{project}", "/", "/health/live"):
                assert_guarded(http.get(path))


def test_a_mistake_of_ours_is_a_500_that_tells_nothing(http, live, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError(f"SELECT {MARKER}")

    with monkeypatch.context() as patch:
        patch.setattr(live[1].access, "page", broken)
        response = http.get("/v1/keys", headers={"X-Request-ID": "find-me"})
    assert_guarded(response)
    assert_problem(response, 500)
    assert response.json()["id"] == "find-me"
    (record,) = [record for record in caplog.records if record.getMessage() == "an unexpected error"]
    assert MARKER in str(record.exc_info[1])
    assert http.get("/v1/keys").status_code == 200  # by the same connection


def test_a_database_that_does_not_answer_is_a_503(http, live, monkeypatch):
    def away(*args):
        raise DatabaseUnavailable(f"SELECT {MARKER}")

    with monkeypatch.context() as patch:
        patch.setattr(live[1].access, "page", away)
        response = http.get("/v1/keys")
    assert_guarded(response)
    assert_problem(response, 503)
    assert int(response.headers["Retry-After"]) > 0


def test_a_caller_who_goes_away_is_no_error(live, project, caplog):
    """Half a body, then nothing: neither a 500 nor a file that stays."""
    caplog.set_level("INFO")
    for path, kind in ((f"/v1/projects/{project}/labels", "application/json"), (f"/v1/projects/{project}/import", "")):
        with pytest.raises((httpx.WriteError, httpx.ReadError, RuntimeError)), client(live[0]) as http:
            http.post(f"{path}?format=csv", content=half(), headers={"Content-Type": kind})
    eventually(lambda: [getattr(record, "status", 0) for record in caplog.records].count(499) == 2, seconds=10.0)
    eventually(lambda: not list(live[1].uploads.glob("*")), seconds=10.0)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def half():
    yield b"x,y\n1,"
    raise RuntimeError("the caller falls over")


BY_OTHER_MEANS = [
    {"params": {"key": ADMIN}},
    {"params": {"access_token": ADMIN}},
    {"params": {"api_key": ADMIN}},
    {"cookies": {"key": ADMIN, "session": ADMIN, "Authorization": f"Bearer {ADMIN}"}},
    {"headers": {"X-API-Key": ADMIN}},
    {"headers": {"Authorization": ADMIN}},
    {"headers": {"Authorization": f"Token {ADMIN}"}},
    {"auth": ("admin", ADMIN)},
    {"auth": (ADMIN, "")},
]


@pytest.mark.parametrize("means", BY_OTHER_MEANS, ids=range(len(BY_OTHER_MEANS)))
def test_only_a_bearer_key_is_a_key(live, project, means):
    """What a browser sends by itself must be worth nothing: there is nothing to forge."""
    options = {name: means[name] for name in means if name == "cookies"}
    with client(live[0], None, **options) as http:
        rest = {name: value for name, value in means.items() if name != "cookies"}
        assert_problem(http.get("/v1/me", **rest), 401)
        assert_problem(http.post(f"/v1/projects/{project}/undo", **rest), 401)
        assert_silent(http.get("/v1/me", **rest).text)


def test_exports_are_no_pages_and_no_formulas(http):
    """What people wrote is sent as data: a browser shows no page, a spreadsheet runs no formula."""
    evil = ["=HYPERLINK(1)", "+1+2", "-1+2", "@SUM(1)", "\t=1", "<script>alert(1)</script>"]
    project = new_project(http, classes=evil)
    items = [{"key": key, "features": [i]} for i, key in enumerate(evil)]
    made(http.post(f"/v1/projects/{project}/items", json={"items": items}))
    made(label(http, project, {key: key for key in evil}))
    for history in (False, True):
        response = http.get(f"/v1/projects/{project}/labels", params={"format": "csv", "history": history})
        assert response.headers["Content-Type"].startswith("text/csv")
        cells = [line.split(",")[0].strip('"') for line in response.text.splitlines()[1:]]
        assert len(cells) == len(evil)
        assert not [cell for cell in cells if cell[:1] in "=+-@\t"]
        assert_guarded(response)
