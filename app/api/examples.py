"""An example of every answer, for the OpenAPI document."""

from typing import Any

from fastapi import FastAPI

from app.services.project.settings import ProjectSettings

ID = "18e86f4314fc0ffc704fabdc3283853e"
LEASE = {"id": "18e86f433145e12c92d4858371fa3f71", "expires_at": "2026-11-16T05:36:25.900000Z"}
PROJECT = {
    "id": ID,
    "name": "pets",
    "classes": ["cat", "dog"],
    "parents": {},
    "settings": ProjectSettings(encoder="auto").model_dump(),
    "encoder": {
        "kind": "text",
        "why": "the column text holds texts",
        "channels": [{"name": "words", "columns": 3000}, {"name": "characters", "columns": 3000}],
        "description": {"options": {"sublinear": True}, "columns": 6000},
    },
    "created_at": "2026-11-16T05:26:25.400000Z",
}
QUESTION = {
    "key": "b.png",
    "data": {"text": "b"},
    "score": 0.12,
    "strategy": "unc",
    "explored": False,
    "mean": {"cat": 0.06, "dog": -0.06},
    "variance": 0.21,
    "novelty": 0.19,
    "unlike": False,
    "lease": LEASE,
}
QUESTIONS = {"model_version": 42, "degraded": False, "items": [QUESTION], "skipped": None}
ITEM = {
    "key": "a.png",
    "data": {"text": "a"},
    "label": "cat",
    "votes": [{"annotator": "ann", "label": "cat"}],
    "unsure": False,
}
EVENT = {
    "kind": "label",
    "annotator": "ann",
    "label": "cat",
    "predicted": "dog",
    "note": None,
    "undoes": None,
    "sequence": 7,
    "created_at": "2026-11-16T05:26:30.100000Z",
}
JOB = {
    "id": ID,
    "kind": "import",
    "state": "running",
    "done": 1048576,
    "total": 4194304,
    "message": "500 items read",
    "result": None,
    "created_at": "2026-11-16T05:26:25.400000Z",
    "finished_at": None,
}
ACCURACY = {
    "target": 0.95,
    "drawn": 40,
    "right": 39,
    "value": 0.975,
    "low": 0.86,
    "expected": 0.96,
    "expected_more": 0.97,
    "more": 50,
    "sure": 0.81,
    "stop": False,
    "sentence": "On 40 items drawn at random the model was right on 39 (97 %, at least 86 %).",
    "advice": "Keep labelling: of the items without a label the model gets about 96 % right, but it takes more labels "
    "to be sure of the target of 95 %; after 50 more it would be about 97 %.",
}
ESTIMATE = {
    "name": "mean pool uncertainty",
    "value": 0.07,
    "low": None,
    "high": None,
    "meaning": "the model itself expects to be wrong on this share of the items",
}
KEY = {
    "id": ID,
    "name": "ann",
    "role": "annotator",
    "project": None,
    "created_at": "2026-11-16T05:26:25.400000Z",
    "revoked_at": None,
}

LINK = {
    "address": "http://labels.example:8080",
    "remote_project": 12,
    "pushes": True,
    "top": 20,
    "classes": ["Positive", "Negative"],
    "pushed_version": "asknext-42",
    "pushed_at": "2026-11-16T05:26:30.100000Z",
    "synced_at": "2026-11-16T05:26:25.400000Z",
    "problem": None,
    "tasks": 1000,
    "waiting_tasks": 0,
    "broken_tasks": 1,
    "broken": [{"task": 31, "reason": "the task has no text in its field text"}],
    "annotations": 30,
    "waiting_annotations": 0,
    "refused_annotations": 0,
    "created_at": "2026-11-16T05:26:25.400000Z",
}
TASK_RESULT = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["Positive"]}}

CURVE_POINT = {"labels": 400, "accuracy": 0.9, "low": 0.68, "high": 0.99, "judged": 20}
CLASS_COUNTS = {"cat": {"labelled": 16, "predicted": 500}, "dog": {"labelled": 14, "predicted": 470}}

