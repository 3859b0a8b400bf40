"""The fixed corpus: for each route that takes JSON, bodies with a hole, and what must not fill it."""

import json

from tests.app.input.calls import MARKER

HOLE = "HOLE"
PROJECT = "/v1/projects/{project}"
LONG = "[" + "0," * 10**6 + "0]"
QUOTED = f'"{MARKER}"'
NUL = f'"{MARKER}\\u0000"'
STRANGE = f'{{"{MARKER}": 1}}'
HUGE = str(2**70)

ANYWHERE = {  # no JSON at all
    "NaN": "NaN",
    "-Infinity": "-Infinity",
    "5000 digits": "7" * 5000,
    "lone surrogate": '"\\ud800"',
    "deep": "[" * 20_000 + "]" * 20_000,
    "cut off": '"' + MARKER,
    "not json": MARKER,
}
NUMBERS = {
    "1e999": "1e999",
    "-1e999": "-1e999",
    "text": QUOTED,
    "list": f"[{QUOTED}]",
    "object": STRANGE,
}
TEXTS = {
    "NUL": NUL,
    "too long": json.dumps(MARKER * 1000),
    "number": "7",
    "empty": '""',
    "list": f"[{QUOTED}]",
    "object": STRANGE,
    "long list": LONG,
}
UNKNOWN = TEXTS | {"unknown": QUOTED}
FEATURES = {
    "empty row": "[]",
    "fewer columns": "[1, 2]",
    "more columns": "[1, 2, 3, 4]",
    "long list": LONG,
    "million mistakes": '["x"' + ',"x"' * 10**6 + "]",
    "duplicate indices": '{"indices": [1, 1], "values": [1, 2]}',
    "more indices": '{"indices": [0, 1], "values": [1]}',
    "index beyond": '{"indices": [3], "values": [1]}',
    "2^70 as an index": f'{{"indices": [{HUGE}], "values": [1]}}',
    "negative index": '{"indices": [-1], "values": [1]}',
    "index of a half": '{"indices": [0.5], "values": [1]}',
    "infinite value": '{"indices": [0], "values": [1e999]}',
    "strange": f'{{"indices": [0], "values": [1], "{MARKER}": 1}}',
    "text": QUOTED,
    "null": "null",
    "truth": "[true, 1, 2]",
}
DATA = {
    "NUL": f'{{"a": [{NUL}]}}',
    "NUL in a name": f"{{{NUL}: 1}}",
    "1e999": f'{{"{MARKER}": [1e999]}}',
    "text": QUOTED,
    "list": f"[{QUOTED}]",
}
FILTERS = {
    "1e999": '{"a": 1e999}',
    "NUL": f'{{"a": {NUL}}}',
    "NUL in a name": f"{{{NUL}: 1}}",
    "list": f'{{"{MARKER}": []}}',
    "too many": json.dumps({f"{MARKER}{i}": [] for i in range(100_000)}),
    "text": QUOTED,
}
ADDRESSES = {
    "null": "null",
    "file": '"file:///etc/passwd"',
    "no scheme": '"labels.example:8080"',
    "user": f'"http://{MARKER}:x@labels.example"',
    "query": '"http://labels.example/?a=b"',
    "port": '"http://labels.example:99999"',
    "bracket": '"http://[labels.example"',
}
SETTINGS = {"strange": STRANGE, "long list": LONG, "million": json.dumps({f"{MARKER}{i}": 1 for i in range(10**5)})}


def item(**values):
    return {"items": [{"key": "new-1", "features": [1, 2, 3]}, {"key": "new-2", "features": [1, 2, 3]} | values]}


def answers(**values):
    """The first is good: it must not be stored when the second is not."""
    return {"labels": [{"key": "i2", "label": "cat"}, {"key": "i3", "label": "dog"} | values]}


