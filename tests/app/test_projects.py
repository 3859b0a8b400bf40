import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

from core import OnlineLearner, Settings
from tests.app.live import eventually
from tests.core.data import word_counts

X, Y = word_counts(60, 8, 2)


def upload(project, content, status=202, **query):
    job = project.call("POST", "/import", status, params=query, content=content)
    return project.wait(job["job"]) if status == 202 else job


def files():
    sparse = sp.csr_matrix(X)
    dense, csr = io.BytesIO(), io.BytesIO()
    np.savez_compressed(dense, X=X, y=Y, keys=np.array([f"k{i}" for i in range(60)]))
    sp.save_npz(csr, sparse)
    entries = [
        {"key": f"k{i}", "features": {"indices": np.flatnonzero(row).tolist(), "values": row[row > 0].tolist()}}
        for i, row in enumerate(X)
    ]
    lines = "\n".join(json.dumps(entry | {"label": str(y)}) for entry, y in zip(entries, Y, strict=True))
    table = ["key,colour,label," + ",".join(f"f{j}" for j in range(8))]
    table += [f"k{i},red,{Y[i]}," + ",".join(map(str, row)) for i, row in enumerate(X)]
    svm = "\n".join(
        f"{Y[i]} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row) if value) for i, row in enumerate(X)
    )
    return {
        "npz": dense.getvalue(),
        "csr": csr.getvalue(),
        "jsonl": lines.encode(),
        "csv": "\n".join(table).encode(),
        "svmlight": svm.encode(),
    }


@pytest.mark.parametrize("form", ["npz", "csr", "jsonl", "csv", "svmlight"])
def test_a_file_of_any_kind_makes_the_same_model(site, form):
    project = site.project(classes=["0", "1"], columns=8)
    content = files()[form]
    name = "npz" if form == "csr" else form
    labels = form != "csr"
    found = upload(project, content, format=name, labels=labels)
    assert found["state"] == "done"
    assert found["result"] == {"added": 60, "unchanged": 0, "labelled": 60 if labels else 0}
    assert upload(project, content, format=name)["result"]["unchanged"] == 60
    first = project.get("/items?limit=1")["items"][0]
    if not labels:
        project.label({first["key"]: "0"})
        return
    learner = OnlineLearner(Settings(), ["0", "1"])
    learner.add_items(X)
    learner.label_many({i: str(y) for i, y in enumerate(Y)})
    keys = [item["key"] for item in project.get("/items?limit=60")["items"]]
    assert np.allclose(project.means(keys), learner.mean, atol=1e-8)
    if form == "csv":
        assert first["data"] == {"colour": "red"}


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ("npz", b"PK nonsense", "not an npz file"),
        ("jsonl", b'{"key": "a", "features": [1, 2]}\n{"key": "b", "features": [1, "x"]}', "line 2"),
        ("jsonl", b'{"key": "a", "features": [NaN]}', "line 1"),
        ("csv", b"key,a\nx,red\n", "no column of numbers"),
        ("csv", b"key,a,b\nx,1,2\ny,1\n", "line 3"),
        ("svmlight", b"1 a:b", "svmlight"),
        ("svmlight", b"1 0:2", "index_base=0"),
    ],
)
def test_a_bad_file_says_where(site, form, content, message):
    project = site.project()
    found = upload(project, content, format=form)
    assert found["state"] == "failed"
    assert message in found["message"]
    assert project.get("/items")["items"] == []


def test_a_second_file_is_in_the_model_at_once(site):
    project = site.project()
    for name in ("first", "second"):
        upload(project, f"key,a,b\n{name},1,2\n".encode(), format="auto")
        assert len(project.post("/predict", {"keys": [name]})["predictions"]) == 1


