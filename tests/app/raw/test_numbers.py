"""Tables, vectors and sets that are encoded."""

import io
import json

import numpy as np
import pytest

from tests.app.raw.files import imported

RNG = np.random.default_rng(0)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_a_table_of_numbers_and_categories(site):
    lines = ["id,age,colour,label"]
    lines += [f"p{i},{20 + i % 7},{'red' if i % 2 else 'blue'},{'a' if i % 2 else 'b'}" for i in range(30)]
    project = site.project(kernel=None, encoder="auto")
    result = imported(project, "\n".join(lines).encode(), labels="true")
    assert (result["added"], result["labelled"], result["found"]["kind"]) == (30, 30, "table")
    assert project.get("/items/p3")["data"] == {"age": "23", "colour": "red"}
    predicted = project.post("/predict", {"rows": [{"age": 22, "colour": "red"}, {"age": "22", "colour": "blue"}]})
    assert [one["label"] for one in predicted["predictions"]] == ["a", "b"]
    assert project.post("/items", {"items": [{"key": "n", "row": {"age": 21, "colour": None}}]}, 201)["added"] == 1
    assert project.get("/items/n")["data"] == {"age": 21, "colour": None}


@pytest.mark.parametrize("settings", [{"model": "forest"}, {"kernel": "hik"}, {"kernel": "hik", "normalise": True}])
def test_a_table_for_one_kernel_of_all_columns_has_no_negative_numbers(site, settings):
    lines = ["id,age,height,label", *(f"p{i},{20 + i % 7},{i * 7 % 13},{'ab'[i % 2]}" for i in range(30)), ""]
    content = "\n".join(lines).encode()
    project = site.project(encoder="auto", **{"kernel": None} | settings)
    assert imported(project, content, labels="true")["added"] == 30
    assert project.wait(project.post("/train", {"tune": True}, 202)["job"])["state"] == "done"
    assert project.get("/model")["degraded"] is None
    other = site.project(encoder="auto", kernel=None)
    imported(other, content)
    assert "kernel rbf or linear" in other.patch("", {"settings": settings}, 422)["detail"]


def test_vectors_of_a_network(site):
    x = RNG.normal(size=(40, 6))
    project = site.project(kernel=None, encoder="auto")
    assert imported(project, npz(X=x))["found"]["kind"] == "vectors"
    project.label({f"row-{i + 1}": "a" if x[i, 0] > 0 else "b" for i in range(20)})
    same = project.post("/predict", {"features": [x[0].tolist()]})["predictions"][0]["mean"]
    assert np.allclose(list(same.values()), project.means(["row-1"])[0], atol=1e-6)
    assert "entry 0" in project.post("/items", {"items": [{"key": "n", "features": [1.0]}]}, 422)["detail"]
    assert project.post("/items", {"items": [{"key": "n", "features": [-1.0] * 6}]}, 201)["added"] == 1
    split = site.project(kernel="hik", encoder="vectors")
    lines = [json.dumps({"key": f"v{i}", "embedding": row.tolist()}) for i, row in enumerate(x)]
    assert imported(split, "\n".join(lines).encode())["added"] == 40
    assert split.get("")["encoder"]["channels"] == [{"name": "vector", "columns": 12}]


def test_sets_of_vectors(site):
    sets = {f"s{i}": RNG.normal(i % 2, 0.1, size=(5 + i % 3, 2)) for i in range(20)}
    project = site.project(kernel=None, encoder="auto")
    result = imported(project, npz(**sets, odd=np.zeros((3, 5))))
    assert (result["added"], result["found"]["kind"]) == (20, "sets")
    assert [entry["name"] for entry in result["broken"]] == ["odd"]
    project.label({"s0": "a", "s1": "b"})
    predicted = project.post("/predict", {"keys": ["s2", "s3"]})["predictions"]
    assert [one["label"] for one in predicted] == ["a", "b"]
