"""Raw items with a pretrained model, over HTTP: a tiny one that is made here."""

import httpx
import pytest

from app.services.imports import tables
from tests.app.encoders.models import picture_model, text_model, with_extra
from tests.app.live import in_thread
from tests.app.raw.files import as_csv, as_zip, imported, pictures, texts
from tests.app.site import Site

pytestmark = with_extra


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Libraries of pretrained models take long to load on a busy machine."""
    monkeypatch.setattr(Site, "patience", 300.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return text_model(tmp_path_factory.mktemp("text-model"))


@pytest.fixture(scope="module")
def site(tmp_path_factory, folder):
    """A service whose owner says which model is at hand."""
    with (
        in_thread(None, tmp_path_factory.mktemp("site"), text_model=str(folder)) as (address, service),
        httpx.Client(base_url=address, timeout=300) as http,
    ):
        yield Site(http, service)


def test_auto_takes_the_model_at_hand_and_says_so(site, folder):
    project = site.project([], kernel=None, encoder="auto")
    result = imported(project, as_csv(texts(40)), labels="true")
    assert (result["added"], result["labelled"]) == (40, 40)
    assert f"the pretrained model {folder} embeds them" in result["found"]["why"]
    encoder = project.get("")["encoder"]
    assert encoder["why"] == result["found"]["why"]
    assert encoder["channels"][-1] == {"name": "embedding", "columns": 16}
    assert encoder["description"]["options"]["model"] == str(folder)
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    assert "weight[2]" in project.get("/model")["hyperparameters"]
    predicted = project.post("/predict", {"texts": ["the team must win", "soup with bread"]})["predictions"]
    assert [prediction["label"] for prediction in predicted] == ["sport", "food"]
    names = [part["name"] for part in project.get("/why/t0")["parts"]]
    assert len(names) == len(set(names))


def test_the_same_texts_again_change_nothing_whatever_is_in_their_batch(site, monkeypatch):
    """Vectors differ in their last digits with the batch, and features with them."""
    project = site.project([], kernel=None, encoder="text")
    rows = texts(30)
    assert imported(project, as_csv(rows, ("text", "label")))["added"] == 30
    monkeypatch.setattr(tables, "PORTION", 7)
    assert imported(project, as_csv(rows, ("text", "label")))["unchanged"] == 30
    other = imported(project, as_csv(texts(9, seed=1), ("text", "label")))
    assert (other["added"], other["broken_count"]) == (9, 0)
    assert imported(project, as_csv(texts(9, seed=1), ("text", "label")))["unchanged"] == 9
    new = {"items": [{"key": "n", "text": rows[0][1]}]}
    assert project.post("/items", new, 201)["added"] == 1
    assert project.post("/items", new, 201)["unchanged"] == 1
    project.post("/items", {"items": [{"key": "n", "text": "quite another text"}]}, 409)


def test_other_files_under_the_name_are_refused_and_nothing_is_lost(site, tmp_path):
    own = text_model(tmp_path / "own")
    project = site.project([], kernel=None, encoder="text", encoder_options={"model": str(own)})
    imported(project, as_csv(texts(12)))
    text_model(own, seed=1)
    problem = project.post("/predict", {"texts": ["goal"]}, 409)["detail"]
    assert "expected the model" in problem
    assert "checksum" in project.post("/items", {"items": [{"key": "n", "text": "goal"}]}, 409)["detail"]
    assert "checksum" in imported(project, as_csv(texts(20)), "failed")
    assert len(project.get("/items")["items"]) == 12


def test_pictures_are_embedded_too(site, tmp_path):
    options = {"model": str(picture_model(tmp_path / "clip")), "words": 20}
    project = site.project([], encoder="image", kernel=None, encoder_options=options)
    assert imported(project, as_zip(pictures(20)), labels="true")["added"] == 20
    assert project.get("")["encoder"]["channels"][-1] == {"name": "embedding", "columns": 12}
    assert imported(project, as_zip(pictures(22)))["unchanged"] == 20
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    names = project.get("/model")["hyperparameters"]
    assert f"weight[{len(project.get('')['encoder']['channels']) - 1}]" in names


def test_a_kernel_that_cannot_read_embeddings_is_refused(site):
    project = site.project([], kernel=None, encoder="text")
    imported(project, as_csv(texts(12)))
    for settings in ({"kernel": "hik"}, {"normalise": True}, {"model": "forest"}):
        assert "kernel rbf or linear" in project.patch("", {"settings": settings}, 422)["detail"]
    assert project.patch("", {"settings": {"kernel": "linear"}})["settings"]["kernel"] == "linear"


def test_a_project_may_do_without(site):
    project = site.project([], kernel=None, encoder="text", encoder_options={"model": None})
    imported(project, as_csv(texts(12)))
    assert [channel["name"] for channel in project.get("")["encoder"]["channels"]] == ["words", "characters"]


def test_one_kernel_of_all_columns_has_no_place_for_vectors(site):
    project = site.project([], kernel="hik", encoder="auto")
    imported(project, as_csv(texts(12)))
    assert project.get("")["encoder"]["description"]["options"]["model"] is None


def test_only_an_administrator_of_the_service_names_a_model(site, folder):
    project = site.project([], kernel=None, encoder="text")
    body = {"name": "p", "role": "admin", "project": project.path.rsplit("/", 1)[1]}
    own = Site(site.http, site.service, site.post("/v1/keys", body, 201)["key"], project.path)
    change = {"settings": {"encoder_options": {"model": str(folder)}}}
    assert "administrator of the service" in own.patch("", change, 403)["detail"]
    assert own.patch("", {"settings": {"encoder_options": {"model": None}}})["settings"]["encoder_options"]
    assert project.patch("", change)["settings"]["encoder_options"] == {"model": str(folder)}


def test_a_service_that_is_stopped_ends_the_process_that_keeps_the_model(tmp_path, folder):
    with (
        in_thread(None, tmp_path, text_model=str(folder)) as (address, service),
        httpx.Client(base_url=address, timeout=300) as http,
    ):
        project = Site(http, service).project([], kernel=None, encoder="text")
        imported(project, as_csv(texts(12)))
        project.post("/items", {"items": [{"key": "n", "text": "goal"}]}, 201)
        process = service.models._process._process
        assert process.is_alive()
    with pytest.raises(ValueError, match="closed"):
        process.is_alive()
