"""S1: two projects x every route x every role, from the OpenAPI document."""

from dataclasses import dataclass
from itertools import product

import pytest

from tests.app.input.calls import assert_problem, client, finished, label, made, new_project
from tests.app.security.matrix import OPEN, PROJECT, ROUTES, SECRET, call, contents, expected, rows_of

ROLES = ["admin", "annotator", "reader"]
ALLOWED = (200, 201, 202, 204, 404, 409)  # what is named need not be there


@dataclass
class Site:
    address: str
    http: object
    mine: str
    other: str
    keys: dict  # (role, project or None): secret

    def with_key(self, key):
        return client(self.address, key)


@pytest.fixture(scope="module")
def site(live, http):
    mine, other = (new_project(http, 5) for _ in range(2))
    for project in (mine, other):
        made(label(http, project, {"i0": "cat", "i1": "dog"}))
    keys = {(role, project): new_key(http, role, project)["key"] for role in ROLES for project in (None, mine, other)}
    return Site(live[0], http, mine, other, keys)


def new_key(http, role, project=None):
    return made(http.post("/v1/keys", json={"name": f"{role} {project}", "role": role, "project": project}))


def test_every_route_has_a_row(http):
    assert rows_of(made(http.get("/openapi.json"))) == set(ROUTES)


@pytest.mark.parametrize(("method", "template"), ROUTES, ids=lambda value: value)
def test_without_a_good_key(site, method, template):
    revoked = new_key(site.http, "admin")
    made(site.http.delete(f"/v1/keys/{revoked['id']}"))
    before = contents(site.http, site.mine)
    for key in (None, revoked["key"]):
        with site.with_key(key) as http:
            response = call(http, method, template, project=site.mine)
        if ROUTES[method, template][0] == OPEN:
            assert response.status_code == 200
        else:
            assert_problem(response, 401, 429)
            assert response.status_code == 429 or response.headers["WWW-Authenticate"] == "Bearer"
    assert contents(site.http, site.mine) == before


@pytest.mark.parametrize(("method", "template"), ROUTES, ids=lambda value: value)
def test_roles(site, method, template):
    """Of global keys and of keys of a project, in their own project and in the other one."""
    needed, _ = ROUTES[method, template]
    allowed, before = [], [contents(site.http, project) for project in (site.mine, site.other)]
    for ((role, bound), key), project in product(site.keys.items(), (site.mine, site.other)):
        own = "{project}" not in template or bound in (None, project)
        status = expected(needed, role, own=own, bound=bound is not None)
        if status is None:
            allowed.append((key, project))
            continue
        with site.with_key(key) as http:
            response = call(http, method, template, project=project)
        assert_problem(response, *((401, 429) if status == 401 else (status,)))
    assert [contents(site.http, project) for project in (site.mine, site.other)] == before
    if (method, template) == ("DELETE", PROJECT):
        return  # what is allowed is tried below, with a project of its own
    for key, project in allowed:
        with site.with_key(key) as http:
            response = call(http, method, template, project=project)
        assert response.status_code in ALLOWED, (key, project, response.text)
        if response.status_code == 202:
            finished(site.http, project, response.json()["job"])


@pytest.mark.parametrize("role", ROLES)
def test_a_foreign_project_looks_as_one_that_is_not_there(site, role):
    """Word for word, so that nobody learns which ids there are."""
    with site.with_key(site.keys[role, site.mine]) as http:
        for (method, template), (needed, _) in ROUTES.items():
            if "{project}" not in template or needed == SECRET:
                continue
            foreign = call(http, method, template, project=site.other).json()
            missing = call(http, method, template, project="f" * 32).json()
            assert foreign | {"id": ""} == missing | {"id": ""}


