import io

import pytest
from PIL import Image

from tests.app.input.calls import assert_problem
from tests.app.raw.files import as_zip, imported, picture, pictures
from tests.app.services.projects import open_project, service_in
from tests.app.site import Site

FILES = pictures(24) | {"broken.png": picture("circle", 0)[:200], "drawing.svg": b"<svg/>", "notes.txt": b"hello"}


@pytest.fixture(scope="module")
def result(site):
    """A project of pictures, and what its import told."""
    project = site.project(["circle", "stripe"], kernel=None, encoder="auto")
    return project, imported(project, as_zip(FILES))


def medium_of(project, key):
    return project.get(f"/items/{key}")["data"]["image"]


def test_a_zip_of_pictures(result):
    project, told = result
    assert (told["added"], told["unchanged"], told["labelled"]) == (24, 0, 0)
    assert {entry["name"] for entry in told["broken"]} == {"broken.png", "drawing.svg", "notes.txt"}
    assert told["broken_count"] == 3
    assert (told["found"]["kind"], told["found"]["items"]) == ("image", 27)
    encoder = project.get("")["encoder"]
    assert encoder["kind"] == "image"
    assert len(encoder["channels"]) > 1
    data = project.get("/items/circle/0.png")["data"]
    assert data["file"] == "circle/0.png"
    assert data["image"].startswith(f"{project.path}/media/")


def test_pictures_as_they_are_served(result):
    project, _ = result
    answer = project.http.get(medium_of(project, "stripe/1.png"), headers={"Authorization": f"Bearer {project.key}"})
    assert answer.status_code == 200
    assert answer.content == FILES["stripe/1.png"]
    headers = answer.headers
    assert headers["Content-Type"] == "image/png"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers.get_list("Cache-Control") == ["private, max-age=31536000, immutable"]
    assert headers["Content-Disposition"] == f'inline; filename="{medium_of(project, "stripe/1.png").split("/")[-1]}"'
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("name", ["no.png", f"{0:040}.png", f"{0:040}.svg", "..%2f..%2fasknext.db", "%2e%2e", "a.part"])
def test_no_other_name_is_served(result, name):
    project, _ = result
    headers = {"Authorization": f"Bearer {project.key}"}
    assert_problem(project.http.get(f"{project.path}/media/{name}", headers=headers), 404)


def test_who_sees_pictures(site, result):
    project, _ = result
    path = medium_of(project, "circle/0.png")
    everywhere = Site(site.http, site.service)
    other = site.project()
    for bound, status in ((project, 200), (other, 404)):
        body = {"name": "r", "role": "reader", "project": bound.path.rsplit("/", 1)[1]}
        key = everywhere.post("/v1/keys", body, 201)["key"]
        assert site.http.get(path, headers={"Authorization": f"Bearer {key}"}).status_code == status
    assert site.http.get(path).status_code == 401
    foreign = path.replace(project.path, other.path)
    everywhere.get(foreign, 404)


def test_more_pictures_later(result):
    project, _ = result
    before = project.get("")["encoder"]
    told = imported(project, as_zip(pictures(4) | {"new.png": picture("stripe", 99, "WEBP")}))
    assert (told["added"], told["unchanged"], told["broken_count"]) == (1, 4, 0)
    assert project.get("")["encoder"] == before
    shown = project.get(medium_of(project, "new.png").removeprefix(project.path))
    assert shown.headers["Content-Type"] == "image/webp"
    assert Image.open(io.BytesIO(shown.content)).format == "WEBP"
    assert "import" in project.post("/items", {"items": [{"key": "t", "text": "a"}]}, 422)["detail"]


def test_pictures_are_learnt(site):
    project = site.project([], kernel=None, encoder="image")
    assert imported(project, as_zip(pictures(40)), labels="true")["labelled"] == 40
    assert project.get("")["classes"] == ["circle", "stripe"]
    assert imported(project, as_zip({f"more/{n}": c for n, c in pictures(8, 40).items()}))["added"] == 8
    keys = [f"more/{name}" for name in pictures(8, 40)]
    predicted = project.post("/predict", {"keys": keys})["predictions"]
    right = [p["label"] in key for p, key in zip(predicted, keys, strict=True)]
    assert sum(right) >= 7
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    channels = project.get("")["encoder"]["channels"]
    weights = [v for name, v in project.get("/model")["hyperparameters"].items() if name.startswith("weight")]
    assert len(weights) == len(channels)
    assert len(set(weights)) > 1


def test_a_deleted_project_leaves_no_pictures(site):
    project = site.project(encoder="image")
    imported(project, as_zip(pictures(4)))
    folder = site.service.media.folder_of(project.path.rsplit("/", 1)[1])
    assert len(list(folder.iterdir())) == 4
    project.delete("", 204)
    assert not folder.exists()


def test_nothing_is_left_of_an_import(site, result):
    assert list(site.service.uploads.iterdir()) == []


def test_a_service_with_a_lower_limit_of_pixels_takes_no_larger_picture(tmp_path):
    files = {"small.png": (20, 20), "large.png": (20, 21)}
    for name, size in files.items():
        Image.new("RGB", size).save(tmp_path / name)
    with service_in(tmp_path / "data", max_pixels=400) as service:
        project = open_project(service, n=0).project.id
        service.media.open(project)
        assert service.media.put(project, tmp_path / "small.png").endswith(".png")
        with pytest.raises(ValueError, match="20 x 21 pixels are more than 400"):
            service.media.put(project, tmp_path / "large.png")
