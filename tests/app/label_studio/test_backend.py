"""What Label Studio sees of AskNext, by messages as they were recorded."""

import pytest

from tests.app.label_studio import wire
from tests.app.label_studio.conftest import reviews


def test_health_setup_and_versions(backend):
    one = backend()
    assert one.call("GET", "health") == {"status": "UP", "model_class": "AskNext"}
    version = one.setup()["model_version"]
    assert version.startswith("asknext-")
    one.until(lambda _: one.project.get("")["classes"] == ["Positive", "Negative"])
    assert one.setup()["model_version"] in one.call("GET", "versions")["versions"]


def test_a_wrong_secret_opens_nothing(backend):
    one = backend()
    old = one.path
    one.path = one.path[:-1] + ("a" if one.path[-1] != "a" else "b")
    assert "address" in one.call("GET", "health", status=401)["detail"]
    one.path = one.project.post("/label-studio", {}, 201)["path"]
    assert one.call("GET", "health")["status"] == "UP"
    one.path = old
    one.call("GET", "health", status=401)
    one.project.delete("/label-studio", 204)
    assert one.project.get("/label-studio") == {"link": None}
    one.project.delete("/label-studio", 404)


def test_a_deleted_project_has_no_backend(backend):
    one = backend()
    one.project.delete("", 204)
    assert one.call("GET", "health", status=401)["status"] == 401


@pytest.mark.parametrize(
    ("schema", "settings", "why"),
    [
        (wire.config(choice="multiple"), {}, "one class"),
        (wire.config(classes=["Positive", "Neutral"]), {"classes": ("Positive", "Negative")}, "are not classes"),
        (wire.config(wire.IMAGE), {}, "kind text"),
        (wire.config('<Audio name="a" value="$url"/>'), {}, "features"),
    ],
)
def test_a_label_config_that_cannot_be_served_is_refused_with_a_reason(backend, schema, settings, why):
    one = backend(**settings)
    assert why in one.setup(schema, status=422)["detail"]
    assert why in one.shown()["problem"]


def test_another_project_of_label_studio_is_refused(ready):
    assert "project 12" in ready.setup(project=13, status=409)["detail"]
    body = wire.event(
        "ANNOTATION_CREATED", ready.schema, 13, annotation=wire.annotation(1, ready.tasks[0], ["Positive"])
    )
    assert ready.call("POST", "webhook", body, 201)["status"] == "another project's"


def test_texts_become_items_and_predictions_come_in_the_order_of_tasks(encoded):
    assert [entry["result"] for entry in encoded.predict(encoded.tasks[:3])] == [[], [], []]
    for number, task in enumerate(encoded.tasks[:8]):
        encoded.annotate(task, number + 1, [["Positive", "Negative"][number % 2]])
    found = encoded.predict(encoded.tasks[8:])
    assert [entry["result"][0]["value"]["choices"][0] for entry in found] == ["Positive", "Negative"] * 8
    value = {"choices": ["Positive"]}
    assert found[0]["result"] == [{"from_name": "label", "to_name": "text", "type": "choices", "value": value}]
    assert all(0.5 <= entry["score"] <= 1 for entry in found)
    item = encoded.project.get("/items/task-3")
    assert (item["label"], item["data"]) == ("Positive", encoded.tasks[2]["data"])
    (late,) = reviews(1, first=500)  # encoded at once
    assert encoded.predict([late])[0]["result"][0]["value"] == value
    encoded.annotate(late, 500, ["Positive"])
    assert encoded.votes("task-500") == {"Label Studio user 1": "Positive"}
    flat = encoded.project.post("/predict-one", {"text": "great lovely warm"})
    assert flat["label"] == "Positive"
    assert 0.5 < flat["score"] <= 1


def test_a_few_tasks_wait_for_more_to_learn_an_encoder_from(backend):
    one = backend()
    one.setup()
    tasks = reviews(25)
    one.call(
        "POST",
        "webhook",
        wire.event(
            "ANNOTATION_CREATED", one.schema, annotation=wire.annotation(1, tasks[0], ["Positive"]), task=tasks[0]
        ),
        201,
    )
    assert one.predict(tasks[:2]) == [{"result": [], "score": 1.0, "model_version": one.setup()["model_version"]}] * 2
    assert (one.shown()["waiting_tasks"], one.shown()["waiting_annotations"]) == (2, 1)
    one.event("TASKS_CREATED", tasks=tasks)
    assert one.votes("task-1") == {"Label Studio user 1": "Positive"}


