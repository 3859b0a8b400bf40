"""Paths, query strings, headers and filters that nobody should send."""

import pytest

from tests.app.input.calls import MARKER, assert_problem, client, label, made, new_project, stored

NAMES = ["%00", f"{MARKER}%00", "%FF%FE", "%ED%A0%80", "a" * 5000, "%2e%2e%2f%2e%2e%2fetc", "'%20OR%201=1--", MARKER]
CURSORS = ["/v1/projects", "/v1/keys", *(f"/v1/projects/{{project}}/{name}" for name in ("items", "jobs", "events"))]
BAD_LIMITS = ["0", "-1", "1001", "1e999", "NaN", "7" * 5000, str(2**70), MARKER, "1.5", ""]


@pytest.fixture(scope="module")
def project(http):
    found = new_project(http, 4)
    made(label(http, found, {"i0": "cat", "i1": "dog"}))
    return found


def by_name(http):
    """Every route with something named in its path."""
    for path, operations in made(http.get("/openapi.json"))["paths"].items():
        for method, operation in operations.items():
            names = [p["name"] for p in operation.get("parameters", []) if p["in"] == "path"]
            yield from ((method.upper(), path, name, "requestBody" in operation) for name in names)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_in_paths(http, project, name):
    """None of them is there; on PostgreSQL a NUL would be an error of the database."""
    before = stored(http, project)
    for method, template, parameter, takes_body in by_name(http):
        path = template.replace(f"{{{parameter}}}", name).replace("{project}", project)
        for other in ("name", "key", "job", "lease"):
            path = path.replace(f"{{{other}}}", "cat")
        body = {"json": {"name": "x"}} if takes_body else {}
        secret = (401, 429) if path.startswith("/label-studio/") else ()  # who guesses one is not told what there is
        assert_problem(http.request(method, path, **body), 404, 405, 422, *secret)
    assert stored(http, project) == before


@pytest.mark.parametrize("path", CURSORS)
def test_cursors_and_limits(http, project, path):
    path = path.replace("{project}", project)
    for cursor in ("%00", MARKER * 10, "%FF", "7" * 5000):
        response = http.get(f"{path}?cursor={cursor}")
        if response.status_code != 200:  # a cursor behind or before everything is fine
            assert_problem(response, 422)
    for number in (2**31 - 1, 2**31, 2**32, 10**15 - 1):
        made(http.get(f"{path}?cursor={number}"))
    for limit in BAD_LIMITS:
        assert_problem(http.get(path, params={"limit": limit}), 422)
    assert made(http.get(f"{path}?unknown={MARKER}&limit=1"))


@pytest.mark.parametrize("query", [f"format={MARKER}", f"history={MARKER}", "format=csv%00", "format=jsonl&history=2"])
def test_export(http, project, query):
    assert_problem(http.get(f"/v1/projects/{project}/labels?{query}"), 422)


@pytest.mark.parametrize("tag", [MARKER, '"-1"', '"1e3"', "7" * 64, "x" * 65, "é", "\u0661", '"٣"', "W/", ""])
def test_if_match(http, project, tag):
    before = stored(http, project)
    response = http.patch(f"/v1/projects/{project}", json={"name": MARKER}, headers={"If-Match": tag.encode()})
    assert_problem(response, 412, 422)
    assert stored(http, project) == before


def test_if_match_that_fits_and_one_that_does_not(http):
    project = new_project(http)
    tag = http.get(f"/v1/projects/{project}").headers["ETag"]
    made(http.patch(f"/v1/projects/{project}", json={"name": "other"}, headers={"If-Match": tag}))
    assert_problem(http.patch(f"/v1/projects/{project}", json={"name": "third"}, headers={"If-Match": tag}), 412)


def test_idempotency_keys(http, project):
    body = {"labels": [{"key": "i2", "label": "cat"}]}
    for bad in (b"", b"x" * 201):
        response = http.post(f"/v1/projects/{project}/labels", json=body, headers={"Idempotency-Key": bad})
        assert_problem(response, 422)
    for good in (b"x" * 200, "é".encode(), b"'; DROP TABLE events; --", b"\xff" * 200):
        headers = {"Idempotency-Key": good}
        first = http.post(f"/v1/projects/{project}/labels", json=body, headers=headers)
        again = http.post(f"/v1/projects/{project}/labels", json=body, headers=headers)
        assert made(first) == made(again)
        other = {"labels": [{"key": "i3", "label": MARKER}]}
        assert_problem(http.post(f"/v1/projects/{project}/labels", json=other, headers=headers), 422)


@pytest.mark.parametrize("given", ["a b", "x" * 65, "é", "<script>", '"quoted"', ""])
def test_request_ids_of_others_are_not_taken_over_when_they_are_strange(live, given):
    with client(live[0], key=None) as http:
        response = http.get("/v1/me", headers={"X-Request-ID": given.encode()})
        assert_problem(response, 401)
        assert response.headers["X-Request-ID"] != given
        assert len(response.headers["X-Request-ID"]) == 16


DATA = [
    {"a": "text"},
    {"a": 2},
    {"a": 2.5},
    {"a": True},
    {'q"x': 1},
    {"a": "2"},
    {"a": [2]},
    None,
    {"a": 10**400},
    {"b\\'$.c[0]": "é"},
    {"a": {"x": 2}},
    {"a": None},
]
FILTERS = [
    ({"a": "text"}, [0]),
    ({"a": 2}, [1]),
    ({"a": 2.0}, [1]),
    ({"a": 2.5}, [2]),
    ({"a": True}, [3]),
    ({"a": False}, []),
    ({"a": 1}, []),
    ({"a": "2"}, [5]),
    ({"a": "true"}, []),
    ({'q"x': 1}, [4]),
    ({"b\\'$.c[0]": "é"}, [9]),
    ({"a": 2, "b": 1}, []),
    ({"a": 2**70}, []),
    ({"a": -(2**63)}, []),
    ({"$.a": 2}, []),
]


def test_filters_are_by_type_whatever_other_items_hold(http):
    """A text among numbers was an error of PostgreSQL, a quote or a large integer one of SQLite."""
    project = new_project(http)
    items = [{"key": str(i), "features": [i], "data": data} for i, data in enumerate(DATA)]
    made(http.post(f"/v1/projects/{project}/items", json={"items": items}))
    for wanted, keys in FILTERS:
        found = made(http.post(f"/v1/projects/{project}/query", json={"filter": wanted, "count": 100}))["items"]
        assert [item["key"] for item in found] == [str(key) for key in keys], wanted
        for item in found:
            made(http.delete(f"/v1/projects/{project}/leases/{item['lease']['id']}"))
