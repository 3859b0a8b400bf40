"""How good the model is, as the service tells it: from items drawn at random, and to whom."""

import numpy as np
import pytest

from app.services.labelling.questions import _random_share
from app.services.project.state import Project
from core.insight.accuracy import ENOUGH, Draws, judge
from core.insight.track_record import Draw
from tests.core.data import word_counts

X, Y = word_counts(400, 8, 2)
NAMES = ["ham", "spam"]


@pytest.fixture
def project(site):
    project = site.project(NAMES, explore=1.0)
    project.add(X)
    project.label({"k0": NAMES[Y[0]], "k1": NAMES[Y[1]], "k2": NAMES[Y[2]]})
    return project


def answer(project, count, name=lambda item: NAMES[Y[item]], **ask):
    """Ask and answer; the items, and whether each had been predicted."""
    said = []
    for _ in range(count):
        (question,) = project.post("/query", ask)["items"]
        guess = max(question["mean"], key=question["mean"].get)
        item = int(question["key"][1:])
        project.label({question["key"]: name(item)})
        said.append((item, guess == name(item)))
    return said


def test_what_was_seen_and_what_follows(project):
    assert project.get("/model")["accuracy"]["sentence"].startswith("Items drawn at random that the model was right on")
    said = answer(project, ENOUGH - 1)
    early = project.get("/model")["accuracy"]
    assert (early["drawn"], early["value"], early["stop"]) == (ENOUGH - 1, None, False)
    assert early["advice"] == "Keep labelling: it is too early to tell how good the model is. The target is 95 %."
    said += answer(project, 3)
    found = project.get("/model")["accuracy"]
    right = sum(hit for _, hit in said)
    assert (found["drawn"], found["right"], found["target"]) == (len(said), right, 0.95)
    draws = Draws.of({i: Draw(int(hit), 3 + i, 400) for i, (_, hit) in enumerate(said)}, np.arange(15), 400)
    stated = 1.0 - next(one["value"] for one in project.get("/insights")["estimates"] if "pool" in one["name"])
    expected = judge(draws, 15, stated, 0.95)
    assert found["value"] == pytest.approx(right / len(said))
    assert found["low"] == pytest.approx(expected.low, abs=1e-6)
    assert found["expected"] == pytest.approx(expected.expected, abs=0.01)  # stated is of the unlabelled alone
    assert f"On {len(said)} items drawn at random the model was right on {right} (" in found["sentence"]
    assert f"{100 * right // len(said)} %, at least {int(100 * expected.low)} %)" in found["sentence"]
    assert project.get("/insights")["accuracy"] == found == project.get("/card")["figures"]["accuracy"]


def test_the_advice_to_stop_depends_on_the_target(project):
    answer(project, 45)
    project.patch("", {"settings": {"target_accuracy": 0.6}})
    easy = project.get("/model")["accuracy"]
    assert easy["stop"]
    assert easy["advice"].startswith("You can stop: ")
    assert "at least the 60 % that are the target (9" in easy["advice"]
    project.patch("", {"settings": {"target_accuracy": 0.999}})
    hard = project.get("/model")["accuracy"]
    assert not hard["stop"]
    assert hard["advice"].startswith("Keep labelling: ")
    assert {name: hard[name] for name in ("low", "expected", "right")} == {
        name: easy[name] for name in ("low", "expected", "right")
    }
    assert easy["sure"] > hard["sure"]
    project.patch("", {"settings": {"target_accuracy": 0.3}}, 422)


def test_only_leads_see_how_hard_the_labels_were(project):
    answer(project, 25)
    assert project.get("/model")["estimates"][0]["name"] == "leave-one-out accuracy"
    assert project.get("/card")["figures"]["confusion"]
    for role in ("annotator", "reader"):
        person = project.as_other(role)
        card = person.get("/card")["figures"]
        for estimates in (person.get("/model")["estimates"], person.get("/insights")["estimates"], card["estimates"]):
            assert [one["name"] for one in estimates] == ["stability of predictions", "mean pool uncertainty"]
        assert card["confusion"] == {}
        assert card["accuracy"] == project.get("/model")["accuracy"] == person.get("/model")["accuracy"]


