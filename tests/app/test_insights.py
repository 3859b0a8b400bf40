import json

import numpy as np
import pytest

from app.services.items import encoder
from core import OnlineLearner, Settings
from tests.core.data import word_counts

X, Y = word_counts(60, 8, 3)
NAMES = ["ant", "bee", "cat"]


def keys(items):
    return [f"k{i}" for i in items]


def learner_with(labels):
    learner = OnlineLearner(Settings(), NAMES)
    learner.add_items(X)
    learner.label_many(labels)
    return learner


@pytest.fixture
def project(site):
    project = site.project(NAMES)
    project.add(X, data={f"k{i}": {"text": f"item {i}"} for i in range(60)})
    return project


@pytest.fixture
def taught(project):
    """With 15 labels, of which the fourth is wrong."""
    project.label({f"k{i}": NAMES[Y[i]] for i in range(15)} | {"k3": NAMES[(Y[3] + 1) % 3]})
    return project


LABELS = {i: NAMES[Y[i]] for i in range(15)} | {3: NAMES[(Y[3] + 1) % 3]}


def test_before_anything_is_known(site):
    project = site.project()
    for n_items in (0, 5):
        if n_items:
            project.add(X[:n_items])
        found = project.get("/insights")
        assert found["curve"] == []
        assert found["classes"] == {name: {"labelled": 0, "predicted": 0} for name in "ab"}
        assert found["uncertainty"] == {"edges": [], "counts": []}
        assert len(project.get("/map")["points"]) == n_items
        for by in ("uncertain", "surprising", "disagreed", "unlike"):
            assert project.get(f"/ranked?by={by}")["items"] == []
        assert project.get("/events") == {"events": [], "next": None}
        card = project.get("/card")
        assert (card["items"], card["labelled"], card["training"]) == (n_items, 0, None)
        project.get("/why/none", 404)
    assert project.get("/why/k0") == dict.fromkeys(["label", "against", "lead", "constant", "rest"]) | {"parts": []}


def test_class_counts_and_uncertainty_are_those_of_the_published_state(taught):
    published = learner_with(LABELS).publish()
    found = taught.get("/insights")
    free = published.labels < 0
    for number, name in enumerate(NAMES):
        assert found["classes"][name]["labelled"] == list(LABELS.values()).count(name)
        assert found["classes"][name]["predicted"] == (published.predicted[free] == number).sum()
    edges, counts = found["uncertainty"]["edges"], found["uncertainty"]["counts"]
    assert (edges[0], edges[-1]) == (0.0, pytest.approx(2 / 3))
    assert np.array_equal(counts, np.histogram(published.uncertainty[free], edges)[0])
    assert sum(counts) == 45
    assert {name: found[name] for name in ("accuracy", "estimates")} == {
        name: taught.get("/model")[name] for name in ("accuracy", "estimates")
    }


def test_the_curve_is_of_items_drawn_at_random_and_judged_by_the_labels_of_today(project):
    project.label({"k0": NAMES[Y[0]], "k1": NAMES[Y[1]], "k2": NAMES[Y[2]]})
    right = []
    for _ in range(12):
        (question,) = project.post("/query", {"explore": 1.0})["items"]
        guess = max(question["mean"], key=question["mean"].get)
        truth = NAMES[Y[int(question["key"][1:])]]
        project.label({question["key"]: truth})
        right.append(guess == truth)
    (asked,) = project.post("/query", {"strategy": "unc"})["items"]
    project.label({asked["key"]: "ant"})  # asked for: not counted
    curve = project.get("/insights")["curve"]
    assert [point["labels"] for point in curve] == list(range(4, 16))
    assert [point["judged"] for point in curve] == list(range(1, 13))
    assert [point["accuracy"] for point in curve] == pytest.approx([np.mean(right[: i + 1]) for i in range(12)])
    assert all(point["low"] <= point["accuracy"] <= point["high"] for point in curve)
    project.post("/undo")
    project.post("/undo")  # the last one drawn has no label any more
    assert len(project.get("/insights")["curve"]) == 11


def test_the_map_stays_while_labels_change_its_colours(taught):
    first = {point["key"]: point for point in taught.get("/map")["points"]}
    assert len(first) == 60
    learner = learner_with(LABELS)
    assert first["k0"]["label"] == LABELS[0]
    assert first["k20"]["label"] is None
    assert first["k20"]["predicted"] == NAMES[learner.publish().predicted[20]]
    assert first["k20"]["uncertainty"] == pytest.approx(learner.publish().uncertainty[20])
    taught.label({"k20": "cat"})
    second = {point["key"]: point for point in taught.get("/map")["points"]}
    assert second["k20"]["label"] == "cat"
    assert all((second[key]["x"], second[key]["y"]) == (first[key]["x"], first[key]["y"]) for key in first)
    taught.add(X[:4] * 0.5, first=60)
    assert len(taught.get("/map")["points"]) == 64


