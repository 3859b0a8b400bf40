import pytest

from app.api import examples, schemas
from app.main import create_app
from app.settings import ServiceSettings


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


def test_the_key_is_looked_at_before_the_body(site):
    for headers, status in [({}, 401), ({"Authorization": "Bearer ask_wrong"}, 401)]:
        answer = site.http.post("/v1/projects", content=b"{" * 1000, headers=headers)
        assert answer.status_code == status
