"""Seeing what goes on: health, metrics, and a log whose ids the answers carry."""

import json
import re
import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.services.problems import DatabaseUnavailable
from tests.app.input.calls import MARKER, assert_problem, client, label, made, new_project
from tests.app.live import in_thread
from tests.app.reliability.servers import Server
from tests.app.security.matrix import ROUTES

PROJECT_METRICS = {
    "asknext_model_lag",
    "asknext_labels",
    "asknext_items",
    "asknext_leases",
    "asknext_waiting",
    "asknext_degraded",
    "asknext_commit_seconds",
}


@pytest.fixture
def own(sqlite_url, tmp_path):
    """(address, service) that a test may break."""
    with in_thread(sqlite_url, tmp_path) as found:
        yield found


def samples(http):
    """All samples of /metrics, by name."""
    response = http.get("/metrics")
    assert response.headers["Content-Type"].startswith("text/plain")
    found = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


def test_live_touches_nothing_and_ready_tells_why_not(own, monkeypatch):
    address, service = own

    def away():
        raise DatabaseUnavailable(MARKER)

    with client(address, None) as http:
        assert http.get("/health/live").json() == {"status": "alive"}
        ready = http.get("/health/ready")
        assert ready.status_code == 200
        assert ready.json() == {"status": "ready", "restored": 0, "projects": 0, "model_lag": 0}
        with monkeypatch.context() as patch:
            patch.setattr(service, "check_database", away)
            refused = http.get("/health/ready")
            assert (refused.status_code, refused.json()["status"]) == (503, "the database does not answer")
            assert MARKER not in refused.text
        with monkeypatch.context() as patch:
            patch.setattr(service.housekeeping, "all_restored", False)
            refused = http.get("/health/ready")
            assert (refused.status_code, refused.json()["status"]) == (503, "restoring")
        with monkeypatch.context() as patch:
            patch.setattr(service.stopping, "is_set", lambda: True)
            refused = http.get("/health/ready")
            assert (refused.status_code, refused.json()["status"]) == (503, "stopping")
        with monkeypatch.context() as patch:
            patch.setattr(service.database, "read", away)
            assert http.get("/health/live").status_code == 200
            assert http.get("/health/ready").status_code == 503
        assert http.get("/health/ready").status_code == 200


def test_ready_tells_how_far_models_are_behind(own):
    address, service = own
    with client(address) as http:
        project = new_project(http, 3)
        made(label(http, project, {"i0": "cat"}))
        assert made(http.get("/health/ready"))["model_lag"] == 0
        service.in_memory(project).project.ledger.sequence += 3
        assert made(http.get("/health/ready"))["model_lag"] == 3
        lag = {s.labels["project"]: s.value for s in samples(http)["asknext_model_lag"]}
        assert lag == {project: 3}


def test_a_restarted_service_counts_what_it_restored(sqlite_url, tmp_path):
    for n in range(2):
        with in_thread(sqlite_url, tmp_path) as (address, _), client(address) as http:
            ready = made(http.get("/health/ready"))
            assert (ready["restored"], ready["projects"]) == (n, n)
            new_project(http, 3)


def test_metrics_of_projects(own):
    with client(own[0]) as http:
        project = new_project(http, 4)
        made(label(http, project, {"i0": "cat", "i1": "dog"}))
        made(http.post(f"/v1/projects/{project}/query", json={"count": 2}))
        found = samples(http)
    assert set(found) >= PROJECT_METRICS
    values = {name: found[name][0].value for name in PROJECT_METRICS}
    assert all(found[name][0].labels == {"project": project} for name in PROJECT_METRICS)
    assert (values["asknext_items"], values["asknext_labels"], values["asknext_leases"]) == (4, 2, 2)
    assert (values["asknext_degraded"], values["asknext_model_lag"]) == (0, 0)
    assert 0 < values["asknext_commit_seconds"] < 10
    (solver,) = found["asknext_solver"]
    assert solver.labels["solver"]
    assert found["asknext_refused_total"][0].value == 0


