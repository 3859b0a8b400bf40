"""Messages of Label Studio 1.23.2, as they were recorded."""

TEXT = '<Text name="text" value="$text"/>'
IMAGE = '<Image name="image" value="$image"/>'
HOSTNAME = "http://localhost:8181"


def config(shown=TEXT, classes=("Positive", "Negative"), name="label", more="", **options):
    """A label config of one choice."""
    to = shown.split('name="')[1].split('"')[0]
    attributes = "".join(f' {key}="{value}"' for key, value in options.items())
    choices = "".join(f'<Choice value="{one}"/>' for one in classes)
    return f'<View>{shown}<Choices name="{name}" toName="{to}"{attributes}>{choices}</Choices>{more}</View>'


def setup(schema, project=12):
    return {
        "project": f"{project}.1794786784",
        "schema": schema,
        "hostname": HOSTNAME,
        "access_token": "0123",
        "extra_params": {"service_project": "demo"},
    }


def task(number, **data):
    return {
        "id": number,
        "data": data,
        "meta": {},
        "project": 12,
        "inner_id": 1,
        "is_labeled": False,
        "overlap": 1,
        "total_annotations": 0,
        "cancelled_annotations": 0,
        "total_predictions": 0,
        "created_at": "2026-11-15T10:00:00.000000Z",
        "updated_at": "2026-11-15T10:00:00.000000Z",
        "updated_by": None,
        "file_upload": None,
        "comment_authors": [],
        "annotations": [],
        "predictions": [],
    }


def predict(tasks, schema):
    params = {"login": None, "password": None, "context": None}
    return {"tasks": tasks, "project": "12.1794786784", "label_config": schema, "params": params}


def result(*choices, name="label", to="text"):
    return [
        {"from_name": name, "to_name": to, "type": "choices", "value": {"choices": list(choices)}, "origin": "manual"}
    ]


def annotation(number, of, choices=(), second=0, user=1, **more):
    """Of a task; with the time when it was changed."""
    return {
        "id": number,
        "task": of["id"],
        "project": 12,
        "completed_by": user,
        "result": result(*choices) if choices else [],
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": 3.2,
        "result_count": 1,
        "unique_id": "5c1e",
        "parent_prediction": 77,
        "prediction": {},
        "created_at": "2026-11-15T10:00:00.000000Z",
        "updated_at": f"2026-11-15T10:{second // 60:02}:{second % 60:02}.250000Z",
    } | more


def event(action, schema, number=12, **parts):
    project = {
        "id": number,
        "label_config": schema,
        "parsed_label_config": {"label": {"type": "Choices", "to_name": ["text"], "labels": ["Positive", "Negative"]}},
        "model_version": "v7",
        "sampling": "Uncertainty sampling",
        "task_number": 6,
        "total_annotations_number": 1,
    }
    return {"action": action, "project": project} | parts
