"""Files to take away: labels as tables, and predictions for every item."""

import csv
import io
import json

import numpy as np
import pytest

X = np.random.default_rng(0).random((30, 6))
TEXTS = ['Grüße, "alle"', "=HYPERLINK(1)", "two\nlines", "日本"]


@pytest.fixture
def project(site):
    made = site.project(kernel="hik")
    data = [{"text": TEXTS[i % 4], "label": i, "tags": ["x", i]} for i in range(len(X))]
    rows = [{"key": f"k{i}", "features": x.tolist(), "data": d} for i, (x, d) in enumerate(zip(X, data, strict=True))]
    made.post("/items", {"items": rows}, 201)
    return made


def lines(project, path):
    return [json.loads(line) for line in project.get(path).text.splitlines()]


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_are_of_every_item(project):
    project.label({"k0": "a", "k1": "b", "k3": "a"})
    project.as_other(name="Bob").label({"k0": "b", "k2": "b"})
    rows = lines(project, "/predictions")
    assert [row["key"] for row in rows] == [f"k{i}" for i in range(30)]
    said = {row["key"]: row["label"] for row in lines(project, "/labels")}
    predicted = project.post("/predict", {"keys": [row["key"] for row in rows]})["predictions"]
    for row, guess in zip(rows, predicted, strict=True):
        assert row["by"] == ("person" if said.get(row["key"]) else "model")
        assert row["label"] == (said.get(row["key"]) or guess["label"])
        assert row["predicted"] == guess["label"]
        assert row["probabilities"] == pytest.approx(guess["probabilities"])
        assert row["probability"] == row["probabilities"][row["predicted"]]
        p = row["probability"]
        assert row["sureness"] == ("sure" if p >= 0.95 else "fairly sure" if p >= 0.75 else "unsure")
        assert row["data"]["label"] == int(row["key"][1:])


def test_predictions_as_a_table(project):
    project.label({"k0": "a", "k1": "b"})
    answer = project.get("/predictions?format=csv&excel=true")
    assert answer.content.startswith("\ufeffkey,text,data: label,tags,label,by,predicted,".encode())
    rows = table(answer.content.decode("utf-8-sig"))
    assert [row["text"] for row in rows[:4]] == ['Grüße, "alle"', "'=HYPERLINK(1)", "two\nlines", "日本"]
    assert rows[3]["tags"] == '["x",3]'
    assert float(rows[0]["P(a)"]) + float(rows[0]["P(b)"]) == pytest.approx(1.0)
    assert not project.get("/predictions?format=csv").content.startswith("\ufeff".encode())


def test_before_two_classes_have_labels_nothing_is_predicted(project):
    project.label({"k0": "a"})
    rows = table(project.get("/predictions?format=csv").text)
    assert [(row["label"], row["by"]) for row in rows[:2]] == [("a", "person"), ("", "")]
    assert {row["predicted"] for row in rows} == {row["P(a)"] for row in rows} == {""}


def test_without_a_model_there_are_no_predictions(site):
    project = site.project()
    assert "add items and classes" in project.get("/predictions", 409)["detail"]


def test_labels_as_a_table_have_a_column_for_each_person(project):
    project.label({"k0": "a", "k1": "b"})
    bob = project.as_other(name="Bob")
    bob.label({"k0": "b"})
    other = project.as_other(name="Bob")
    other.label({"k0": "a"})
    rows = table(project.get("/labels?format=csv&data=true").text)
    assert [row["key"] for row in rows] == ["k0", "k1"]
    assert rows[0]["Bob"] == "b; a"
    assert rows[1]["Bob"] == ""
    assert rows[0]["text"] == TEXTS[0]
    last = project.get("/items/k0")["history"][-1]["created_at"]
    assert rows[0]["answered_at"] == last
    assert [line["answered_at"] for line in lines(project, "/labels")] == [row["answered_at"] for row in rows]


def test_items_of_many_kinds_keep_their_data_in_one_column(project, monkeypatch):
    monkeypatch.setattr("app.services.reports.export.MAX_COLUMNS", 2)
    rows = table(project.get("/predictions?format=csv").text)
    assert json.loads(rows[5]["data"]) == {"text": TEXTS[1], "label": 5, "tags": ["x", 5]}
