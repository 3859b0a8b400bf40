from datetime import UTC, datetime

import numpy as np
import pytest

from core import OnlineLearner, Settings
from tests.core.data import word_counts

X, Y = word_counts(40, 8, 2)
NAMES = ["a", "b"]


@pytest.fixture
def project(site):
    project = site.project()
    project.add(X)
    return project


def keys(n=40):
    return [f"k{i}" for i in range(n)]


def learner_with(labels, noise_factors=None, classes=NAMES):
    learner = OnlineLearner(Settings(), classes)
    learner.add_items(X)
    for item, name in labels.items():
        learner.label(item, name, noise_factor=(noise_factors or {}).get(item, 1.0))
    return learner


def check(project, labels, noise_factors=None, classes=NAMES):
    """The service's model is that of these labels."""
    assert np.allclose(project.means(keys()), learner_with(labels, noise_factors, classes).mean, atol=1e-9)


def test_each_label_is_learnt_at_once_and_exactly(project):
    first = project.post("/query")
    answer = project.label({"k0": "a", "k1": "b"}, next={"count": 2})
    assert answer["accepted"] == 2
    assert answer["model_version"] > first["model_version"]
    assert len({item["key"] for item in answer["items"]} | {"k0", "k1"}) == 4
    check(project, {0: "a", 1: "b"})
    project.label({"k1": "a"})
    check(project, {0: "a", 1: "a"})
    assert project.delete("/labels/k1")["retracted"] == 1
    check(project, {0: "a"})


def test_the_next_item_comes_with_reasons(project):
    project.label({"k0": "a", "k1": "b"})
    question = project.post("/query", {"strategy": "bald"})["items"][0]
    learner = learner_with({0: "a", 1: "b"})
    item = int(question["key"][1:])
    assert question["strategy"] == "bald"
    assert list(question["mean"].values()) == pytest.approx(learner.mean[item].tolist())
    assert question["variance"] == pytest.approx(learner.variance[item])
    assert datetime.fromisoformat(question["lease"]["expires_at"]) > datetime.now(UTC)
    assert not question["explored"]
    assert project.post("/query", {"explore": 1.0})["items"][0]["explored"]


def test_a_question_is_asked_once(project):
    other = project.as_other()
    held = {item["key"] for item in project.post("/query", {"count": 15})["items"]}
    assert len(held) == 15
    more = {item["key"] for item in other.post("/query", {"count": 40})["items"]}
    assert len(more) == 25
    assert not held & more
    assert project.post("/query")["items"] == []
    resumed = project.post("/query", {"count": 20, "resume": True})["items"]
    assert {item["key"] for item in resumed} == held


def test_leases_are_extended_and_given_back(project):
    item = project.post("/query")["items"][0]
    lease = item["lease"]["id"]
    later = project.post(f"/leases/{lease}")
    assert later["expires_at"] >= item["lease"]["expires_at"]
    other = project.as_other()
    other.post(f"/leases/{lease}", status=404)
    other.delete(f"/leases/{lease}", status=404)
    project.delete(f"/leases/{lease}", status=204)
    project.post(f"/leases/{lease}", status=404)
    assert len(other.post("/query", {"count": 40})["items"]) == 40


def test_an_answer_after_its_lease_is_stored_and_said_to_be_late(project):
    item = project.post("/query")["items"][0]
    project.delete(f"/leases/{item['lease']['id']}", status=204)
    answer = project.answer(item["key"], label="a", lease=item["lease"]["id"])
    assert answer["late"] == [item["key"]]
    assert project.get(f"/items/{item['key']}")["label"] == "a"


def test_what_somebody_skipped_is_asked_again_when_nothing_else_is_left(project):
    ann, bob = project.as_other(), project.as_other()
    ann.label(dict.fromkeys(keys()[3:], "a"))
    for key in keys(3):
        ann.answer(key, action="skip")
    ann.answer("k2", action="unsure")
    empty = ann.post("/query")
    assert (empty["items"], empty["skipped"]["items"]) == ([], 2)
    until = empty["skipped"]["until"]
    assert bob.post("/query")["items"][0]["key"] in ("k0", "k1")  # a skip leaves it to others; now one of them has it
    again = ann.post("/query", {"count": 5, "skipped_until": until})["items"]
    assert [item["key"] in ("k0", "k1") for item in again] == [True]
    ann.answer(again[0]["key"], action="skip")
    assert ann.post("/query", {"skipped_until": until})["items"] == []  # once is enough, until it is wanted again
    assert bob.post("/query", {"count": 5})["skipped"] is None
    ann.post("/query", {"skipped_until": -1}, 422)