ANSWERS: dict[str, dict[str, Any]] = {
    "ProjectAnswer": PROJECT,
    "ProjectPage": {"projects": [PROJECT], "next": None},
    "ClassesAnswer": {"classes": ["bird", "robin", "tit"], "parents": {"robin": "bird", "tit": "bird"}},
    "ItemsAnswer": {"added": 2, "unchanged": 0},
    "ItemPage": {"items": [ITEM], "next": "99"},
    "ItemFeatures": {"columns": 3, "indices": [0, 2], "values": [0.1, 0.9]},
    "ItemHistory": ITEM | {"own": {"kind": "label", "label": "cat"}, "history": [EVENT]},
    "JobStarted": {"job": ID},
    "JobAnswer": JOB,
    "JobPage": {"jobs": [JOB], "next": None},
    "Questions": QUESTIONS,
    "LabelsAnswer": {"accepted": 1, "late": []} | QUESTIONS,
    "Retracted": {"retracted": 1, "model_version": 43},
    "LeaseAnswer": LEASE,
    "Agreement": {"items": 20, "agreement": 0.9, "alpha": 0.8},
    "ModelAnswer": {
        "version": 42,
        "degraded": None,
        "likelihood": "gaussian: it is compared with softmax from 50 labels on",
        "model": "gp",
        "solver": "dual",
        "kernel": "hik",
        "hyperparameters": {"eta": 1.0, "bias": 1.0, "weight[0]": 1.0, "noise": 0.1},
        "warnings": [],
        "items": 1000,
        "labelled": 30,
        "classes": {"cat": 16, "dog": 14},
        "training": None,
        "sequence": 30,
        "accuracy": ACCURACY,
        "estimates": [ESTIMATE],
    },
    "Predictions": {
        "model_version": 42,
        "degraded": False,
        "variance": "exact",
        "predictions": [
            {
                "label": "cat",
                "decision": "cat",
                "probabilities": {"cat": 0.9, "dog": 0.1},
                "nodes": {},
                "mean": {"cat": 0.8, "dog": -0.8},
                "variance": 0.2,
                "novelty": 0.18,
                "unlike": False,
            }
        ],
    },
    "OnePrediction": {"label": "cat", "score": 0.9},
    "Linked": {"link": LINK},
    "LinkCreated": LINK | {"path": f"/label-studio/{ID}/..."},
    "BackendHealth": {"status": "UP", "model_class": "AskNext"},
    "SetUpAnswer": {"model_version": "asknext-42"},
    "TaskPredictions": {"results": [{"result": [TASK_RESULT], "score": 0.81, "model_version": "asknext-42"}]},
    "WebhookAnswer": {"status": "kept", "job": None},
    "Versions": {"versions": ["asknext-41", "asknext-42"]},
    "Insights": {
        "version": 42,
        "accuracy": ACCURACY,
        "curve": [CURVE_POINT],
        "classes": CLASS_COUNTS,
        "uncertainty": {"edges": [0.0, 0.25, 0.5], "counts": [800, 170]},
        "estimates": [ESTIMATE],
    },
    "SearchProgress": {
        "wanted": "relevant",
        "found": 38,
        "labelled": 420,
        "left": 1583,
        "drawn": 12,
        "idle": 62,
        "expected_left": 1.4,
        "lowest_recall": 0.41,
        "draws_needed": 1101,
        "sampling": True,
        "stop": False,
        "sentence": "Keep labelling: 38 found. If none of the next 1,101 items drawn at random is wanted, you can "
        "stop.",
        "curve": [{"labels": 0, "found": 0}, {"labels": 420, "found": 38}],
        "rule": {"target": 0.95, "risk": 0.05, "patience": 50},
    },
    "PoolMapAnswer": {
        "version": 42,
        "items": 5574,
        "points": [{"key": "a.png", "x": 0.3, "y": -0.1, "label": "cat", "predicted": "cat", "uncertainty": 0.02}],
    },
    "RankedItems": {
        "items": [
            {
                "key": "a.png",
                "data": {"text": "a"},
                "label": "cat",
                "predicted": "dog",
                "probability": 0.97,
                "score": 0.97,
                "votes": [{"annotator": "ann", "label": "cat"}],
            }
        ]
    },
    "EventPage": {"events": [EVENT | {"key": "a.png"}], "next": "7"},
    "ModelCard": {
        "project": PROJECT,
        "version": 42,
        "items": 1000,
        "labelled": 30,
        "classes": CLASS_COUNTS,
        "encoder": None,
        "likelihood": {"name": "gaussian", "why": "gaussian: it is compared with softmax from 50 labels on"},
        "model": {"name": "gp", "why": "it is the one that the settings of the project name"},
        "kernel": {"name": "hik", "why": "hik: leave-one-out squared error 0.3100; rbf 0.3500 (+0.0400 +- 0.0100)"},
        "solver": "dual",
        "hyperparameters": {"eta": 1.0, "bias": 1.0, "weight[0]": 1.0, "noise": 0.1},
        "channels": [{"name": "group 0", "weight": 1.0}],
        "figures": {"accuracy": ACCURACY, "estimates": [ESTIMATE], "confusion": {"cat": {"cat": 15, "dog": 1}}},
        "annotators": [{"name": "ann", "items": 30, "last_at": "2026-11-16T05:26:30.100000Z"}],
        "agreement": {"items": 20, "agreement": 0.9, "alpha": 0.8},
        "training": {"created_at": "2026-11-16T05:26:28.200000Z", "labels": 28, "items": 1000},
        "cautions": [],
        "made_with": {"python": "3.11.7", "asknext": "0.1.0"},
    },
    "Why": {
        "label": "cat",
        "against": "dog",
        "lead": 0.7,
        "constant": 0.1,
        "rest": 0.1,
        "parts": [{"name": "column 2", "weight": 0.5, "column": 2}],
    },
    "Me": {"name": "ann", "role": "annotator", "project": None},
    "KeyCreated": KEY | {"key": "ask_..."},
    "KeyPage": {"keys": [KEY], "next": None},
    "ProblemAnswer": {
        "type": "about:blank",
        "title": "Invalid input",
        "status": 422,
        "detail": "entry 0: the label is not a class of this project; there are: cat, dog",
        "id": "325b64d1a57b8e45",
    },
}


def add_examples(app: FastAPI) -> None:
    """Put them into the document when it is made."""
    make = app.openapi

    def with_examples() -> dict[str, Any]:
        document = make()
        for name, example in ANSWERS.items():
            document["components"]["schemas"][name]["examples"] = [example]
        return document

    app.openapi = with_examples  # type: ignore[method-assign]