def test_the_map_is_drawn_anew_after_a_training(taught):
    before = [point["x"] for point in taught.get("/map")["points"]]
    taught.wait(taught.post("/train", {"tune": True}, 202)["job"])
    after = [point["x"] for point in taught.get("/map")["points"]]
    assert not np.allclose(before, after)


def test_a_small_map_shows_labelled_items_all_the_same(taught):
    found = taught.get("/map?limit=10")
    points = found["points"]
    assert (found["items"], len({point["key"] for point in points})) == (60, 10)
    assert sum(point["label"] is not None for point in points) == 5
    taught.get("/map?limit=0", 422)


def test_items_that_are_unlike_all_labelled_ones(taught):
    published = learner_with(LABELS).publish()
    found = taught.get("/ranked?by=unlike&limit=7")["items"]
    order = np.argsort(np.where(published.labels < 0, -published.novelty, 9.0), kind="stable")[:7]
    assert [item["key"] for item in found] == keys(order)
    assert [item["score"] for item in found] == pytest.approx(published.novelty[order].tolist())
    assert {item["label"] for item in found} == {None}
    assert {item["predicted"] for item in found} <= set(published.classes)


def test_uncertain_items(taught):
    published = learner_with(LABELS).publish()
    found = taught.get("/ranked?by=uncertain&limit=7")["items"]
    order = np.argsort(np.where(published.labels < 0, -published.uncertainty, 9.0), kind="stable")[:7]
    assert [item["key"] for item in found] == keys(order)
    assert [item["score"] for item in found] == pytest.approx(published.uncertainty[order].tolist())
    first = found[0]
    assert first["probability"] == pytest.approx(1.0 - first["score"])
    assert first["data"] == {"text": f"item {order[0]}"}
    assert (first["label"], first["votes"]) == (None, [])


def test_a_wrong_label_is_the_most_surprising(taught):
    first = taught.get("/ranked?by=surprising&limit=5")["items"][0]
    assert (first["key"], first["label"], first["predicted"]) == ("k3", LABELS[3], NAMES[Y[3]])
    without = learner_with({item: name for item, name in LABELS.items() if item != 3}).publish()
    truth = NAMES.index(LABELS[3])
    assert first["score"] == pytest.approx(1.0 - without.probabilities[3, truth], abs=1e-6)
    assert first["votes"] == [{"annotator": "admin", "label": LABELS[3]}]


def test_what_people_disagree_on(site):
    project = site.project(NAMES, overlap=4)
    project.add(X)
    people = [project, *(project.as_other() for _ in range(3))]
    for person, names in zip(
        people, [("ant", "ant", "ant"), ("ant", "bee", "ant"), ("ant", "ant", "bee")], strict=False
    ):
        person.label({"k0": names[0], "k1": names[1], "k2": names[2]})
    people[3].label({"k1": "cat"})
    people[1].label({"k5": "cat"})
    found = project.get("/ranked?by=disagreed")["items"]
    assert [item["key"] for item in found] == ["k1", "k2"]
    assert [item["score"] for item in found] == pytest.approx([1 - (4 + 1 + 1) / 16, 4 / 9])
    assert len(found[0]["votes"]) == 4
    assert found[0]["predicted"] in NAMES
    agreement = project.get("/agreement")
    assert agreement["items"] == 3
    assert project.get("/card")["agreement"] == agreement


def test_events_by_filter_and_page(taught):
    other = taught.as_other(name="eve")
    other.answer("k30", action="skip")
    other.label({"k0": "bee"})
    other.label({"k0": "cat"})
    every = taught.get("/events")["events"]
    assert [event["sequence"] for event in every] == sorted((e["sequence"] for e in every), reverse=True)
    assert [event["key"] for event in every[:3]] == ["k0", "k0", "k30"]
    assert len(every) == 18
    by_page, cursor = [], ""
    while cursor is not None:
        page = taught.get(f"/events?limit=7&cursor={cursor}")
        by_page, cursor = by_page + page["events"], page["next"]
    assert by_page == every
    for query, count in [
        ("annotator=eve", 3),
        ("annotator=nobody", 0),
        ("kind=relabel", 1),
        ("kind=skip&annotator=eve", 1),
        ("kind=skip&annotator=admin", 0),
        ("key=k0", 3),
        ("key=none", 0),
        ("label=none", 0),
        ("label=cat&annotator=eve", 1),
    ]:
        assert len(taught.get(f"/events?{query}")["events"]) == count, query
    history = taught.get("/items/k0")["history"]
    assert taught.get("/events?key=k0")["events"] == [{"key": "k0"} | event for event in reversed(history)]
    taught.get("/events?kind=odd", 422)
    taught.get("/events?cursor=odd", 422)


