"""Calls over real HTTP, and what every error must look like."""

import json

import httpx

from tests.app.live import ADMIN, eventually, has_ended

MARKER = "zq-marker-5309"
SQL_WORDS = ("SELECT ", "INSERT INTO", "UPDATE ", "psycopg", "sqlite3", "sqlalchemy", "Traceback")
JSON_TYPE = {"Content-Type": "application/json"}


def client(address, key=ADMIN, headers=(), **options):
    """A client with a key; no certificates are read, which is slow."""
    headers = dict(headers) | ({"Authorization": f"Bearer {key}"} if key else {})
    return httpx.Client(base_url=address, headers=headers, timeout=60, verify=False, **options)


def assert_problem(response, *statuses):
    """A clear 4xx as problem+json, with the id of the request, that repeats neither the input nor SQL."""
    assert response.status_code in (statuses or range(400, 500)), (response.status_code, response.text[:500])
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "id"}
    assert problem["status"] == response.status_code
    assert problem["title"]
    assert problem["detail"]
    assert problem["id"] == response.headers["X-Request-ID"] != "-"
    assert len(response.content) < 5000
    assert_silent(response.text)


def assert_silent(text):
    """Neither what was sent nor how it is stored."""
    assert MARKER not in text, text[:500]
    assert not [word for word in SQL_WORDS if word in text], text[:500]


def made(response):
    """The body of an answer that must be a success."""
    assert response.is_success, (response.status_code, response.text[:500])
    return response.json() if response.content else None


def new_project(http, n_items=0, classes=("cat", "dog"), n_columns=3, **settings):
    """The id of a project with items i0, i1, .. on a grid."""
    body = {"name": "p", "classes": list(classes), "settings": {"retrain": "off"} | settings}
    project = made(http.post("/v1/projects", json=body))["id"]
    if n_items:
        rows = [[(i * (j + 2)) % 7 / 7 for j in range(n_columns)] for i in range(n_items)]
        add_items(http, project, rows)
    return project


def add_items(http, project, rows, **options):
    """Items i0, i1, .. with these features; the response."""
    items = [{"key": f"i{i}", "features": row} | options for i, row in enumerate(rows)]
    response = http.post(f"/v1/projects/{project}/items", json={"items": items})
    made(response)
    return response


def label(http, project, labels):
    """Post labels, by key."""
    entries = [{"key": key, "label": name} for key, name in labels.items()]
    return http.post(f"/v1/projects/{project}/labels", json={"labels": entries})


def stored(http, project):
    """Everything of a project that an input could have changed."""
    base = f"/v1/projects/{project}"
    shown = made(http.get(base))
    items = made(http.get(f"{base}/items", params={"limit": 1000}))["items"]
    history = http.get(f"{base}/labels", params={"history": True})
    assert history.status_code == 200
    return shown, items, history.text


def finished(http, project, job, seconds=30):
    """A job when it has ended."""
    return eventually(lambda: made(http.get(f"/v1/projects/{project}/jobs/{job}")), has_ended, seconds)


def imported(http, project, form, content, **params):
    """The job of an import, when it has ended."""
    response = http.post(f"/v1/projects/{project}/import", params={"format": form} | params, content=content)
    return finished(http, project, made(response)["job"])


def text_of(value):
    """JSON with whatever Python can write, NaN and lone surrogates too."""
    return json.dumps(value, allow_nan=True).encode()