def test_an_unknown_label_is_told_in_a_sentence(site):
    project = site.project(classes=[f"c{i}" for i in range(22)])
    project.add(X)
    told = project.label({"k0": "d"}, 422)["detail"]
    assert told == "entry 0: this label is not a class of the project; its classes are: c0, c1, c2 and 19 more"


def test_an_item_tells_whoever_reads_it_their_own_answer(project):
    ann, bob = project.as_other(), project.as_other()
    ann.label({"k0": "a"})
    bob.label({"k0": "b"})
    bob.answer("k1", action="unsure")
    bob.answer("k2", action="skip")

    def own(who, key):
        return who.get(f"/items/{key}")["own"]

    assert (own(ann, "k0"), own(bob, "k0"), own(project, "k0")) == (
        {"kind": "label", "label": "a"},
        {"kind": "label", "label": "b"},
        None,
    )
    assert [own(bob, key) and own(bob, key)["kind"] for key in ("k1", "k2", "k3")] == ["unsure", "skip", None]
    bob.delete("/labels/k0")
    assert own(bob, "k0") is None


def test_skipping_and_not_knowing(project):
    other = project.as_other()
    project.answer("k0", action="skip")
    project.answer("k1", action="unsure")
    mine = {item["key"] for item in project.post("/query", {"count": 40})["items"]}
    assert mine == set(keys()) - {"k0", "k1"}  # I said what I had to say
    theirs = {item["key"] for item in other.post("/query", {"count": 40})["items"]}
    assert theirs == {"k0"}  # what one cannot tell waits for somebody to decide by key
    other.label({"k1": "b"})
    assert project.get("/items/k1")["label"] == "b"


def test_undo_goes_back_step_by_step(project):
    project.post("/undo", status=409)
    project.label({"k0": "a"})
    project.label({"k1": "b"})
    project.label({"k0": "b"})
    project.answer("k2", action="skip")
    assert project.post("/undo")["items"][0]["key"] == "k2"
    assert project.post("/undo")["items"][0]["key"] == "k0"
    check(project, {0: "a", 1: "b"})
    assert project.post("/undo")["items"][0]["key"] == "k1"
    check(project, {0: "a"})
    project.label({"k1": "a"})  # and from here on as usual
    assert project.post("/undo")["items"][0]["key"] == "k1"
    project.post("/undo")
    project.post("/undo", status=409)
    history = project.get("/items/k0")["history"]
    assert [event["kind"] for event in history] == ["label", "relabel", "relabel", "retract"]
    assert history[2]["undoes"] == history[1]["sequence"]


def test_people_differ(site):
    project = site.project(overlap=3)
    project.add(X)
    people = [project, project.as_other(), project.as_other()]
    for person, label in zip(people, "aab", strict=True):
        person.label({"k0": label, "k1": "b"})
    people[0].label({"k2": "a"})
    people[1].label({"k2": "b"})
    check(project, {0: "a", 1: "b", 2: "b"}, {0: 1.5, 2: 2.0})  # of a tie, what was said last
    found = project.get("/agreement")
    assert found["items"] == 3
    assert found["agreement"] == pytest.approx((1 + 3 + 0) / 7)
    assert -1 <= found["alpha"] < 1
    project.patch("", {"settings": {"consensus": "agreed"}})
    check(project, {1: "b"})
    project.patch("", {"settings": {"consensus": "latest"}})
    check(project, {0: "b", 1: "b", 2: "b"}, {0: 3.0, 2: 2.0})
    assert len(project.get("/items/k0")["votes"]) == 3


def test_a_label_of_a_weighted_class_counts_as_so_many_labels(site):
    project = site.project(overlap=2)
    project.add(X)
    project.label({"k0": "a", "k1": "b", "k2": "b", "k3": "a"})
    project.as_other().label({"k2": "a"})
    project.patch("", {"settings": {"class_weights": {"b": 10}}})
    check(project, {0: "a", 1: "b", 2: "a", 3: "a"}, {1: 0.1, 2: 2.0})
    project.label({"k0": "b", "k4": "b"})
    check(project, {0: "b", 1: "b", 2: "a", 3: "a", 4: "b"}, {0: 0.1, 1: 0.1, 2: 2.0, 4: 0.1})
    assert project.patch("/classes/b", {"name": "bee"})["classes"] == ["a", "bee"]
    assert project.get("")["settings"]["class_weights"] == {"bee": 10}
    project.label({"k5": "bee"})
    labels, factors = {0: "bee", 1: "bee", 2: "a", 3: "a", 4: "bee", 5: "bee"}, {0: 0.1, 1: 0.1, 2: 2.0, 4: 0.1, 5: 0.1}
    check(project, labels, factors, classes=["a", "bee"])
    project.post("/classes/bee/merge", {"into": "a"})
    assert project.get("")["settings"]["class_weights"] == {}
    answer = project.patch("", {"settings": {"class_weights": {"bee": 2}}}, 422)
    assert "class_weights names 'bee', which is no class of the project; its classes are 'a'" in answer["detail"]
    project.patch("", {"settings": {"class_weights": {"a": 0}}}, 422)