def test_events_of_merged_classes_go_by_the_name_they_have_now(taught):
    n = sum(name in ("ant", "bee") for name in LABELS.values())
    taught.post("/classes/ant/merge", {"into": "bee"})
    assert len(taught.get("/events?label=bee")["events"]) == n
    assert taught.get("/events?label=ant")["events"] == []
    assert taught.get("/insights")["classes"]["bee"]["labelled"] == n


@pytest.mark.parametrize(
    ("kernel", "why"), [("hik", "chosen in the settings of the project"), (None, "not been compared")]
)
def test_the_card_tells_why_this_kernel(site, kernel, why):
    project = site.project(NAMES, kernel=kernel)
    project.add(X)
    assert why in project.get("/card")["kernel"]["why"]


def test_the_card_tells_how_the_model_was_made(site):
    project = site.project(NAMES, kernel="auto")
    project.add(X)
    project.label({f"k{i}": NAMES[y] for i, y in enumerate(Y[:30])})
    assert "not been compared" in project.get("/card")["kernel"]["why"]
    for _ in range(2):  # the second has no reason to choose again
        project.wait(project.post("/train", {"tune": True}, 202)["job"])
        card = project.get("/card")
        assert "leave-one-out squared error" in card["kernel"]["why"]
        assert card["kernel"]["why"].startswith(card["kernel"]["name"] + ":")
    model = project.get("/model")
    assert (card["version"], card["hyperparameters"]) == (model["version"], model["hyperparameters"])
    assert card["figures"]["accuracy"] == model["accuracy"]
    assert card["figures"]["estimates"] == model["estimates"]
    assert [channel["weight"] for channel in card["channels"]] == [card["hyperparameters"]["weight[0]"]]
    assert sum(sum(row.values()) for row in card["figures"]["confusion"].values()) == 30
    right = sum(card["figures"]["confusion"][name].get(name, 0) for name in NAMES)
    assert right / 30 == pytest.approx(model["estimates"][0]["value"])
    assert card["annotators"][0]["items"] == 30
    assert (card["training"]["labels"], card["training"]["items"]) == (30, 60)
    assert card["encoder"] is None
    assert card["project"]["settings"]["kernel"] == "auto"
    assert any("drawn at random" in caution for caution in card["cautions"])
    assert card["made_with"]["asknext"]


def test_why_an_item_is_taken_for_its_class(taught, monkeypatch):
    learner = learner_with(LABELS)
    found = taught.get("/why/k40")
    second, best = np.argsort(learner.mean[40])[-2:]
    assert (found["label"], found["against"]) == (NAMES[best], NAMES[second])
    assert found["lead"] == pytest.approx(learner.mean[40, best] - learner.mean[40, second])
    total = sum(part["weight"] for part in found["parts"]) + found["rest"] + found["constant"]
    assert total == pytest.approx(found["lead"])
    weights = [abs(part["weight"]) for part in found["parts"]]
    assert weights == sorted(weights, reverse=True)
    assert {part["column"] for part in found["parts"]} <= set(np.flatnonzero(X[40]).tolist())
    assert found["parts"][0]["name"] == f"column {found['parts'][0]['column']}"
    monkeypatch.setattr(encoder, "column_names", lambda *_: [f"word {i}" for i in range(8)])
    assert taught.get("/why/k40")["parts"][0]["name"] == f"word {found['parts'][0]['column']}"


def test_a_kernel_that_is_no_sum_has_no_parts(site):
    project = site.project(kernel="rbf")
    project.add(X)
    project.label({"k0": "a", "k1": "b"})
    found = project.get("/why/k5")
    assert found["parts"] == []
    assert found["label"] in ("a", "b")


def test_an_export_with_data(taught):
    lines = [json.loads(line) for line in taught.get("/labels?data=true").text.splitlines()]
    assert [line["data"]["text"] for line in lines] == [f"item {i}" for i in range(15)]
    assert "data" not in json.loads(taught.get("/labels").text.splitlines()[0])
    table = taught.get("/labels?format=csv&data=true").text.splitlines()
    assert table[0].startswith("key,text,label,")
    assert table[1].startswith("k0,item 0,")
    taught.get("/labels?data=true&history=true", 422)