def test_deleting_a_project(site):
    for role, bound in [("admin", False), ("admin", True), ("annotator", True), ("reader", False)]:
        project = new_project(site.http, 2)
        key = new_key(site.http, role, project if bound else None)["key"]
        with site.with_key(key) as http:
            response = http.delete(f"/v1/projects/{project}")
        assert response.status_code == (204 if role == "admin" else 403)
        assert site.http.get(f"/v1/projects/{project}").status_code == (404 if role == "admin" else 200)


def test_lists_show_only_what_a_key_is_good_for(site):
    for (role, bound), key in site.keys.items():
        with site.with_key(key) as http:
            shown = {project["id"] for project in made(http.get("/v1/projects?limit=1000"))["projects"]}
            assert shown == {bound} if bound else shown >= {site.mine, site.other}
            me = made(http.get("/v1/me"))
            assert (me["role"], me["project"]) == (role, bound)
            if role == "admin" and bound:
                assert {key["project"] for key in made(http.get("/v1/keys?limit=1000"))["keys"]} == {bound}


def test_an_administrator_of_a_project_makes_and_revokes_keys_of_that_project_alone(site):
    theirs = new_key(site.http, "reader", site.other)
    everywhere = new_key(site.http, "reader")
    with site.with_key(site.keys["admin", site.mine]) as http:
        own = new_key(http, "annotator", site.mine)
        for project in (None, site.other, "f" * 32):
            body = {"name": "k", "role": "reader", "project": project}
            assert_problem(http.post("/v1/keys", json=body), 403)
        for key in (theirs, everywhere):
            assert_problem(http.delete(f"/v1/keys/{key['id']}"), 404)
        made(http.delete(f"/v1/keys/{own['id']}"))
    for key, statuses in ((theirs, [200]), (everywhere, [200]), (own, [401, 429])):
        with site.with_key(key["key"]) as http:
            assert http.get("/v1/me").status_code in statuses


def test_nobody_touches_the_lease_or_the_label_of_another(site):
    project = new_project(site.http, 4)
    ann, bob = (new_key(site.http, "annotator", project)["key"] for _ in range(2))
    with site.with_key(ann) as one, site.with_key(bob) as two:
        item = made(one.post(f"/v1/projects/{project}/query", json={"count": 1}))["items"][0]
        lease = f"/v1/projects/{project}/leases/{item['lease']['id']}"
        assert_problem(two.post(lease), 404)
        assert_problem(two.delete(lease), 404)
        made(one.post(lease))
        made(label(one, project, {"i0": "cat"}))
        assert_problem(two.delete(f"/v1/projects/{project}/labels/i0"), 404)
        assert_problem(two.post(f"/v1/projects/{project}/undo"), 409)
        retract = {"labels": [{"key": "i0", "action": "retract"}]}
        assert_problem(two.post(f"/v1/projects/{project}/labels", json=retract), 409)
        made(one.post(f"/v1/projects/{project}/undo"))


def test_things_of_another_project_are_not_there(site):
    """An id that is right elsewhere: jobs, items, leases."""
    response = call(site.http, "POST", PROJECT + "/import", project=site.other)
    job = made(response)["job"]
    lease = made(site.http.post(f"/v1/projects/{site.other}/query", json={}))["items"][0]["lease"]["id"]
    made(site.http.post(f"/v1/projects/{site.other}/items", json={"items": [{"key": "theirs", "features": [1, 1, 1]}]}))
    base = f"/v1/projects/{site.mine}"
    for method, path in [
        ("GET", f"{base}/jobs/{job}"),
        ("DELETE", f"{base}/jobs/{job}"),
        ("POST", f"{base}/leases/{lease}"),
        ("DELETE", f"{base}/leases/{lease}"),
        ("GET", f"{base}/items/theirs"),
        ("DELETE", f"{base}/labels/theirs"),
    ]:
        assert_problem(site.http.request(method, path), 404)
    assert_problem(site.http.post(f"{base}/predict", json={"keys": ["theirs"]}), 404)
    assert_problem(label(site.http, site.mine, {"theirs": "cat"}), 404)