def test_what_counts_is_the_label_of_today(project):
    said = answer(project, 12)
    before = project.get("/model")["accuracy"]["right"]
    item, was_right = said[4]
    project.label({f"k{item}": NAMES[1 - Y[item]]})
    assert project.get("/model")["accuracy"]["right"] == before + (-1 if was_right else 1)
    project.answer(f"k{item}", action="retract")
    assert project.get("/model")["accuracy"]["drawn"] == 11


def test_items_drawn_from_some_do_not_count(site):
    project = site.project(NAMES, explore=1.0)
    project.add(X, data={f"k{i}": {"part": i % 2} for i in range(400)})
    project.label({"k0": NAMES[Y[0]], "k1": NAMES[Y[1]], "k2": NAMES[Y[2]]})
    answer(project, 5, filter={"part": 1})
    assert project.get("/model")["accuracy"]["drawn"] == 0
    answer(project, 2)
    assert project.get("/model")["accuracy"]["drawn"] == 2


def test_items_that_came_later_weigh_more(site):
    project = site.project(NAMES, explore=1.0)
    project.add(X[:100])
    project.label({"k0": NAMES[Y[0]], "k1": NAMES[Y[1]], "k2": NAMES[Y[2]]})
    said = answer(project, 15)
    low = project.get("/model")["accuracy"]["low"]
    project.add(X[100:], first=100)
    after = project.get("/model")["accuracy"]
    assert after["low"] < 0.4 * low  # 82 of the 382 items without a label could be drawn
    sizes = [100] * 15
    while not any(item >= 100 for item, _ in said):
        said += answer(project, 1)
        sizes.append(400)
    draws = Draws.of(
        {item: Draw(int(hit), 3 + k, sizes[k]) for k, (item, hit) in enumerate(said)}, np.arange(3 + len(said)), 400
    )
    assert np.ptp(draws.weights) > 0.0
    assert project.get("/model")["accuracy"]["value"] == pytest.approx(draws.accuracy)


def test_searches_and_projects_without_draws_have_words_of_their_own(site):
    project = site.project(NAMES, goal="find", wanted="spam")
    project.add(X)
    assert project.get("/model")["accuracy"] is None
    project = site.project(NAMES)
    assert project.get("/model")["accuracy"] is None  # no items
    project.add(X[:20])
    project.label({f"k{i}": NAMES[Y[i]] for i in range(19)})
    assert "Random share is 0" in project.get("/model")["accuracy"]["advice"]
    project.label({"k19": NAMES[Y[19]]})
    assert project.get("/model")["accuracy"]["advice"] == "Done: all items are labelled."


def test_by_default_a_fifth_of_the_first_items_is_drawn(site):
    project = site.project(NAMES, explore="auto")
    project.add(X)
    drawn = 0
    for _ in range(100):
        (question,) = project.post("/query")["items"]
        again = project.post("/query", {"resume": True})["items"][0]  # a repeat asks for the same
        assert again["key"] == question["key"]
        drawn += question["explored"]
        project.label({question["key"]: "ham" if len(question["key"]) % 2 else "spam"})
    assert 8 <= drawn <= 60  # more than a fifth where the target may be met
    assert project.get("/model")["accuracy"]["drawn"] > 0
    project.patch("", {"settings": {"explore": "often"}}, 422)


def test_what_is_drawn_depends_on_the_log_alone(site):
    project = site.project(NAMES, explore="auto")
    project.add(X[:200])
    said = answer(project, 40)
    project.add(X[200:], first=200)
    said += answer(project, 5)
    project.label({f"k{said[0][0]}": NAMES[1 - Y[said[0][0]]]})
    project.answer(f"k{said[7][0]}", action="retract")
    live = site.service.in_memory(project.path.rsplit("/", 1)[1]).project
    read = Project(live.database, live.id, live.arrays)
    read.reload()
    assert list(read.draws().items()) == list(live.draws().items())
    assert {draw.items for draw in live.draws().values()} <= {200, 400}
    assert list(live.draws(3).items()) == list(live.draws().items())[-3:]
    assert _random_share(read) == _random_share(live)
