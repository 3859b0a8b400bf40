import json

import pytest

from app.services.imports import tables
from tests.app.raw.files import as_csv, as_zip, imported, texts


def test_a_csv_of_texts(site):
    project = site.project([], kernel=None, encoder="auto")
    assert project.get("")["encoder"] is None
    result = imported(project, as_csv(texts(40)))
    assert (result["added"], result["unchanged"], result["labelled"], result["broken_count"]) == (40, 0, 0, 0)
    found = result["found"]
    assert (found["kind"], found["items"], found["labels"]) == ("text", 40, ["food", "sport"])
    assert (found["columns"], found["key"], found["label"]) == (["text"], "key", "label")
    encoder = project.get("")["encoder"]
    assert (encoder["kind"], encoder["why"]) == ("text", found["why"])
    assert [channel["name"] for channel in encoder["channels"]] == ["words", "characters"]
    assert project.get("/items/t1")["data"] == {"text": texts(2)[1][1]}


def test_what_is_learnt_from_texts(site):
    project = site.project(["sport", "food"], kernel=None, encoder="text")
    rows = texts(60)
    assert imported(project, as_csv(rows), labels="true")["labelled"] == 60
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    model = project.get("/model")
    assert {"weight[0]", "weight[1]"} <= set(model["hyperparameters"])
    assert model["hyperparameters"]["weight[0]"] != model["hyperparameters"]["weight[1]"]
    predicted = project.post("/predict", {"texts": ["the team must win", "soup with bread"]})["predictions"]
    assert [prediction["label"] for prediction in predicted] == ["sport", "food"]
    by_key = project.post("/predict", {"keys": ["t0"]})["predictions"][0]["mean"]
    by_text = project.post("/predict", {"texts": [rows[0][1]]})["predictions"][0]["mean"]
    assert by_text == pytest.approx(by_key, abs=0.05)  # items are quantised


def test_a_later_import_uses_the_encoder_that_is_there(site):
    project = site.project(kernel=None, encoder="auto")
    imported(project, as_csv(texts(40)))
    before = project.get("")
    result = imported(project, as_csv(texts(60, seed=0)))
    assert (result["added"], result["unchanged"]) == (20, 40)
    assert project.get("")["encoder"] == before["encoder"]
    other = imported(project, as_csv([("food", "quite another text")]))
    assert (other["added"], other["broken_count"]) == (0, 1)
    assert "other content" in other["broken"][0]["reason"]
    assert other["broken"][0]["name"] == "t0"


def test_texts_one_by_one(site):
    project = site.project(kernel=None, encoder="text")
    new = {"items": [{"key": "n", "text": "goal by the team"}]}
    assert "import" in project.post("/items", new, 409)["detail"]
    assert "import" in project.post("/predict", {"texts": ["a"]}, 409)["detail"]
    imported(project, as_csv(texts(20)))
    assert project.post("/items", new, 201)["added"] == 1
    assert project.post("/items", new, 201)["unchanged"] == 1
    assert project.get("/items/n")["data"] == {"text": "goal by the team"}
    assert "entry 0" in project.post("/items", {"items": [{"key": "e", "text": " "}]}, 422)["detail"]
    mixed = {"items": [{"key": "e", "text": "a"}, {"key": "f", "features": [1.0]}]}
    assert "entry 1: expected a text" in project.post("/items", mixed, 422)["detail"]
    assert "a text" in project.post("/predict", {"rows": [{"a": 1}]}, 422)["detail"]
    project.post("/items", {"items": [{"key": "e"}]}, 422)
    project.post("/items", {"items": [{"key": "e", "text": "a", "row": {"a": 1}}]}, 422)