def test_items_that_are_there_already(site):
    project = site.project()
    assert project.add(X) == {"added": 60, "unchanged": 0}
    sparse = {"indices": np.flatnonzero(X[0])[::-1].tolist(), "values": X[0][X[0] > 0][::-1].tolist()}
    again = {"items": [{"key": "k0", "features": sparse}, {"key": "new", "features": X[1].tolist()}]}
    assert project.post("/items", again, 201) == {"added": 1, "unchanged": 1}
    other = {"items": [{"key": "newer", "features": X[1].tolist()}, {"key": "k1", "features": (X[1] + 1).tolist()}]}
    project.post("/items", other, 409)
    assert len(project.get("/items?limit=100")["items"]) == 61
    for features in ([1.0] * 9, {"indices": [8], "values": [1.0]}, [-1.0] * 8):
        problem = project.post("/items", {"items": [{"key": "bad", "features": features}]}, 422)
        assert problem["detail"]
    assert len(project.post("/query", {"count": 100})["items"]) == 61


def test_items_come_in_mid_project(site):
    project = site.project()
    project.add(X[:40])
    project.label({"k0": "a", "k1": "b"})
    project.add(X[40:] * 0.9, first=40)
    learner = OnlineLearner(Settings(), ["a", "b"])
    learner.add_items(X[:40])
    learner.label(0, "a")
    learner.label(1, "b")
    learner.add_items(X[40:] * 0.9)
    assert np.allclose(project.means([f"k{i}" for i in range(60)]), learner.mean, atol=1e-9)


def test_pages(site):
    project = site.project()
    project.add(X)
    seen, cursor = [], ""
    while cursor is not None:
        page = project.get("/items", params={"limit": 25, "cursor": cursor})
        seen += [item["key"] for item in page["items"]]
        cursor = page["next"]
    assert seen == [f"k{i}" for i in range(60)]
    project.get("/items?cursor=x", 422)


def test_classes_are_added_renamed_and_merged(site):
    project = site.project()
    project.add(X)
    project.label({f"k{i}": "ab"[y] for i, y in enumerate(Y[:20])})
    assert project.post("/classes", {"name": "c"}, 201)["classes"] == ["a", "b", "c"]
    project.post("/classes", {"name": "c"}, 409)
    project.label({"k30": "c"})
    assert project.patch("/classes/b", {"name": "bee"})["classes"] == ["a", "bee", "c"]
    project.patch("/classes/b", {"name": "x"}, 404)
    before = project.get("/items/k30")
    assert before["label"] == "c"
    assert project.post("/classes/c/merge", {"into": "a"})["classes"] == ["a", "bee"]
    assert project.get("/items/k30")["label"] == "a"
    project.post("/classes/a/merge", {"into": "a"}, 422)
    learner = OnlineLearner(Settings(), ["a", "bee"])
    learner.add_items(X)
    learner.label_many({i: ["a", "bee"][y] for i, y in enumerate(Y[:20])} | {30: "a"})
    assert np.allclose(project.means([f"k{i}" for i in range(60)]), learner.mean, atol=1e-8)
    assert project.post("/classes", {"name": "c"}, 201)["classes"] == ["a", "bee", "c"]


def test_settings_change_unless_somebody_was_faster(site):
    project = site.project()
    made = project.http.get(project.path, headers={"Authorization": f"Bearer {project.key}"})
    etag = made.headers["etag"]
    changed = project.patch("", {"settings": {"strategy": "bald"}}, headers={"If-Match": etag})
    assert changed["settings"]["strategy"] == "bald"
    project.patch("", {"name": "other"}, 412, headers={"If-Match": etag})
    assert project.patch("", {"name": "other"})["name"] == "other"
    project.patch("", {"settings": {"colour": "red"}}, 422)
    project.patch("", {"settings": {"kernel": "rbf", "complement": True}}, 422)
    project.patch("", {"settings": {"noise": -1}}, 422)
    assert project.get("")["settings"]["kernel"] == "hik"


def test_other_model_settings_train_anew(site):
    project = site.project()
    project.add(X)
    project.label({f"k{i}": "ab"[y] for i, y in enumerate(Y[:20])})
    project.patch("", {"settings": {"kernel": "rbf", "gamma": 0.5}})
    assert eventually(lambda: "gamma" in project.get("/model")["hyperparameters"], seconds=30.0)


def test_readers_see_a_trained_model_at_once(site):
    project = site.project()
    project.add(X)
    project.label({f"k{i}": "ab"[y] for i, y in enumerate(Y[:20])})
    project.wait(project.post("/train", {"tune": False}, 202)["job"])
    before = project.means(["k30"])
    project.wait(project.post("/train", {"tune": True}, 202)["job"])  # as many changes as the one before
    assert not np.allclose(project.means(["k30"]), before)


