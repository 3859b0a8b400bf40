"""What is refused half way leaves nothing behind."""

from app.services.project.classes import MAX_CLASSES_BY_LABELS
from tests.app.db.rows import read_only
from tests.app.input.calls import assert_problem, client, imported, label, made, new_project, stored
from tests.app.live import in_thread

METRICS = "a key for Prometheus alone"


def test_an_upload_whose_job_cannot_start_is_removed(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path / "data") as (address, service), client(address) as http:
        base = f"/v1/projects/{new_project(http)}"
        with read_only(service.database):
            response = http.post(f"{base}/import?format=csv", content=b"key,a\nx,1\n")
        assert_problem(response, 503)
        assert list(service.uploads.glob("*")) == []
        assert made(http.get(f"{base}/jobs"))["jobs"] == []


def test_labels_make_so_many_classes_and_no_more(sqlite_url, tmp_path):
    """Neither a thousand names in one post beside one that is there, nor a file with the wrong column."""
    with in_thread(sqlite_url, tmp_path / "data") as (address, _), client(address) as http:
        project = new_project(http, 2, classes=["first"], open_classes=True)
        names = [f"class {n}" for n in range(MAX_CLASSES_BY_LABELS)]
        before = stored(http, project)
        entries = [{"key": "i0", "label": name} for name in names]
        response = http.post(f"/v1/projects/{project}/labels", json={"labels": entries})
        assert_problem(response, 422)
        assert "which it has 1" in response.json()["detail"]
        assert stored(http, project) == before
        made(label(http, project, {"i0": "second"}))
        texts = new_project(http, classes=["first"], encoder="text", open_classes=True)
        rows = "".join(f"some words of number {n},{name}\n" for n, name in enumerate(names))
        job = imported(http, texts, "csv", f"text,label\n{rows}".encode(), labels=True)
        assert (job["state"], "is this the right column?" in job["message"]) == ("failed", True)
        assert made(http.get(f"/v1/projects/{texts}"))["classes"] == ["first"]


def test_metrics_can_be_closed(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path / "data", metrics_key=METRICS) as (address, _), client(address) as http:
        with client(address, None) as nobody:
            assert_problem(nobody.get("/metrics"), 401)
        assert_problem(http.get("/metrics"), 401)
        with client(address, METRICS) as prometheus:
            assert "asknext_open_requests 1.0" in prometheus.get("/metrics").text
            assert_problem(prometheus.get("/v1/me"), 401)