def test_json_lines_and_files_of_text(site):
    lines = [{"id": f"j{i}", "text": text, "data": {"source": "x"}, "n": i} for i, (_, text) in enumerate(texts(20))]
    content = "\n".join([*map(json.dumps, lines), "{", "[]"]).encode()
    project = site.project(encoder="auto")
    result = imported(project, content)
    assert (result["added"], result["broken_count"]) == (20, 2)
    assert result["broken"][0] == {"name": "line 21", "reason": "not a JSON object"}
    assert project.get("/items/j3")["data"] == {"source": "x", "n": 3, "text": texts(20)[3][1]}
    files = {f"{label}/{i}.txt": text for i, (label, text) in enumerate(texts(20))}
    result = imported(project, as_zip(files | {"sport/x.txt": b"\xff\xfe", "sport/y.doc": "z", "sport/z.txt": " "}))
    assert (result["added"], result["found"]["labels"]) == (20, ["food", "sport"])
    assert {entry["name"]: entry["reason"] for entry in result["broken"]} == {
        "sport/x.txt": "not UTF-8 text",
        "sport/y.doc": "not a .txt file",
        "sport/z.txt": "the text is empty",
    }


def test_rows_without_keys_of_a_second_file_are_new_items(site):
    project = site.project([], encoder="text")
    first, second, more = texts(12), texts(8, seed=1), texts(1, seed=2)
    for rows, added in ((first, 12), (second, 8), (second, 0), (first + more, 1)):
        result = imported(project, as_csv(rows, ("text", "label")), labels="true")
        assert (result["added"], result["unchanged"], result["broken_count"]) == (added, len(rows) - added, 0)
    items = project.get("/items")["items"]
    assert [(item["label"], item["data"]["text"]) for item in items] == first + second + more
    assert [item["key"] for item in items[:12]] == [f"row-{i + 1}" for i in range(12)]
    assert items[12]["key"].startswith("row-1-")


def test_labels_count_only_when_asked(site, monkeypatch):
    monkeypatch.setattr(tables, "PORTION", 10)  # the first ones are all of one class
    project = site.project(["sport"], encoder="text")
    message = imported(project, as_csv(texts(20)), "failed", labels="true")
    assert "not a class" in message
    assert project.get("/items")["items"] == []
    assert project.get("")["encoder"] is None
    empty = site.project([], encoder="text")
    result = imported(empty, as_csv(sorted(texts(40))), labels="true")
    assert result["labelled"] == 40
    assert empty.get("")["classes"] == ["food", "sport"]


def test_rows_that_do_not_fit_are_listed(site):
    content = as_csv(texts(20)) + b"too,many,cells,here\nt20,fine text here,food\n"
    result = imported(site.project(encoder="auto"), content)
    assert (result["added"], result["broken_count"], result["found"]["items"]) == (21, 1, 22)
    assert result["broken"] == [{"name": "line 22", "reason": "4 cells, but the header has 3 columns"}]


def test_a_project_without_an_encoder_says_so(site):
    project = site.project()
    assert "encoder" in imported(project, as_zip({"a.txt": "a"}), "failed")
    assert "encoder" in imported(project, as_csv(texts(5)), "failed")


def test_the_encoder_stays(site):
    project = site.project(encoder="auto")
    imported(project, as_csv(texts(10)))
    assert "encoder" in project.patch("", {"settings": {"encoder": "none"}}, 422)["detail"]
    assert "text" in imported(project, as_zip({"a.png": b""}), "failed")
    fresh = site.project(encoder="auto")
    assert fresh.patch("", {"settings": {"encoder": "image"}})["settings"]["encoder"] == "image"


def test_options_of_the_encoder(site):
    project = site.project(kernel=None, encoder="text", encoder_options={"hashing": True, "words": 64})
    imported(project, as_csv(texts(20)))
    encoder = project.get("")["encoder"]
    assert encoder["channels"][0] == {"name": "words", "columns": 64}
    assert encoder["description"]["options"]["hashing"] is True
    project.post("/items", {"items": [{"key": "n", "text": "words that nobody has seen"}]}, 201)
    assert "cannot be changed" in project.patch("", {"settings": {"encoder_options": {}}}, 422)["detail"]


def test_the_column_of_the_texts(site):
    content = b"text,title,size\n" + b"".join(b"%s and so on,title number %d,3\n" % (b"abc", i) for i in range(9))
    project = site.project(encoder="text", encoder_options={"column": "title"})
    result = imported(project, content)
    assert (result["added"], result["found"]["columns"], result["found"]["kind"]) == (9, ["title"], "text")
    assert result["found"]["ways"] == {
        "text": ["text", "title", "size"],
        "table": ["text", "title", "size"],
        "vectors": ["size"],
    }
    assert project.get("/items/row-1")["data"] == {"text": "title number 0", "size": "3"}
    assert "no column 'title'" in imported(project, b"text,name\na b c d e,f\n", "failed")