def test_updates_skips_empty_results_and_deletes(ready):
    task = ready.tasks[0]
    ready.annotate(task, 5, ["Positive"])
    ready.annotate(task, 5, ["Positive"])
    ready.annotate(task, 5, ["Negative"], "ANNOTATION_UPDATED", second=1)
    ready.annotate(task, 5, ["Positive"], second=0)  # late
    assert ready.votes("task-1") == {"Label Studio user 1": "Negative"}
    assert ready.kinds("task-1") == ["label", "relabel"]
    ready.annotate(task, 5, [], "ANNOTATION_UPDATED", second=2)
    assert ready.kinds("task-1") == ["label", "relabel", "retract"]
    ready.annotate(task, 6, ["Positive"], second=3, was_cancelled=True)
    assert ready.kinds("task-1")[3:] == ["skip"]
    ready.annotate(task, 7, ["Positive"], second=4)
    assert ready.votes("task-1") == {"Label Studio user 1": "Positive"}
    ready.event("ANNOTATIONS_DELETED", annotations=[{"id": 7}, {"id": 999}])
    assert ready.votes("task-1") == {}
    ready.annotate(task, 7, ["Positive"], second=4)  # a repeat of what is gone
    assert ready.kinds("task-1")[3:] == ["skip", "label", "skip"]


def test_two_people_and_two_annotations_of_one(ready):
    task = ready.tasks[0]
    ready.annotate(task, 1, ["Positive"])
    ready.annotate(task, 2, ["Negative"], user={"id": 2, "email": "bob@example.com"}, second=1)
    ready.annotate(task, 3, ["Negative"], second=2)
    assert ready.votes("task-1") == {"Label Studio user 1": "Negative", "Label Studio user 2": "Negative"}
    ready.event("ANNOTATIONS_DELETED", annotations=[{"id": 3}])
    assert ready.votes("task-1") == {"Label Studio user 1": "Positive", "Label Studio user 2": "Negative"}


def test_bulk_lists_and_unknown_actions(ready):
    tasks = ready.tasks[:3]
    said = [wire.annotation(i + 1, task, ["Positive"]) for i, task in enumerate(tasks)]
    ready.event("ANNOTATIONS_CREATED", annotation=said, task=tasks)
    assert [ready.votes(f"task-{n}") for n in (1, 2, 3)] == [{"Label Studio user 1": "Positive"}] * 3
    assert ready.event("LABEL_LINK_CREATED", label_link={})["status"] == "nothing to do"
    assert ready.event("PROJECT_UPDATED")["status"] == "nothing to do"
    ready.event("TASKS_DELETED", tasks=[{"id": 1}])
    assert ready.shown()["tasks"] == 23
    assert ready.votes("task-1") == {"Label Studio user 1": "Positive"}
    assert ready.predict(tasks[:1])  # a task that comes again is the item that it was
    assert ready.shown()["tasks"] == 24


def test_a_choice_that_is_no_class_waits_for_it(ready):
    ready.annotate(ready.tasks[0], 1, ["Neutral"])
    assert ready.shown()["refused_annotations"] == 1
    assert ready.votes("task-1") == {}


def test_training_is_begun(ready):
    job = ready.event("START_TRAINING")["job"]
    assert ready.project.wait(job)["kind"] == "train"


def test_items_with_features_are_found_by_their_keys(backend):
    one = backend(wire.config('<Audio name="audio" value="$url"/>'), encoder="none", classes=("Positive", "Negative"))
    one.project.add([[1.0, 0.1], [0.1, 1.0], [0.9, 0.2]])
    one.setup()
    tasks = [wire.task(i + 1, url="x.wav", key=f"k{i}") for i in range(3)]
    for number, label in enumerate(["Positive", "Negative"]):
        said = wire.annotation(number + 1, tasks[number], [label])
        one.event("ANNOTATION_CREATED", annotation=said, task=tasks[number])
    (entry,) = one.predict(tasks[2:])
    assert entry["result"][0] == {
        "from_name": "label",
        "to_name": "audio",
        "type": "choices",
        "value": {"choices": ["Positive"]},
    }
    unknown = wire.task(9, url="y.wav")
    assert one.predict([unknown])[0]["score"] == 1.0
    assert "no item with the key" in one.shown()["broken"][0]["reason"]


def test_labels_of_the_page_and_of_label_studio_stand_side_by_side(ready):
    ready.project.label({"task-1": "Negative"})
    ready.annotate(ready.tasks[0], 1, ["Positive"])
    assert ready.votes("task-1") == {"admin": "Negative", "Label Studio user 1": "Positive"}


def test_one_prediction_in_the_flattest_form(ready):
    for number, task in enumerate(ready.tasks[:6]):
        ready.annotate(task, number + 1, [["Positive", "Negative"][number % 2]])
    found = ready.project.post("/predict-one", {"features": [1.0, 0.1]})
    assert found["label"] == "Positive"
    assert 0.5 < found["score"] <= 1
    ready.project.post("/predict-one", {"text": "a", "features": [1, 2]}, 422)
