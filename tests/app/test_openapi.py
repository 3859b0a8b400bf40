import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from app.api import examples, schemas
from app.main import create_app
from app.settings import ServiceSettings

TIMES = {"created_at", "finished_at", "last_at", "revoked_at"}

# Generated clients have these names: they stay. P is a project's path.
OPERATIONS = {
    "create_project": "POST /v1/projects",
    "list_projects": "GET /v1/projects",
    "get_project": "GET P",
    "change_project": "PATCH P",
    "delete_project": "DELETE P",
    "add_class": "POST P/classes",
    "change_class": "PATCH P/classes/{name}",
    "merge_class": "POST P/classes/{name}/merge",
    "add_items": "POST P/items",
    "list_items": "GET P/items",
    "get_item": "GET P/items/{key}",
    "get_features": "GET P/features/{key}",
    "import_items": "POST P/import",
    "list_jobs": "GET P/jobs",
    "get_job": "GET P/jobs/{job}",
    "cancel_job": "DELETE P/jobs/{job}",
    "get_medium": "GET P/media/{medium}",
    "query_items": "POST P/query",
    "label_items": "POST P/labels",
    "export_labels": "GET P/labels",
    "export_predictions": "GET P/predictions",
    "retract_label": "DELETE P/labels/{key}",
    "undo_answer": "POST P/undo",
    "extend_lease": "POST P/leases/{lease}",
    "release_lease": "DELETE P/leases/{lease}",
    "get_agreement": "GET P/agreement",
    "train_model": "POST P/train",
    "get_model": "GET P/model",
    "predict_rows": "POST P/predict",
    "predict_row": "POST P/predict-one",
    "get_insights": "GET P/insights",
    "get_search": "GET P/search",
    "get_map": "GET P/map",
    "list_ranked": "GET P/ranked",
    "list_events": "GET P/events",
    "get_card": "GET P/card",
    "explain_item": "GET P/why/{key}",
    "link_label_studio": "POST P/label-studio",
    "get_label_studio_link": "GET P/label-studio",
    "unlink_label_studio": "DELETE P/label-studio",
    "sync_label_studio": "POST P/label-studio/sync",
    "get_me": "GET /v1/me",
    "create_key": "POST /v1/keys",
    "list_keys": "GET /v1/keys",
    "revoke_key": "DELETE /v1/keys/{key}",
    "get_liveness": "GET /health/live",
    "get_readiness": "GET /health/ready",
    "get_metrics": "GET /metrics",
    "check_backend": "GET /label-studio/{project}/{secret}/health",
    "set_up_backend": "POST /label-studio/{project}/{secret}/setup",
    "predict_tasks": "POST /label-studio/{project}/{secret}/predict",
    "receive_event": "POST /label-studio/{project}/{secret}/webhook",
    "list_versions": "GET /label-studio/{project}/{secret}/versions",
}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return create_app(ServiceSettings(data_dir=tmp_path_factory.mktemp("data"))).openapi()


def json_schemas(document):
    """(route, name of the schema) of every JSON body and answer of ours and of Label Studio's backend."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            answers = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
            for part in [operation.get("requestBody", {}), *answers]:
                reference = part.get("content", {}).get("application/json", {}).get("schema", {}).get("$ref")
                if path.startswith(("/v1", "/label-studio")) and reference:
                    yield f"{method} {path}", reference.rsplit("/", 1)[1]


def test_every_body_and_answer_has_an_example_that_is_one(document):
    found = list(json_schemas(document))
    assert len(found) > 35
    for route, name in found:
        shown = document["components"]["schemas"][name].get("examples")
        assert shown, (route, name)
        for example in shown:
            getattr(schemas, name).model_validate(example)


def test_every_example_belongs_to_a_route(document):
    used = {name for _, name in json_schemas(document)} | {"ProblemAnswer"}
    assert set(examples.ANSWERS) <= used


def test_every_route_says_what_it_does(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (method, path)


def test_operation_ids_make_a_client_that_can_be_read(document):
    found = [
        (operation["operationId"], f"{method.upper()} {path}".replace("/v1/projects/{project}", "P"))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    assert dict(found) == OPERATIONS
    assert len(found) == len(OPERATIONS)  # each name once
    assert all(re.fullmatch("[a-z]+(_[a-z]+)+", name) for name in OPERATIONS)


def times(schema, name=""):
    """(name, schema) of every field of a document that holds a time."""
    if isinstance(schema, dict):
        for key, part in schema.items():
            if key.endswith("_at") and isinstance(part, dict):
                yield key, next(one for one in part.get("anyOf", [part]) if one.get("type") != "null")
            yield from times(part, key)
    elif isinstance(schema, list):
        for part in schema:
            yield from times(part, name)


def test_times_are_rfc_3339(document):
    found = list(times({name: s.get("properties", {}) for name, s in document["components"]["schemas"].items()}))
    ours = [(name, schema) for name, schema in found if name != "updated_at"]
    assert len(ours) > 10
    for name, schema in ours:
        assert (schema["type"], schema.get("format")) == ("string", "date-time"), name


def test_times_of_answers_are_rfc_3339(site):
    project = site.project()
    project.add([[1.0, 0.0], [0.0, 1.0]])
    project.label({"k0": "a", "k1": "b"})
    job = project.post("/train", {"tune": False}, 202)["job"]
    answers = [
        project.get(""),
        project.wait(job),
        project.get("/items/k0"),
        project.get("/events"),
        project.get("/card"),
        site.get("/v1/keys"),
        [json.loads(line) for line in project.get("/labels?history=true").text.splitlines()],
    ]
    (row, _) = csv.DictReader(io.StringIO(project.get("/labels?history=true&format=csv").text))
    found = [value for name, value in stamps([*answers, row])]
    assert len(found) > 8
    for value in found:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", value), value
        assert abs(datetime.fromisoformat(value) - datetime.now(UTC)) < timedelta(hours=1)


def stamps(answer):
    """(name, value) of every time in an answer."""
    if isinstance(answer, dict):
        yield from ((name, value) for name, value in answer.items() if name in TIMES and value is not None)
    for part in answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else ():
        yield from stamps(part)


def test_the_key_is_looked_at_before_the_body(site):
    for headers, status in [({}, 401), ({"Authorization": "Bearer ask_wrong"}, 401)]:
        answer = site.http.post("/v1/projects", content=b"{" * 1000, headers=headers)
        assert answer.status_code == status
