"""Projects that are to find all items of one class, over HTTP."""

import numpy as np
import pytest

from core.insight.finding import Search
from tests.app.live import eventually
from tests.app.raw.files import as_csv, imported

RELEVANT = np.arange(200) % 20 == 3
X = np.where(RELEVANT[:, None], [4, 4, 0, 0, 1, 1], [0, 0, 4, 4, 1, 1]) + np.random.default_rng(0).random((200, 6))
FIND = {"goal": "find", "wanted": "relevant"}


def truth(key):
    return "relevant" if RELEVANT[int(key[1:])] else "other"


@pytest.fixture
def project(site):
    project = site.project(["relevant", "other"], **FIND, patience=8, target_recall=0.9)
    project.add(X)
    return project


def next_item(project, **more):
    (item,) = project.post("/query", {"count": 1} | more)["items"]
    return item


def search(project, labels):
    """Answer questions; the strategies that asked them."""
    asked = []
    for _ in range(labels):
        item = next_item(project)
        project.label({item["key"]: truth(item["key"])})
        asked.append((item["key"], item["strategy"]))
    return asked


def test_the_most_probable_items_come_first(project):
    project.label({"k3": "relevant", "k0": "other"})
    assert project.get("/search")["expected_left"] is None  # too few labels to tell
    found = [truth(key) for key, _ in search(project, 9)]
    assert found == ["relevant"] * 9
    progress = project.get("/search")
    assert (progress["wanted"], progress["found"], progress["labelled"], progress["left"]) == ("relevant", 10, 11, 189)
    assert progress["curve"][-1] == {"labels": 11, "found": 10}
    assert not progress["stop"]
    assert progress["sentence"] == "Keep labelling: 10 found. The most likely items come first."
    project.patch("", {"settings": {"search": "likely"}})
    search(project, 40)
    progress = project.get("/search")
    assert progress["expected_left"] < 5
    assert "10 found, and the model expects about" in progress["sentence"]


def test_a_search_that_has_run_dry_draws_at_random_until_it_is_safe_to_stop(project):
    project.label({"k3": "relevant", "k0": "other"})
    asked = search(project, 9 + 8)
    assert {strategy for _, strategy in asked} == {"likely"}
    progress = project.get("/search")
    assert (progress["sampling"], progress["drawn"], progress["idle"]) == (True, 0, 8)
    needed = progress["draws_needed"]
    assert f"If none of the next {needed} items drawn at random is wanted, you can stop." in progress["sentence"]
    asked = search(project, needed - 1)
    assert {strategy for _, strategy in asked} == {"sample"}
    assert not project.get("/search")["stop"]
    search(project, 1)
    progress = project.get("/search")
    assert progress["stop"]
    assert progress["drawn"] == needed
    assert (
        progress["sentence"] == "You can stop: 10 found, which are at least 90 % of all there are; that is 95 % sure."
    )
    # The same, told from the labels alone.
    wanted = np.array([True, False] + [True] * 9 + [False] * (8 + needed))
    same = Search(wanted, np.arange(len(wanted)) >= 19, 200)
    assert progress["lowest_recall"] == pytest.approx(same.lowest_recall(0.05))


def test_a_find_in_the_sample_goes_back_to_the_search(project):
    project.patch("", {"settings": {"search": "random"}})
    project.label({"k0": "other", "k3": "relevant"})
    item = next_item(project)
    assert item["strategy"] == "sample"
    project.patch("", {"settings": {"search": "auto"}})
    search(project, 9 + 8)
    item = next_item(project)
    assert item["strategy"] == "sample"
    project.label({item["key"]: "relevant"})  # which nobody expected
    progress = project.get("/search")
    assert (progress["sampling"], progress["idle"]) == (False, 0)
    assert next_item(project)["strategy"] == "likely"


def test_a_sample_counts_up_to_the_first_item_that_nobody_has_answered(project):
    project.patch("", {"settings": {"search": "random"}})
    slow, quick = project.as_other(), project.as_other()
    first, second = next_item(slow), next_item(quick)
    quick.label({second["key"]: truth(second["key"])})
    assert project.get("/search")["drawn"] == 0
    slow.label({first["key"]: truth(first["key"])})
    assert project.get("/search")["drawn"] == 2


def test_new_items_begin_a_new_search(project):
    project.patch("", {"settings": {"search": "random"}})
    search(project, 5)
    project.label({next_item(project)["key"]: "other"})
    progress = project.get("/search")
    assert progress["drawn"] == 6
    assert progress["idle"] > 0
    project.add(X[:10] + 0.01, first=200)
    progress = project.get("/search")
    assert (progress["drawn"], progress["idle"]) == (0, 0)