def test_routes_are_templates_whatever_is_asked_for(http, live):
    project = new_project(http, 2)
    for method, path in [
        ("GET", f"/v1/projects/{project}"),
        ("GET", f"/v1/projects/{project}/items/i0"),
        ("GET", f"/v1/projects/{MARKER}"),
        ("GET", f"/v1/projects/{project}/items/{MARKER}/{MARKER}"),
        ("GET", f"/{MARKER}"),
        ("GET", f"/v1/{MARKER}?{MARKER}={MARKER}"),
        ("PUT", f"/v1/projects/{project}"),
        ("GET", f"/v1/projects/{MARKER}%00"),
        ("GET", "/"),
        ("DELETE", f"/v1/keys/{MARKER}"),
    ]:
        http.request(method, path)
    labels = [sample.labels for sample in samples(http)["asknext_request_seconds_count"]]
    known = {path for _, path in ROUTES}
    routes = {re.sub(r":path\}", "}", one["route"]) for one in labels}
    assert {"/v1/projects/{project}", "/v1/projects/{project}/items/{key}", "/v1/keys/{key}"} <= routes
    assert routes <= known | {"unknown", "", "/openapi.json", "/docs"}, routes
    assert all(set(one) == {"method", "route", "status"} for one in labels)
    text = http.get("/metrics").text
    assert MARKER not in text
    assert project not in "".join(line for line in text.splitlines() if line.startswith("asknext_request"))


def test_latency_is_counted_once_for_each_request(own):
    with client(own[0]) as http:
        for _ in range(3):
            made(http.get("/v1/me"))
        assert http.get("/v1/me", headers={"Authorization": "Bearer no"}).status_code == 401
        counts = {
            (s.labels["route"], s.labels["status"]): s.value for s in samples(http)["asknext_request_seconds_count"]
        }
    assert counts["/v1/me", "200"] == 3
    assert counts["/v1/me", "401"] == 1


def test_requests_beyond_capacity_are_counted(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path, max_requests=1) as (address, _), client(address) as http:

        def content():
            yield b"{"
            with client(address) as other:
                refused = other.get("/v1/me")
                assert_problem(refused, 503)
                assert refused.headers["Retry-After"] == "1"
                assert other.get("/health/live").status_code == 200
            yield b"}"

        headers = {"Content-Type": "application/json"}
        assert_problem(http.post("/v1/projects", content=content(), headers=headers), 422)
        assert samples(http)["asknext_refused_total"][0].value >= 1


def test_the_log_has_the_ids_of_the_answers(tmp_path):
    """A real process: each line of its log is JSON, with the id that the answer and its header carry."""
    server = Server(None, tmp_path, {"ASKNEXT_LOG_LEVEL": "DEBUG"}).start()
    try:
        with client(server.address) as http:
            answers = [
                http.get("/v1/projects/none"),
                http.post("/v1/projects", json={}),
                http.get("/v1/me", headers={"X-Request-ID": "of-the-caller"}),
                http.get("/v1/projects/%00"),
                http.get("/v1/me", headers={"Authorization": "Bearer no"}),
                http.get("/nothing"),
            ]
            health = http.get("/health/live")
    finally:
        server.stop()
    begun = next(i for i, line in enumerate(server.lines) if "A key is shown only once" in line) + 1
    records = [json.loads(line) for line in server.lines[begun:] if line.strip()]
    assert all({"asctime", "levelname", "name", "message", "request"} <= set(record) for record in records)
    by_id = {record["request"]: record for record in records if record["name"] == "asknext.access"}
    for answer in answers:
        record = by_id[answer.headers["X-Request-ID"]]
        assert record["status"] == answer.status_code
        assert record["method"] == answer.request.method
        assert record["ms"] >= 0
        if answer.status_code >= 400:
            assert answer.json()["id"] == record["request"]
    assert "of-the-caller" in by_id
    assert by_id[health.headers["X-Request-ID"]]["levelname"] == "DEBUG"
    assert len({answer.headers["X-Request-ID"] for answer in answers}) == len(answers)


def test_warnings_of_libraries_are_lines_of_the_log_too():
    script = "import warnings; from app import logs; logs.set_up('INFO'); warnings.warn('two\\nlines', RuntimeWarning)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["levelname"] == "WARNING"
