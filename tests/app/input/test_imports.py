"""Files that cannot be read: the job says where and what, and of the portion nothing is stored."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from app.services.budgets import Budgets
from tests.app.input.calls import MARKER, assert_problem, assert_silent, imported, made, new_project, stored

SHAPE = {"descr": "<f8", "fortran_order": False}
CONFLICTS = [[1.0, 2.0], [1.0, 3.0]]


class Evil:
    """Unpickling it would be seen."""

    ran = False

    def __reduce__(self):
        return (setattr, (Evil, "ran", True))


def lines(*rows):
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode("utf-8", "surrogatepass")


def good(i):
    return {"key": f"good-{i}", "features": [0.5, 0.25, 0.125]}


def bad(**values):
    """A good line, and one that is not."""
    return lines(good(0), {"key": MARKER, "features": [1.0, 2.0, 3.0]} | values)


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def archive(**entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as found:
        for name, content in entries.items():
            found.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(shape, content=b"", **header):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, SHAPE | {"shape": shape} | header)
    return file.getvalue() + content


def csr(data=(1.0,), indices=(0,), indptr=(0, 1), shape=(1, 3)):
    return npz(data=np.array(data), indices=np.array(indices), indptr=np.array(indptr), shape=np.array(shape))


def pickled():
    return npz(X=np.array([[Evil(), 1.0]], dtype=object))


JSONL = {
    "nan": lines(good(0), '{"key": "a", "features": [NaN, 1, 2]}'),
    "infinity": lines(good(0), '{"key": "a", "features": [Infinity, 1, 2]}'),
    "1e999": lines(good(0), '{"key": "a", "features": [1e999, 1, 2]}'),
    "1e999 in data": lines(good(0), '{"key": "a", "features": [1, 1, 2], "data": {"x": 1e999}}'),
    "5000 digits": lines(good(0), '{"key": "a", "features": [%s]}' % ("7" * 5000)),
    "2^70 as an index": bad(features={"indices": [2**70], "values": [1.0]}),
    "index beyond": bad(features={"indices": [10**7], "values": [1.0]}),
    "index of a half": bad(features={"indices": [1.5], "values": [1.0]}),
    "negative index": bad(features={"indices": [-1], "values": [1.0]}),
    "duplicate indices": bad(features={"indices": [1, 1], "values": [1.0, 2.0]}),
    "more indices than values": bad(features={"indices": [1, 2], "values": [1.0]}),
    "nested features": bad(features=[[1.0], [2.0], [3.0]]),
    "ragged features": bad(features=[[1.0], [2.0, 4.0], 3.0]),
    "texts as features": bad(features=["1", "2", "3"]),
    "truths as features": bad(features=[True, False, True]),
    "no features": lines(good(0), {"key": MARKER}),
    "features are null": bad(features=None),
    "features are a number": bad(features=7),
    "indices are a number": bad(features={"indices": 7, "values": 7}),
    "indices are objects": bad(features={"indices": {"a": 1}, "values": {"a": 1}}),
    "wrong dimension": lines(good(0), {"key": "a", "features": [1.0] * 4}),
    "no key": lines(good(0), {"features": [1.0]}),
    "empty key": bad(key=""),
    "number as key": bad(key=7),
    "nul in key": bad(key=f"{MARKER}\0"),
    "long key": bad(key=MARKER * 100),
    "nul in data": bad(data={"x": [{"y": f"{MARKER}\0"}]}),
    "nul in a name of data": bad(data={f"{MARKER}\0": 1}),
    "data is a list": bad(data=[MARKER]),
    "label is a number": bad(label=7),
    "lone surrogate": lines(good(0), '{"key": "\\ud800", "features": [1, 2, 3]}'),
    "raw surrogate": lines(good(0), '{"key": "\ud800", "features": [1, 2, 3]}'),
    "deep": lines(good(0), '{"key": "a", "features": ' + "[" * 20_000 + "]" * 20_000 + "}"),
    "not an object": lines(good(0), "[1, 2]"),
    "not json": lines(good(0), "{" + MARKER),
    "binary": bytes(range(256)),
    "gzip": b"\x1f\x8b\x08\x00" + bytes(1000),
    "conflict": lines(*({"key": "a", "features": row} for row in CONFLICTS)),
}
CSV = {
    "nan": b"key,x,y\ngood,1,2\na,nan,2\n",
    "infinity": b"key,x,y\ngood,1,2\na,inf,2\n",
    "1e999": b"key,x,y\ngood,1,2\na,1e999,2\n",
    "no numbers": f"key,x\na,{MARKER}\n".encode(),
    "numbers that end": b"x,y\n" + b"1,2\n" * 600 + f"{MARKER},2\n".encode(),
    "nul in key": b"key,x\ngood,1\na\0,1\n",
    "nul in data": b"key,x,text\ngood,1,a\nb,1,a\0\n",
    "long key": b"key,x\ngood,1\n" + MARKER.encode() * 100 + b",1\n",
    "long cell": b"key,x,text\ngood,1,a\nb,1," + b"z" * 200_000 + b"\n",
    "fewer cells": b"key,x,y\ngood,1,2\na,1\n",
    "more cells": b"key,x,y\ngood,1,2\na,1,2,3\n",
    "latin-1": "key,x\ngood,1\né,1\n".encode("latin-1"),
    "binary": bytes(range(256)),
    "conflict": b"key,x\na,1\na,2\n",
}
SVMLIGHT = {
    "nan": b"1 1:0.5\n1 1:nan\n",
    "infinity": b"1 1:0.5\n1 1:inf\n",
    "1e999": b"1 1:0.5\n1 1:1e999\n",
    "index 0": b"1 1:0.5\n1 0:1\n",
    "2^70 as an index": b"1 1:0.5\n1 1180591620717411303424:1\n",
    "2^40 as an index": b"1 1:0.5\n1 1099511627776:1\n",
    "2^31 as an index": b"1 1:0.5\n1 2147483648:1\n",
    "5000 digits": b"1 1:0.5\n1 " + b"7" * 5000 + b":1\n",
    "duplicate indices": b"1 1:0.5\n1 2:1 2:2\n",
    "unsorted indices": b"1 1:0.5\n1 3:1 2:2\n",
    "negative index": b"1 1:0.5\n1 -3:1\n",
    "text": f"{MARKER} 1:1\n".encode(),
    "nul": b"1 1:0.5\n\0\n",
    "binary": bytes(range(256)),
}
NPZ = {
    "pickled objects": pickled,
    "a pickle": lambda: pickle.dumps([Evil()]),
    "a pickle in a zip": lambda: archive(X=pickle.dumps([Evil()])),
    "a lone npy": lambda: npy((1, 1), bytes(8)),
    "not a zip": lambda: b"PK\x03\x04" + bytes(100),
    "nan": lambda: npz(X=np.array([[1.0, 2.0], [np.nan, 1.0]])),
    "infinity": lambda: npz(X=np.array([[1.0, 2.0], [np.inf, 1.0]])),
    "complex": lambda: npz(X=np.ones((2, 2), dtype=complex)),
    "texts": lambda: npz(X=np.array([[MARKER]])),
    "one dimension": lambda: npz(X=np.ones(3)),
    "three dimensions": lambda: npz(X=np.ones((2, 2, 2))),
    "empty": lambda: npz(X=np.ones((0, 3))),
    "no table": lambda: npz(**{MARKER: np.ones((2, 2))}),
    "fewer keys": lambda: npz(X=np.ones((2, 2)), keys=np.array(["a"])),
    "nul in key": lambda: npz(X=np.ones((2, 2)), keys=np.array(["a", "a\0b"])),
    "long key": lambda: npz(X=np.ones((2, 2)), keys=np.array(["a", MARKER * 100])),
    "more than memory": lambda: archive(X=npy((10**12, 1000))),
    "ends too early": lambda: archive(X=npy((1000, 1000), bytes(80))),
    "header that is code": lambda: archive(X=npy((1, 1)).replace(b"'<f8'", b"exit()"[:5])),
    "header of brackets": lambda: archive(X=b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000),
    "csr: index beyond": lambda: csr(indices=(7,)),
    "csr: negative index": lambda: csr(indices=(-1,)),
    "csr: indptr down": lambda: csr(indptr=(1, 0)),
    "csr: lengths differ": lambda: csr(data=(1.0, 2.0)),
    "csr: shape of three": lambda: csr(shape=(1, 2, 3)),
    "csr: shape beyond": lambda: csr(shape=(2**62, 2**62)),
    "csr: nan": lambda: csr(data=(np.nan,)),
    "csr: text": lambda: csr(data=(MARKER,)),
    "csr: complex": lambda: csr(data=(1j,)),
}
FILES = [
    *(("jsonl", name, content) for name, content in JSONL.items()),
    *(("csv", name, content) for name, content in CSV.items() if name != "numbers that end"),
    *(("svmlight", name, content) for name, content in SVMLIGHT.items()),
    *(("npz", name, content) for name, content in NPZ.items()),
]


@pytest.mark.parametrize(("form", "name", "content"), FILES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_file_that_cannot_be_read(http, live, form, name, content):
    project = new_project(http)
    before = stored(http, project)
    job = imported(http, project, form, content() if callable(content) else content)
    assert job["state"] == "failed", job
    assert "unexpected" not in job["message"]
    assert_silent(job["message"])
    assert stored(http, project) == before
    assert not Evil.ran
    assert not list(live[1].uploads.iterdir())


def test_a_file_that_unpacks_to_more_than_memory_should_hold(http, live, monkeypatch):
    bomb = archive(X=npy((1000, 1000), bytes(8_000_000)))
    assert len(bomb) < 10_000
    project = new_project(http)
    with monkeypatch.context() as patch:
        patch.setattr(live[1].running(project).project, "budgets", Budgets(expanded=2**20))
        job = imported(http, project, "npz", bomb)
    assert job["state"] == "failed"
    assert "may unpack to at most 1048576" in job["message"]
    assert stored(http, project)[1] == []
    assert imported(http, project, "npz", bomb)["state"] == "done"


def test_a_column_that_ends_as_text_keeps_the_portions_before(http):
    project = new_project(http)
    job = imported(http, project, "csv", CSV["numbers that end"])
    assert job["state"] == "failed"
    assert "line 602" in job["message"]
    assert_silent(job["message"])
    assert made(http.get(f"/v1/projects/{project}/model"))["items"] == 500


@pytest.mark.parametrize("portion", [1, 600])
def test_negative_features_are_refused_where_the_kernel_cannot_read_them(http, portion):
    project = new_project(http, kernel="hik")
    content = b"key,x\n" + b"".join(b"k%d,1\n" % i for i in range(portion - 1)) + b"a,-1\n"
    job = imported(http, project, "csv", content)
    assert job["state"] == "failed"
    assert "unexpected" not in job["message"]
    model = made(http.get(f"/v1/projects/{project}/model"))
    assert model["items"] == (500 if portion > 500 else 0)
    assert model["degraded"] is None


def test_what_can_be_read_is(http):
    """Else the refusals above would prove nothing."""
    sparse = {"key": "s", "features": {"indices": [2, 0], "values": [5, 1]}, "data": {"x": [2**70, "é", None]}}
    files = {
        "jsonl": lines(good(0), sparse, "", {"key": "é" * 500, "features": {"indices": [], "values": []}}),
        "csv": "key,x,text\ngood,1,a\né,2,<b>\n,3,\n".encode(),
        "svmlight": b"1 1:0.5 3:1\n2\n1 2:7 # words\n",
        "npz": npz(X=np.eye(3), keys=np.array(["a", "b", "c"])),
    }
    for form, content in files.items():
        project = new_project(http)
        job = imported(http, project, form, content)
        assert job["state"] == "done", (form, job)
        assert job["result"] == {"added": 3, "unchanged": 0, "labelled": 0}
        assert imported(http, project, form, content)["result"]["unchanged"] == 3


@pytest.mark.parametrize(
    ("form", "content", "other"),
    [
        ("csv", b"x,y,note\n1,2,a\n3,4,b\n", b"x,y,note\n1,2,other\n3,5,b\n"),
        ("svmlight", b"1 1:0.5 2:1\n2 2:7\n", b"1 1:0.5 2:1.5\n2 2:8\n"),
        ("npz", npz(X=np.eye(2)), npz(X=np.eye(2) * 2)),
    ],
)
def test_rows_without_keys_of_another_file_are_new_items(http, form, content, other):
    project = new_project(http)
    for file, added in ((content, 2), (other, 2), (other, 0), (content, 0)):
        result = imported(http, project, form, file)["result"]
        assert (result["added"], result["unchanged"]) == (added, 2 - added)


@pytest.mark.parametrize("form", ["svmlight", "jsonl"])
def test_later_rows_may_have_more_columns_than_the_first_thousand(http, form):
    places = [*[1] * 1000, 111]
    files = {
        "svmlight": "".join(f"123456{place % 10} {place}:1\n" for place in places).encode(),
        "jsonl": lines(
            *({"key": f"k{i}", "features": {"indices": [p - 1], "values": [1]}} for i, p in enumerate(places))
        ),
    }
    project = new_project(http, open_classes=True)
    job = imported(http, project, form, files[form], labels=form == "svmlight")
    assert job["state"] == "done", job
    assert job["result"]["added"] == 1001
    if form == "svmlight":
        assert {"1234561"} <= set(made(http.get(f"/v1/projects/{project}"))["classes"])


@pytest.mark.parametrize("name", [f"{MARKER}\0", MARKER * 20, "", "not a class"])
def test_a_label_that_cannot_be_keeps_its_items_out(http, name):
    project = new_project(http, open_classes=name != "not a class")
    rows = [{"key": "a", "features": [1.0], "label": "cat"}, {"key": "b", "features": [2.0], "label": name}]
    before = stored(http, project)
    job = imported(http, project, "jsonl", lines(*rows), labels=True)
    assert job["state"] == "failed"
    assert_silent(job["message"])
    assert stored(http, project) == before
    rows[1]["label"] = "dog"
    assert imported(http, project, "jsonl", lines(*rows), labels=True)["result"]["labelled"] == 2


@pytest.mark.parametrize(
    "params",
    [{"format": ""}, {"format": MARKER}, {"format": "csv", "index_base": 2}, {"format": "csv", "labels": MARKER}],
)
def test_parameters_of_an_import(http, live, params):
    project = new_project(http)
    assert_problem(http.post(f"/v1/projects/{project}/import", params=params, content=b"x,y\n1,2\n"), 422)
    assert not list(live[1].uploads.iterdir()) if live[1].uploads.exists() else True


def test_an_empty_file_has_no_items(http):
    for form in ("jsonl", "csv", "svmlight", "npz"):
        project = new_project(http)
        job = imported(http, project, form, b"")
        assert job["state"] == ("failed" if form == "npz" else "done"), (form, job)
        assert stored(http, project)[1] == []