def test_training_finds_hyperparameters_and_says_so(site):
    project = site.project(kernel="auto")
    project.add(X)
    project.label({f"k{i}": "ab"[y] for i, y in enumerate(Y[:30])})
    before = project.get("/model")
    done = project.wait(project.post("/train", {"tune": True}, 202)["job"])
    assert done["state"] == "done"
    assert done["result"]["labels"] == 30
    after = project.get("/model")
    assert after["version"] > before["version"]
    assert after["hyperparameters"]["noise"] != before["hyperparameters"]["noise"]
    assert "leave-one-out squared error" in after["kernel"]
    assert after["estimates"][0]["name"] == "leave-one-out accuracy"
    assert after["classes"] == {"a": int((Y[:30] == 0).sum()), "b": int((Y[:30] == 1).sum())}


def test_a_training_warns_of_a_search_that_ended_at_a_bound(site):
    project = site.project(kernel="linear", retrain="off")
    x = np.random.default_rng(0).normal(size=(40, 3))
    project.add(x)
    project.label({f"k{i}": "ab"[int(row[0] * row[1] > 0)] for i, row in enumerate(x)})  # nothing that is linear
    assert project.get("/model")["warnings"] == []
    done = project.wait(project.post("/train", {"tune": True}, 202)["job"])
    (warning,) = done["result"]["warnings"]
    assert warning.startswith("the search for noise ended at its upper bound, 10000 times the mean of k(x, x)")
    assert project.get("/model")["warnings"] == [warning]
    assert warning in project.get("/card")["cautions"]


def test_training_comes_by_itself_when_labels_have_grown(site):
    project = site.project(retrain="auto")
    project.add(X)
    project.label({f"k{i}": "ab"[y] for i, y in enumerate(Y[:12])})
    job = eventually(lambda: project.get("/jobs")["jobs"], seconds=30.0)[0]
    assert project.wait(job["id"])["result"]["labels"] == 12


def test_predictions_of_rows_and_of_items_are_the_same(site):
    project = site.project()
    project.add(X)
    project.post("/predict", {"features": [X[0].tolist()]})
    project.label({f"k{i}": "ab"[y] for i, y in enumerate(Y[:20])})
    by_key = project.post("/predict", {"keys": ["k3", "k40"]})["predictions"]
    sparse = {"indices": np.flatnonzero(X[40]).tolist(), "values": X[40][X[40] > 0].tolist()}
    by_row = project.post("/predict", {"features": [X[3].tolist(), sparse]})["predictions"]
    for one, two in zip(by_key, by_row, strict=True):
        assert one["label"] == two["label"]
        assert one["mean"]["a"] == pytest.approx(two["mean"]["a"], abs=1e-9)
        assert one["variance"] == pytest.approx(two["variance"], abs=1e-9)
        assert sum(one["probabilities"].values()) == pytest.approx(1.0)
    project.post("/predict", {"keys": ["nobody"]}, 404)
    project.post("/predict", {"features": [[1.0]]}, 422)
    project.post("/predict", {"features": [{"indices": [0, 0], "values": [1, 1]}]}, 422)
    project.post("/predict", {}, 422)


def test_a_deleted_project_is_gone(site):
    project = site.project()
    project.add(X)
    project.delete("", status=204)
    project.get("", 404)
    project.post("/query", status=404)
    mine = {entry["id"] for entry in site.get("/v1/projects?limit=1000")["projects"]}
    assert project.path.rsplit("/", 1)[1] not in mine


def test_negative_features_with_auto_change_the_kernel(site):
    project = site.project(kernel="auto")
    project.add(np.abs(X[:30]))
    project.label({"k0": "a", "k1": "b"})
    assert "gamma" not in project.get("/model")["hyperparameters"]
    project.post("/items", {"items": [{"key": "n", "features": (-X[30]).tolist()}]}, 201)
    assert eventually(lambda: "gamma" in project.get("/model")["hyperparameters"], seconds=30.0)
    assert project.post("/predict", {"keys": ["n"]})["predictions"][0]["variance"] > 0