def test_overlap_gives_an_item_to_several_people_but_not_twice_to_one(site):
    project = site.project(overlap=2)
    project.add(X[:3])
    other, third = project.as_other(), project.as_other()
    item = project.post("/query")["items"][0]["key"]
    project.label({item: "a"})
    assert other.post("/query")["items"][0]["key"] == item  # what was begun comes first
    assert item not in {entry["key"] for entry in third.post("/query", {"count": 3})["items"]}
    assert item not in {entry["key"] for entry in project.post("/query", {"count": 3})["items"]}


def test_administrators_may_withdraw_what_others_said(project):
    other, third = project.as_other(), project.as_other()
    other.label({"k0": "a"})
    third.label({"k0": "a"})
    third.delete("/labels/k1", status=404)
    assert third.delete("/labels/k0")["retracted"] == 1
    assert project.delete("/labels/k0")["retracted"] == 1
    other.delete("/labels/k0", status=404)
    check(project, {})


def test_bad_answers_lose_nothing(project):
    project.label({"k0": "a"})
    for entries, status in [
        ([{"key": "k1", "label": "a"}, {"key": "nobody", "label": "a"}], 404),
        ([{"key": "k1", "label": "a"}, {"key": "k2", "label": "c"}], 422),
        ([{"key": "k1", "action": "retract"}], 409),
        ([{"key": "k1"}], 422),
        ([{"key": "k1", "label": "a", "action": "skip"}], 422),
        ([{"key": "k1", "action": "comment"}], 422),
        ([], 422),
    ]:
        problem = project.post("/labels", {"labels": entries}, status)
        assert problem["status"] == status
        assert problem["id"]
    check(project, {0: "a"})
    assert project.get("/items/k1")["history"] == []


def test_comments_are_kept_and_change_nothing(project):
    project.answer("k0", action="comment", note="odd")
    history = project.get("/items/k0")["history"]
    assert [(event["kind"], event["note"]) for event in history] == [("comment", "odd")]
    assert len(project.post("/query", {"count": 40})["items"]) == 40


def test_new_classes_only_where_they_are_wanted(site):
    project = site.project(classes=[], open_classes=True)
    project.add(X)
    project.label({"k0": "x"})
    project.label({"k1": "y"})
    assert project.get("")["classes"] == ["x", "y"]
    check(project, {0: "x", 1: "y"}, classes=["x", "y"])


def test_questions_by_data(site):
    project = site.project()
    project.add(X, data={f"k{i}": {"place": ["home", "work"][i % 2], "n": i, "new": i < 5} for i in range(40)})
    found = project.post("/query", {"count": 40, "filter": {"place": "work", "new": True}})
    assert {item["key"] for item in found["items"]} == {"k1", "k3"}
    assert project.post("/query", {"filter": {"n": 7}})["items"][0]["data"]["n"] == 7
    assert project.post("/query", {"filter": {"place": "moon"}})["items"] == []


def test_the_export_is_what_people_said(project):
    other = project.as_other(name="=cmd()")
    project.label({"k1": "a", "k0": "b"})
    other.label({"k0": "b"})
    lines = project.get("/labels").text.splitlines()
    assert len(lines) == 2
    assert '"key":"k0","label":"b"' in lines[0]
    table = project.get("/labels?format=csv&history=true").text.splitlines()
    assert len(table) == 4
    assert "'=cmd()" in table[-1]  # no formula for a spreadsheet


def test_a_repeat_is_answered_with_the_first_answer(project):
    header = {"Idempotency-Key": "once"}
    body = {"labels": [{"key": "k0", "label": "a"}], "next": {"count": 1}}
    first = project.post("/labels", body, 201, headers=header)
    project.label({"k1": "b"})
    assert project.post("/labels", body, 201, headers=header) == first
    other = body | {"labels": [{"key": "k0", "label": "b"}]}
    project.post("/labels", other, 422, headers=header)
    assert project.post("/labels", body | {"idempotency_key": "once"}, 201) == first
    assert len(project.get("/items/k0")["history"]) == 1


def test_an_undo_that_is_repeated_is_done_once(project):
    project.label({"k0": "a"})
    project.label({"k1": "b"})
    header = {"Idempotency-Key": "back"}
    first = project.post("/undo", headers=header)
    assert first["items"][0]["key"] == "k1"
    assert project.post("/undo", headers=header) == first
    check(project, {0: "a"})
    project.post("/labels", {"labels": [{"key": "k0", "label": "b"}]}, 422, headers=header)
