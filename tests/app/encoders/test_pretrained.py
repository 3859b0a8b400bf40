"""Pretrained models: how they are found, loaded and told apart, on tiny ones that are made here."""

import numpy as np
import pytest

from app.encoders import check_options, fit, pretrained, restore
from app.encoders.contract import Channel, silent
from app.encoders.pretrained import BATCH, Pretrained, chosen
from app.services.encoding.embedding import PretrainedModels
from tests.app.encoders.models import TOPICS, picture_model, text_model, with_extra
from tests.app.encoders.pictures import digit_files

TEXTS = [f"{one} {other}" for one in TOPICS for other in TOPICS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return text_model(tmp_path_factory.mktemp("text-model"))


@pytest.fixture
def without_extra(monkeypatch):
    monkeypatch.setattr(pretrained, "is_installed", lambda: False)


@pytest.mark.usefixtures("without_extra")
def test_without_the_extra_a_named_model_asks_for_it():
    for ask in (
        lambda: check_options("text", {"model": "own"}),
        lambda: fit("text", TEXTS, {"model": "own"}),
        lambda: PretrainedModels("own"),
    ):
        with pytest.raises(ValueError, match=r"'own' needs .* pip install 'asknext\[embeddings\]'"):
            ask()


@pytest.mark.usefixtures("without_extra")
def test_without_the_extra_texts_are_encoded_as_ever():
    check_options("text", {"model": None})
    encoder = fit("text", TEXTS)
    assert [channel.name for channel in encoder.channels] == ["words", "characters"]
    assert encoder.options.model is None
    assert not encoder.needs_model


def test_encoders_from_before_there_were_models_have_none():
    encoder = fit("text", TEXTS, {"model": None})
    old = encoder.options.model_dump()
    del old["model"]
    assert type(encoder).old_options(old)["model"] is None


@with_extra
def test_a_model_has_a_channel_beside_words_and_characters(folder):
    encoder = fit("text", TEXTS, {"model": str(folder)})
    assert [(channel.name, channel.columns) for channel in encoder.channels][-1] == ("embedding", 16)
    columns = encoder.describe()["columns"]
    assert encoder.model()["kernel"][-1] == {"kernel": "linear", "columns": [columns - 16, columns]}
    vectors = encoder.encode(TEXTS).table[:, -16:].toarray()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert encoder.names()[-1] == f"embedding ({folder.name})"


@with_extra
def test_vectors_go_to_the_texts_they_are_of(folder):
    """Batches are made of texts of about one length, and joined again in the old order."""
    texts = [" ".join(TEXTS[: 1 + place % 7]) for place in range(2 * BATCH + 5)]
    seen = []
    model = Pretrained.of(str(folder), "text")
    together = model.embed(texts, str, seen.append)
    alone = np.vstack([model.embed([text], str, silent) for text in texts])
    assert together == pytest.approx(alone, abs=1e-5)
    assert seen == [BATCH, 2 * BATCH, len(texts)]


@with_extra
def test_a_restored_encoder_finds_the_same_model(folder):
    encoder = fit("text", TEXTS, {"model": str(folder)})
    again = restore(encoder.state())
    assert again.describe() == encoder.describe()
    assert len(encoder.describe()["checksum"]) == 64
    assert abs(again.encode(TEXTS[:3]).table - encoder.encode(TEXTS).table[:3]).max() < 1e-5


@with_extra
def test_a_model_alone_needs_no_words(folder):
    encoder = fit("text", ["goal", "soup"], {"model": str(folder), "words": 0, "characters": 0})
    assert encoder.encode(["goal", " "]).table.shape == (1, 16)


@with_extra
def test_other_files_under_the_name_are_told_of(tmp_path):
    folder = text_model(tmp_path / "model")
    state = fit("text", TEXTS, {"model": str(folder)}).state()
    expected = restore(state).describe()["checksum"]
    text_model(folder, seed=1)
    with pytest.raises(ValueError, match=f"expected the model .* checksum {expected[:12]}"):
        restore(state).encode(TEXTS)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(ValueError, match=r"neither a folder nor in the local cache.*ASKNEXT_MODEL_DOWNLOADS"):
        restore(state).encode(TEXTS)


@with_extra
@pytest.mark.parametrize("name", ["nobody/has-this", "no such thing!"])
def test_nothing_is_downloaded_unless_it_is_allowed(name, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match="neither a folder nor in the local cache"):
        fit("text", TEXTS, {"model": name})


@with_extra
def test_a_folder_that_is_no_model_says_so(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="gives no vectors of texts"):
        fit("text", TEXTS, {"model": str(tmp_path)})


@with_extra
def test_the_code_of_a_model_is_not_run(folder, tmp_path):
    """A folder may name classes of its own, and bring the file."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "own.Module"}]')
    (tmp_path / "own.py").write_text("raise SystemExit('the code of the model was run')")
    with pytest.raises(ValueError, match="gives no vectors of texts"):
        fit("text", TEXTS, {"model": str(tmp_path)})


@with_extra
def test_the_usual_model_is_taken_where_it_is_in_the_cache(folder, monkeypatch):
    monkeypatch.setattr(pretrained, "_cached", lambda name: folder if name == pretrained.USUAL["text"] else None)
    assert chosen("auto", "text") == "sentence-transformers/all-MiniLM-L6-v2"
    assert chosen("auto", "image") is None
    assert fit("text", TEXTS).options.model == pretrained.USUAL["text"]
    assert fit("text", TEXTS, {"model": None}).options.model is None


@with_extra
def test_a_text_costs_no_more_than_a_model_reads_of_it(folder):
    """A megabyte is cut before it is taken apart."""
    model, long = Pretrained.of(str(folder), "text"), "goal " * 200_000
    read = []
    vector = model.embed([long], lambda text: read.append(pretrained.cut(text)) or read[-1], silent)
    assert len(read[0]) < 11_000
    assert vector == pytest.approx(model.embed([long[:5000]], str, silent), abs=1e-5)


@with_extra
def test_pictures_have_a_channel_of_a_model_beside_what_is_counted(tmp_path):
    model = picture_model(tmp_path / "model")
    files = digit_files(tmp_path, 12)[0]
    seen = []
    encoder = fit("image", files, {"model": str(model), "words": 20})
    plain = fit("image", files, {"model": None, "words": 20})
    assert encoder.channels == (*plain.channels, Channel("embedding", 12))
    (tmp_path / "none.png").write_bytes(b"no picture")
    encoded = encoder.encode([*files, tmp_path / "none.png"], seen.append)
    assert list(encoded.broken) == [12]
    assert seen == sorted(seen)
    assert seen[-1] == 12
    assert (encoded.table[:, :-12] != plain.encode(files).table).nnz == 0
    vectors = encoded.table[:, -12:].toarray()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert restore(encoder.state()).encode(files[3:5]).table[:, -12:].toarray() == pytest.approx(vectors[3:5], abs=1e-5)
    assert encoder.model()["kernel"][-1]["kernel"] == "linear"
    assert plain.model() == {}


@with_extra
def test_a_model_of_texts_cannot_read_pictures(folder, tmp_path):
    with pytest.raises(ValueError, match="gives no vectors of pictures"):
        fit("image", digit_files(tmp_path, 3)[0], {"model": str(folder)})
