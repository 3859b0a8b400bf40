"""The fixed corpus against every route that takes JSON: a clear 4xx, and nothing is half stored."""

import gzip
import json

import pytest

from tests.app.input.bodies import ANYWHERE, HOLE, LONG, PLACES, filled
from tests.app.input.calls import JSON_TYPE, MARKER, add_items, assert_problem, label, made, new_project, stored

BOMB = gzip.compress(bytes(50_000_000))
ROUTES = sorted({(method, route) for method, route, _, _ in PLACES})


@pytest.fixture(scope="module")
def project(http):
    """With items, labels and a model, so that routes get as far as they can."""
    found = new_project(http, 6)
    made(label(http, found, {"i0": "cat", "i1": "dog"}))
    return found


@pytest.fixture
def unchanged(http, project):
    """Whatever the test does, it must not leave a trace."""
    before = everything(http, project)
    yield
    assert everything(http, project) == before


def everything(http, project):
    """All that the corpus might have stored."""
    lists = [made(http.get(path, params={"limit": 1000})) for path in ("/v1/projects", "/v1/keys")]
    jobs = made(http.get(f"/v1/projects/{project}/jobs"))["jobs"]
    return stored(http, project), lists, jobs, made(http.get(f"/v1/projects/{project}/model"))["version"]


def send(http, method, route, project, content, **headers):
    path = route.replace("{project}", project).replace("{name}", "cat")
    return http.request(method, path, content=content, headers=JSON_TYPE | headers)


def body_for(method, route):
    """A body of the right shape."""
    body = next(body for known, path, body, _ in PLACES if (known, path) == (method, route))
    return json.dumps(body)


def test_every_route_with_a_body_is_in_the_corpus(http):
    paths = made(http.get("/openapi.json"))["paths"]
    taking = {
        (method.upper(), path)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if path.startswith("/v1") and "application/json" in operation.get("requestBody", {}).get("content", {})
    }
    assert taking == set(ROUTES)


@pytest.mark.parametrize(("method", "route", "body", "bad"), PLACES, ids=lambda v: v if isinstance(v, str) else "")
def test_what_must_not_fill_a_body(http, project, unchanged, method, route, body, bad):
    for name, value in bad.items():
        response = send(http, method, route, project, filled(body, value))
        try:
            assert_problem(response, 404, 409, 413, 422)
        except AssertionError as error:
            raise AssertionError(f"{body}: {name}") from error


@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_what_is_not_json(http, project, unchanged, method, route):
    body = body_for(method, route)
    for value in ANYWHERE.values():
        assert_problem(send(http, method, route, project, body.replace(f'"{HOLE}"', value).encode()), 422)
    for content in (b"", b"\xff\xfe", bytes(range(256)), body.encode("utf-16"), body[:-1].encode(), b"[1]", b"7"):
        assert_problem(send(http, method, route, project, content), 422)
    assert_problem(send(http, method, route, project, BOMB, **{"Content-Encoding": "gzip"}), 422)
    strange = json.dumps(json.loads(body) | {MARKER: 1}).encode()
    assert_problem(send(http, method, route, project, strange), 422)
    assert_problem(send(http, method, route, project, b'{"a":' + LONG.encode() + b"}"), 422)


@pytest.mark.parametrize(("method", "route"), ROUTES)
@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "é"]
)
def test_wrong_content_types(http, project, unchanged, method, route, kind):
    content = body_for(method, route).encode()
    assert_problem(send(http, method, route, project, content, **{"Content-Type": kind.encode()}), 415)


def test_what_is_unusual_but_right(http):
    """Else the refusals above would prove nothing."""
    project = new_project(http, columns=3)
    rows = [
        {"indices": [2, 0], "values": [5, 1]},
        {"indices": [], "values": []},
        [0, 0, 0],
        [2**70, 1e-300, 0.0],
    ]
    add_items(http, project, rows, data={"é\U0001f600": [2**70, "\x01", None, {"": 1e308}]})
    keys = ["é" * 500, "\U0001f600" * 500, "../../etc/passwd", "a/b?c#d", "%00", "<script>", " ", "\u202e", "'; --"]
    items = [{"key": key, "features": [1, 2, 3]} for key in keys]
    assert made(http.post(f"/v1/projects/{project}/items", json={"items": items}))["added"] == len(keys)
    listed = made(http.get(f"/v1/projects/{project}/items"))["items"]
    assert [entry["key"] for entry in listed] == ["i0", "i1", "i2", "i3", *keys]
    assert listed[0]["data"] == {"é\U0001f600": [2**70, "\x01", None, {"": 1e308}]}
    made(label(http, project, {"é" * 500: "cat", "'; --": "dog"}))
    made(http.post(f"/v1/projects/{project}/predict", json={"keys": keys}))
