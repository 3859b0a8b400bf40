"""Projects that leave the likelihood to the service, as they do by default."""

from app.services.project.settings import ProjectSettings
from tests.app.test_forest import train
from tests.core.selection.test_likelihood import drawn

X, Y, _ = drawn(260)
LABELS = [f"class {number}" for number in Y]


def labels(first, last):
    return {f"k{i}": LABELS[i] for i in range(first, last)}


def test_it_is_compared_and_says_why(site):
    project = site.project(sorted(set(LABELS)), kernel="linear")
    assert project.get("")["settings"]["likelihood"] == "auto"
    project.add(X)
    project.label(labels(0, 40))
    assert "likelihood_choice" not in train(project)
    assert project.get("/model")["likelihood"] == "gaussian: it is compared with softmax from 50 labels on"
    project.label(labels(40, 200))
    told = train(project)["likelihood_choice"]
    assert told.startswith("softmax: log loss of later labels 0.")
    assert project.get("/model")["likelihood"] == told
    assert project.get("/model")["solver"] == "softmax"
    assert "likelihood_choice" not in train(project)  # labels have not doubled
    assert project.get("/model")["likelihood"] == "softmax"
    assert project.get("/card")["likelihood"] == {"name": "softmax", "why": told}
    project.label(labels(200, 203))
    project.delete("/labels/k1")
    assert project.get("/model")["labelled"] == 202
    project.patch("", {"settings": {"likelihood": "gaussian"}})
    train(project)
    assert project.get("/card")["likelihood"]["why"] == "it is chosen in the settings of the project"
    assert project.get("/model")["solver"] == "dual"


def test_what_belongs_to_label_regression_leaves_no_choice(site):
    project = site.project(sorted(set(LABELS)), kernel="linear", balance=True)
    project.add(X)
    project.label(labels(0, 120))
    assert "likelihood_choice" not in train(project)
    note = "gaussian: balanced classes and forests have label regression alone"
    assert project.get("/model")["likelihood"] == note
    assert project.get("/card")["likelihood"] == {"name": "gaussian", "why": note}


def test_projects_from_before_there_was_a_choice_keep_theirs():
    assert ProjectSettings.stored({"kernel": "hik"}).likelihood == "gaussian"
    assert ProjectSettings.stored({"likelihood": "auto"}).likelihood == "auto"
    assert ProjectSettings().likelihood == "auto"
