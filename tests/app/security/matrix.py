"""Which role each route needs, and how each is called; a route of the OpenAPI document without a row fails."""

READER, ANNOTATOR, ADMIN_ROLE, GLOBAL_ADMIN, ANY, OPEN = "reader", "annotator", "admin", "global admin", "any", "open"
SECRET = "secret"  # in the path; keys are good for nothing there
PROJECT = "/v1/projects/{project}"
BACKEND = "/label-studio/{project}/{secret}"
RANK = {"reader": 0, "annotator": 1, "admin": 2}

# (method, path template): the role that is needed, and a body that is right.
ROUTES = {
    ("POST", "/v1/projects"): (GLOBAL_ADMIN, {"name": "made"}),
    ("GET", "/v1/projects"): (ANY, None),
    ("GET", PROJECT): (READER, None),
    ("PATCH", PROJECT): (ADMIN_ROLE, {"name": "changed"}),
    ("DELETE", PROJECT): (ADMIN_ROLE, None),
    ("POST", PROJECT + "/classes"): (ADMIN_ROLE, {"name": "bird"}),
    ("PATCH", PROJECT + "/classes/{name}"): (ADMIN_ROLE, {"name": "kitten"}),
    ("POST", PROJECT + "/classes/{name}/merge"): (ADMIN_ROLE, {"into": "dog"}),
    ("POST", PROJECT + "/items"): (ADMIN_ROLE, {"items": [{"key": "new", "features": [1, 2, 3]}]}),
    ("GET", PROJECT + "/items"): (READER, None),
    ("GET", PROJECT + "/items/{key}"): (READER, None),
    ("GET", PROJECT + "/features/{key}"): (READER, None),
    ("POST", PROJECT + "/import"): (ADMIN_ROLE, b"key,a,b,c\nimported,1,2,3\n"),
    ("GET", PROJECT + "/media/{medium}"): (READER, None),
    ("GET", PROJECT + "/jobs"): (READER, None),
    ("GET", PROJECT + "/jobs/{job}"): (READER, None),
    ("DELETE", PROJECT + "/jobs/{job}"): (ADMIN_ROLE, None),
    ("POST", PROJECT + "/query"): (ANNOTATOR, {"count": 1}),
    ("POST", PROJECT + "/labels"): (ANNOTATOR, {"labels": [{"key": "i3", "label": "dog"}]}),
    ("GET", PROJECT + "/labels"): (READER, None),
    ("GET", PROJECT + "/predictions"): (READER, None),
    ("DELETE", PROJECT + "/labels/{key}"): (ANNOTATOR, None),
    ("POST", PROJECT + "/undo"): (ANNOTATOR, None),
    ("POST", PROJECT + "/leases/{lease}"): (ANNOTATOR, None),
    ("DELETE", PROJECT + "/leases/{lease}"): (ANNOTATOR, None),
    ("GET", PROJECT + "/agreement"): (READER, None),
    ("GET", PROJECT + "/insights"): (READER, None),
    ("GET", PROJECT + "/search"): (READER, None),
    ("GET", PROJECT + "/map"): (READER, None),
    ("GET", PROJECT + "/ranked"): (READER, None),
    ("GET", PROJECT + "/events"): (READER, None),
    ("GET", PROJECT + "/card"): (READER, None),
    ("GET", PROJECT + "/why/{key}"): (READER, None),
    ("POST", PROJECT + "/train"): (ADMIN_ROLE, {"tune": False}),
    ("GET", PROJECT + "/model"): (READER, None),
    ("POST", PROJECT + "/predict"): (READER, {"keys": ["i0"]}),
    ("POST", PROJECT + "/predict-one"): (READER, {"features": [1, 2, 3]}),
    ("POST", PROJECT + "/label-studio"): (ADMIN_ROLE, {}),
    ("GET", PROJECT + "/label-studio"): (ADMIN_ROLE, None),
    ("POST", PROJECT + "/label-studio/sync"): (ADMIN_ROLE, None),
    ("DELETE", PROJECT + "/label-studio"): (ADMIN_ROLE, None),
    ("GET", BACKEND + "/health"): (SECRET, None),
    ("POST", BACKEND + "/setup"): (SECRET, {"schema": "<View/>"}),
    ("POST", BACKEND + "/predict"): (SECRET, {"tasks": []}),
    ("POST", BACKEND + "/webhook"): (SECRET, {"action": "TASKS_CREATED"}),
    ("GET", BACKEND + "/versions"): (SECRET, None),
    ("GET", "/v1/me"): (ANY, None),
    ("POST", "/v1/keys"): (GLOBAL_ADMIN, {"name": "k", "role": "reader"}),
    ("GET", "/v1/keys"): (ADMIN_ROLE, None),
    ("DELETE", "/v1/keys/{key}"): (ADMIN_ROLE, None),
    ("GET", "/health/live"): (OPEN, None),
    ("GET", "/health/ready"): (OPEN, None),
    ("GET", "/metrics"): (OPEN, None),
}


def call(http, method, template, **names):
    """A call of a route that would succeed if the key were good for it and everything named were there."""
    path = template
    for name, value in {"name": "cat", "key": "i1", "job": "none", "lease": "none", "medium": f"{0:040}.png"}.items():
        path = path.replace(f"{{{name}}}", names.get(name, value))
    path = path.replace("{project}", names.get("project", "none")).replace("{secret}", "s" * 43)
    body = ROUTES[method, template][1]
    if isinstance(body, bytes):
        return http.request(method, path, params={"format": "csv"}, content=body)
    return http.request(method, path, json=body) if body is not None else http.request(method, path)


def expected(needed, role, *, own, bound):
    """Status of a call with a good key: None where it is allowed (and may find nothing).

    `own` tells whether the path's project is one that the key sees, `bound` whether the key belongs to one project.
    """
    if needed in (OPEN, ANY):
        return None
    if needed == SECRET:
        return 401
    if not own:
        return 404
    if needed == GLOBAL_ADMIN:
        return None if role == "admin" and not bound else 403
    return None if RANK[role] >= RANK[needed] else 403


def rows_of(document):
    """(method, path template) of every route of an OpenAPI document."""
    return {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}


def contents(http, project):
    """A project as an administrator sees it, to find that nothing has changed."""
    base = f"/v1/projects/{project}"
    paths = [base, f"{base}/items", f"{base}/labels?history=true", "/v1/keys", "/v1/projects"]
    jobs = [job["id"] for job in http.get(f"{base}/jobs").json()["jobs"]]  # they may be going on
    return [*(http.get(path).text for path in paths), jobs]