PLACES = [
    ("POST", "/v1/projects", {"name": HOLE}, TEXTS),
    ("POST", "/v1/projects", {"name": "p", "classes": ["a", HOLE]}, TEXTS | {"twice": '"a"'}),
    ("POST", "/v1/projects", {"name": "p", "settings": {"noise": HOLE}}, NUMBERS | {"huge": HUGE, "0": "0"}),
    ("POST", "/v1/projects", {"name": "p", "settings": {"columns": HOLE}}, {"huge": HUGE, "half": "1.5"}),
    ("POST", "/v1/projects", {"name": "p", "settings": HOLE}, SETTINGS),
    ("PATCH", PROJECT, {"name": HOLE}, TEXTS),
    ("PATCH", PROJECT, {"settings": {"lease_seconds": HOLE}}, NUMBERS | {"huge": HUGE}),
    ("PATCH", PROJECT, {"settings": {"kernel": HOLE}}, UNKNOWN),
    ("PATCH", PROJECT, {"settings": {"likelihood": "softmax", "model": HOLE}}, UNKNOWN | {"unfit": '"forest"'}),
    ("PATCH", PROJECT, {"settings": HOLE}, SETTINGS | {"columns": '{"columns": 9}'}),
    ("POST", PROJECT + "/classes", {"name": HOLE}, TEXTS | {"taken": '"cat"'}),
    ("PATCH", PROJECT + "/classes/{name}", {"name": HOLE}, TEXTS | {"taken": '"dog"'}),
    ("POST", PROJECT + "/classes/{name}/merge", {"into": HOLE}, UNKNOWN | {"itself": '"cat"'}),
    ("POST", PROJECT + "/items", {"items": HOLE}, TEXTS | {"none": "[]", "strange": "[" + "{}," * 10**5 + "{}]"}),
    ("POST", PROJECT + "/items", item(key=HOLE), TEXTS),
    ("POST", PROJECT + "/items", item(features=[1, HOLE, 3]), NUMBERS | {"null": "null", "truth": "true"}),
    ("POST", PROJECT + "/items", item(features=HOLE), FEATURES),
    ("POST", PROJECT + "/items", item(data=HOLE), DATA),
    ("POST", PROJECT + "/items", item(key="i1", features=HOLE), {"other features": "[9, 9, 9]"}),
    ("POST", PROJECT + "/query", {"count": HOLE}, NUMBERS | {"0": "0", "huge": HUGE, "half": "1.5", "truth": "true"}),
    ("POST", PROJECT + "/query", {"seed": HOLE}, NUMBERS | {"huge": HUGE, "negative": "-1"}),
    ("POST", PROJECT + "/query", {"explore": HOLE}, NUMBERS | {"huge": HUGE, "negative": "-1"}),
    ("POST", PROJECT + "/query", {"strategy": HOLE}, UNKNOWN),
    ("POST", PROJECT + "/query", {"filter": HOLE}, FILTERS),
    ("POST", PROJECT + "/labels", {"labels": HOLE}, TEXTS | {"none": "[]"}),
    ("POST", PROJECT + "/labels", answers(key=HOLE), UNKNOWN),
    ("POST", PROJECT + "/labels", answers(label=HOLE), UNKNOWN),
    ("POST", PROJECT + "/labels", answers(action=HOLE), UNKNOWN | {"without a label": '"skip"'}),
    ("POST", PROJECT + "/labels", answers(note=HOLE), {"NUL": NUL, "too long": json.dumps(MARKER * 1000)}),
    ("POST", PROJECT + "/labels", answers() | {"idempotency_key": HOLE}, TEXTS),
    ("POST", PROJECT + "/labels", answers() | {"next": {"count": HOLE}}, NUMBERS | {"huge": HUGE}),
    ("POST", PROJECT + "/labels", answers() | {"next": {"filter": HOLE}}, FILTERS),
    ("POST", PROJECT + "/predict", {"features": HOLE}, TEXTS | {"none": "[]", "empty row": "[[]]", "fewer": "[[1]]"}),
    ("POST", PROJECT + "/predict", {"features": [[1, 2, 3], HOLE]}, FEATURES),
    ("POST", PROJECT + "/predict", {"keys": [HOLE]}, UNKNOWN),
    ("POST", PROJECT + "/predict-one", {"features": HOLE}, FEATURES),
    ("POST", PROJECT + "/predict-one", {"text": HOLE}, TEXTS),
    ("POST", PROJECT + "/label-studio", {"address": HOLE, "token": "t"}, TEXTS | ADDRESSES),
    ("POST", PROJECT + "/label-studio", {"address": "http://127.0.0.1:9", "token": HOLE}, TEXTS | {"null": "null"}),
    ("POST", PROJECT + "/label-studio", {"remote_project": HOLE}, NUMBERS | {"huge": HUGE, "negative": "-1"}),
    ("POST", PROJECT + "/label-studio", {"top": HOLE}, NUMBERS | {"0": "0", "huge": HUGE, "half": "1.5"}),
    ("POST", PROJECT + "/train", {"tune": HOLE}, {"text": QUOTED, "null": "null", "list": f"[{QUOTED}]"}),
    ("POST", "/v1/keys", {"name": HOLE, "role": "reader"}, TEXTS),
    ("POST", "/v1/keys", {"name": "k", "role": HOLE}, UNKNOWN),
    ("POST", "/v1/keys", {"name": "k", "role": "reader", "project": HOLE}, UNKNOWN),
]


def filled(body, value):
    """The body with the hole filled, as bytes: what fills it need not be JSON."""
    return json.dumps(body).replace(f'"{HOLE}"', value).encode()