def test_labels_that_nobody_was_asked_for_do_not_show_that_a_search_has_run_dry(project):
    """As of a file that is half screened."""
    project.label({"k3": "relevant"} | {f"k{i}": "other" for i in range(4, 20)})
    progress = project.get("/search")
    assert (progress["sampling"], progress["idle"]) == (False, 0)
    item = next_item(project)
    assert item["strategy"] == "likely"
    project.patch("", {"settings": {"patience": 1}})
    project.label({item["key"]: "other"})
    assert project.get("/search")["idle"] == 1
    assert next_item(project)["strategy"] == "sample"


def test_the_search_is_the_same_after_a_restart(project):
    project.label({"k3": "relevant", "k0": "other"})
    search(project, 25)
    before, means = project.get("/search"), project.means(["k7", "k9"])
    project.service.forget(project.path.rsplit("/", 1)[1])
    after = eventually(lambda: project.get("/search"), lambda found: found["labelled"] == before["labelled"])
    assert after == before
    assert np.allclose(project.means(["k7", "k9"]), means)


def test_texts_of_a_search_are_words_and_pairs_under_a_smooth_model_that_is_not_tuned(site):
    texts = [("", f"{'rain fell on' if number % 3 else 'sun shone in'} town {number % 7}") for number in range(30)]
    options = {"encoder_options": {"model": None}, "kernel": None, "encoder": "text"}
    project = site.project(["relevant", "other"], **FIND, **options)
    imported(project, as_csv(texts))
    assert [channel["name"] for channel in project.get("")["encoder"]["channels"]] == ["words", "pairs"]
    project.label({"t0": "relevant", "t1": "other"})
    values = project.get("/model")["hyperparameters"]
    assert (values["noise"], values["bias"]) == (100.0, 2.0)  # of two channels
    assert next_item(project)["key"] in {f"t{number}" for number in range(3, 30, 3)}
    options["encoder_options"] |= {"pairs": 0}
    own = site.project(["relevant", "other"], **FIND, **options, noise=3.0)
    imported(own, as_csv(texts))
    own.label({"t0": "relevant", "t1": "other"})
    values = own.get("/model")["hyperparameters"]
    assert (values["noise"], values["bias"]) == (3.0, 1.0)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"goal": "find"}, "wanted: the goal find needs the name of the class"),
        (
            {"goal": "find", "wanted": "relevnt"},
            "there is no class of this name to be found; there are 'relevant', 'other'",
        ),
        ({"strategy": "likely"}, "likely needs the goal find"),
    ],
)
def test_what_does_not_fit_is_said(site, settings, says):
    body = {"name": "p", "classes": ["relevant", "other"], "settings": settings}
    assert says in site.post("/v1/projects", body, 422)["detail"]
    project = site.project(["relevant", "other"])
    assert says in project.patch("", {"settings": settings}, 422)["detail"]


def test_without_a_class_to_be_found_there_is_no_search(site):
    project = site.project(["relevant", "other"])
    project.add(X[:10])
    assert "set the goal find" in project.get("/search", 409)["detail"]
    assert "likely needs a project with the goal find" in project.post("/query", {"strategy": "likely"}, 422)["detail"]
    assert project.post("/query", {"count": 1})["degraded"] is False


def test_the_wanted_class_follows_its_name_and_cannot_be_merged_away(project):
    project.label({"k3": "relevant", "k0": "other"})
    project.patch("/classes/relevant", {"name": "included"})
    assert project.get("")["settings"]["wanted"] == "included"
    assert project.get("/search")["found"] == 1
    assert "is to be found" in project.post("/classes/included/merge", {"into": "other"}, 409)["detail"]
    item = next_item(project)
    assert item["strategy"] == "likely"


def test_wanted_labels_weigh_more_and_all_of_them_alike(project):
    project.label({"k3": "relevant", "k0": "other"})
    search(project, 30)
    labelling = project.service.running(project.path.rsplit("/", 1)[1]).project.learner.labelling()
    factors = {"relevant": set(), "other": set()}
    for item, name in labelling.labels.items():
        factors[name].add(labelling.noise_factors[item])
    found = sum(name == "relevant" for name in labelling.labels.values())
    assert factors["other"] == {1.0}
    assert factors["relevant"] == {4.0 ** -round(np.log(100 * (32 - found) / found) / np.log(4))}


def test_labels_of_what_becomes_a_kind_of_the_wanted_class_weigh_as_much(site):
    project = site.project(["relevant", "other", "trial"], likelihood="softmax", **FIND)
    project.add(X[:40])
    project.label({"k3": "relevant", "k23": "trial"} | dict.fromkeys(("k0", "k1", "k2"), "other"))
    project.patch("/classes/trial", {"parent": "relevant"})
    labelling = project.service.running(project.path.rsplit("/", 1)[1]).project.learner.labelling()
    assert labelling.noise_factors[23] == labelling.noise_factors[3] < 1.0


def test_the_client_knows_the_search(project):
    from app.client import Client

    with Client(str(project.http.base_url), project.key) as client:
        assert client.search(project.path.rsplit("/", 1)[1])["found"] == 0
