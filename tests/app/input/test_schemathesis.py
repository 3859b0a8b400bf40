"""What schemathesis makes of the OpenAPI document: no 5xx, and answers as they are documented."""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.main import create_app
from app.settings import ServiceSettings
from tests.app.input.calls import label, made, new_project
from tests.app.live import ADMIN

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of overflows, as where the service runs
EXAMPLES = 100 if os.environ.get("ASKNEXT_TORTURE") == "1" else 5
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OWN = {"name": "cat", "key": "i0"}

document = schemathesis.openapi.from_dict(create_app(ServiceSettings()).openapi())


@pytest.fixture(scope="module")
def project(http):
    """A project for cases to meet, with items, labels and a model."""
    found = new_project(http, 6, open_classes=True)
    made(label(http, found, {"i0": "cat", "i1": "dog"}))
    return found


@pytest.fixture(scope="module")
def linked(http):
    """The project and the secret of a backend, as Label Studio has them."""
    found = new_project(http, 2, encoder="none")
    return made(http.post(f"/v1/projects/{found}/label-studio", json={}))["path"].split("/")[2:]


@document.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_route(case, live, http, project, linked):
    place = (case.method, case.operation.path)
    if "project" in case.path_parameters and place != ("DELETE", "/v1/projects/{project}"):
        case.path_parameters["project"] = project
    if "secret" in case.path_parameters:
        case.path_parameters |= dict(zip(("project", "secret"), linked, strict=True))
    for name, value in OWN.items():
        if name in case.path_parameters and len(str(case.path_parameters[name])) % 2:
            case.path_parameters[name] = value
    response = case.call(base_url=live[0], headers={"Authorization": f"Bearer {ADMIN}"}, timeout=60)
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        assert response.headers["content-type"][0] == "application/problem+json"
        assert response.json()["id"] == response.headers["x-request-id"][0]