def papers(n):
    """csv of n papers, with a title and an abstract of one topic each."""
    rows = [(label, text.split()[0] + " for all", f"{text} and more of {text}") for label, text in texts(n)]
    return "\n".join(
        ["id,title,abstract,label", *(f"p{i},{t},{a},{y}" for i, (y, t, a) in enumerate(rows)), ""]
    ).encode()


def test_a_title_and_an_abstract_are_both_read(site):
    project = site.project([], kernel=None, encoder="auto")
    result = imported(project, papers(40), labels="true")
    assert (result["added"], result["found"]["columns"]) == (40, ["abstract", "title"])
    assert result["found"]["why"].startswith("the columns 'abstract' and 'title' hold texts of")
    shown = project.get("/items/p0")["data"]
    assert shown["title"].endswith("for all")
    assert shown["text"].count(shown["title"].split()[0]) >= 2
    assert imported(project, papers(44))["added"] == 4
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    row = {"title": "soup for all", "abstract": "bread soup and more of salt"}
    for given in ({"rows": [row]}, {"rows": [{"title": "soup"}]}, {"texts": ["bread soup cake"]}):
        assert project.post("/predict", given)["predictions"][0]["label"] == "food"
    assert project.post("/items", {"items": [{"key": "n", "row": row}]}, 201)["added"] == 1
    assert "empty" in project.post("/predict", {"rows": [{"other": "words"}]}, 422)["detail"]
    abstracts = b"id,abstract\nq1,the team must win the match\n"
    assert imported(project, abstracts)["added"] == 1
    assert project.post("/predict", {"keys": ["q1"]})["predictions"][0]["label"] == "sport"


def test_texts_of_other_columns_are_read_as_one(site):
    project = site.project([], kernel=None, encoder="text")
    lines = b"".join(b"%s,%s and more of it\n" % (y.encode(), t.encode()) for y, t in texts(40))
    assert imported(project, b"label,text\n" + lines, labels="true")["added"] == 40
    assert imported(project, papers(40))["added"] == 40
    others = site.project([], kernel=None, encoder="text")
    imported(others, papers(40), labels="true")
    again = papers(40).replace(b"title,abstract", b"headline,body")
    result = imported(others, again.replace(b"\np", b"\nq"))
    assert (result["added"], result["found"]["columns"]) == (40, ["body", "headline"])


def test_columns_of_texts_may_have_channels_of_their_own(site):
    options = {"column": ["title", "abstract"], "apart": True}
    project = site.project([], kernel=None, encoder="text", encoder_options=options)
    imported(project, papers(40), labels="true")
    channels = [channel["name"] for channel in project.get("")["encoder"]["channels"]]
    assert channels == ["abstract: words", "abstract: characters", "title: words", "title: characters"]
    told = project.post(
        "/predict",
        {
            "rows": [{"title": "bread for all"}],
        },
        200,
    )["predictions"][0]["label"]
    assert told == "food"
    assert project.post("/predict", {"texts": ["goal match team"]})["predictions"][0]["label"] == "sport"
    assert "no column 'abstract'" in imported(project, b"id,title,label\n1,goal for all,sport\n", "failed")


@pytest.mark.parametrize(
    ("encoder", "options", "message"),
    [
        ("text", {"hashed": True}, "known are words"),
        ("text", {"words": -1}, "words: "),
        ("auto", {"words": 10}, "an encoder that is named"),
        ("table", {"leave_out": ["\0"]}, "NUL"),
        ("table", {"standardised": True}, "kernel hik alone cannot read"),
    ],
)
def test_options_that_are_none(site, encoder, options, message):
    settings = {"kernel": "hik", "encoder": encoder, "encoder_options": options}
    assert message in site.post("/v1/projects", {"name": "p", "classes": [], "settings": settings}, 422)["detail"]
