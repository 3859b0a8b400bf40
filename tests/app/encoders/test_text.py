import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.encoders import archive, fit, restore
from core import GPHIKClassifier

POOL = ["free prize, call now!", "call me when you are home", "are you free now", "prize prize prize", "home now"]


def test_a_text_becomes_one_histogram_of_words_and_one_of_characters():
    encoder = fit("text", POOL)
    encoded = encoder.encode(POOL)
    words, characters = encoder.channels
    assert (words.name, characters.name) == ("words", "characters")
    assert encoded.table.shape == (5, words.columns + characters.columns) == (5, len(encoder.names()))
    assert encoder.model()["kernel"] == [
        {"columns": [0, words.columns], "normalise": True},
        {"columns": [words.columns, words.columns + characters.columns], "normalise": True},
    ]


def test_rare_words_weigh_more():
    """1 + log of how often, times 1 + log((1 + N) / (1 + df)): the words of all texts weigh 1."""
    encoder = fit("text", ["a b b", "a c", "a b", "a c"], {"characters": 0})
    assert encoder.names() == ["a", "b", "c"]
    row = encoder.encode(["a b b"]).table.toarray()[0]
    assert row == pytest.approx([1.0, (1.0 + np.log(2)) * (1.0 + np.log(5 / 3)), 0.0])


def test_a_power_of_idf_makes_rare_words_weigh_still_more():
    pool = ["a b b", "a c", "a b", "a c"]
    once, thrice = (fit("text", pool, {"characters": 0, "rarity": power}).encode(pool).table for power in (1.0, 3.0))
    idf = 1.0 + np.log(np.array([1.0, 5 / 3, 5 / 3]))
    assert thrice.toarray() == pytest.approx(once.toarray() * idf**2)


def test_pairs_of_words_have_a_channel_of_their_own():
    encoder = fit("text", ["Free prize now", "a free prize", "now free"], {"characters": 0, "pairs": 10})
    assert [channel.name for channel in encoder.channels] == ["words", "pairs"]
    assert encoder.names() == ["free", "now", "prize", "free prize"]
    row = restore(encoder.state()).encode(["prize, free prize"]).table.toarray()[0]
    assert (row > 0).tolist() == [True, False, True, True]


def test_shares_sum_to_one_in_each_channel():
    encoder = fit("text", POOL, {"form": "shares"})
    words, _ = encoder.channels
    table = encoder.encode(POOL).table
    for part in (table[:, : words.columns], table[:, words.columns :]):
        assert np.asarray(part.sum(axis=1)).ravel() == pytest.approx(np.ones(5))
    assert encoder.model() == {"levels": 8}


def test_an_encoder_from_before_there_were_forms_gives_the_rows_it_gave():
    old = fit("text", POOL, {"form": "shares", "words": 50, "characters": 50})
    header, arrays = archive.unpack(old.state())
    del header["options"]["form"]
    arrays = {name: array for name, array in arrays.items() if not name.endswith("_weights")}
    again = restore(archive.pack(header, arrays))
    assert (again.encode(POOL).table != old.encode(POOL).table).nnz == 0
    assert again.model() == {"levels": 8}


def test_names_say_what_a_column_counts():
    encoder = fit("text", POOL, {"characters": 0, "form": "shares"})
    row = encoder.encode(["Now CALL, unheard-of"]).table
    assert {encoder.names()[column] for column in row.indices} == {"now", "call"}
    assert row.data.tolist() == [0.5, 0.5]


def test_the_terms_of_most_texts_are_kept():
    encoder = fit("text", ["a b c", "a b d", "a b c", "a e c"], {"characters": 0, "words": 2})
    assert encoder.names() == ["a", "b"]


def test_sublinear_counts_repeats_for_less():
    options = {"characters": 0, "least": 1, "form": "shares"}
    linear = fit("text", POOL, {**options, "sublinear": False}).encode(["prize prize prize home"]).table
    sublinear = fit("text", POOL, {**options, "sublinear": True}).encode(["prize prize prize home"]).table
    assert linear.max() == 0.75
    assert sublinear.max() == pytest.approx((1 + np.log(3)) / (2 + np.log(3)))


def test_hashing_needs_no_vocabulary():
    encoder = fit("text", POOL, {"hashing": True, "words": 64, "characters": 128, "form": "shares"})
    encoded = encoder.encode(["words that nobody has seen"])
    assert encoder.names() is None
    assert encoded.table.shape == (1, 192)
    assert encoded.table.sum() == pytest.approx(2.0)
    assert (encoded.table != restore(encoder.state()).encode(["words that nobody has seen"]).table).nnz == 0


def test_what_is_no_text_is_broken_and_not_fatal():
    steps = []
    encoded = fit("text", [*POOL, ""]).encode(["home", "  ", np.zeros(2), "now"], steps.append)
    assert encoded.good == [0, 3]
    assert encoded.broken == {1: "the text is empty", 2: "expected a text, got ndarray"}
    assert encoded.table.shape[0] == 2
    assert steps == [4]
    assert fit("text", POOL).encode([""]).table.shape[0] == 0


@pytest.mark.parametrize(
    ("pool", "options", "error"),
    [
        ([], {}, "none of the 0 items is a text"),
        (["", " "], {}, "none of the 2 items is a text"),
        (POOL, {"colour": 1}, "colour"),
        (POOL, {"shortest": 5, "longest": 2}, "longest must be at least shortest"),
        (POOL, {"words": 0, "characters": 0}, "no word or n-gram"),
    ],
)
def test_what_cannot_be_fitted_says_why(pool, options, error):
    with pytest.raises(ValueError, match=error):
        fit("text", pool, options)


def test_one_text_is_enough():
    assert fit("text", ["one"], {"form": "shares"}).encode(["one"]).table.sum() == pytest.approx(2.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=6), st.lists(st.text(), max_size=6))
def test_any_texts_give_histograms_and_the_same_ones_after_restoring(pool, more):
    try:
        encoder = fit("text", pool, {"least": 1})
    except ValueError:
        assert not "".join(pool).strip()
        return
    encoded = encoder.encode(pool + more)
    again = restore(encoder.state())
    assert again.state() == encoder.state()
    assert again.describe() == encoder.describe()
    assert (again.encode(pool + more).table != encoded.table).nnz == 0
    assert encoded.table.data.min(initial=1.0) > 0.0
    assert np.isfinite(encoded.table.data).all()
    assert len(encoded.good) + len(encoded.broken) == len(pool + more)


def test_a_sampled_vocabulary_is_the_same_for_the_same_seed():
    texts = [f"common word{i % 7} other{i}" for i in range(60)]
    first, same, other = (fit("text", texts, {"sample": 20, "least": 1}, seed=seed) for seed in (1, 1, 2))
    assert first.state() == same.state() != other.state()


def test_spam_is_told_from_messages_by_both_channels():
    rng = np.random.default_rng(0)
    spam, ham = ["win cash prize claim call txt", "see you at home tonight love lunch"]
    texts = [" ".join(rng.choice((ham, spam)[i % 2].split(), 5)) for i in range(80)]
    encoder = fit("text", texts)
    table = encoder.encode(texts).table
    model = GPHIKClassifier(**encoder.settings()).fit(table[:40], np.arange(40) % 2)
    assert (model.predict(table[40:]) == np.arange(40) % 2).mean() == 1.0


ROWS = [{"body": "call me at home", "title": "free prize"}, {"body": "prize now", "title": "call now"}] * 3


def test_columns_of_a_text_are_read_as_one_or_apart():
    together = fit("text", ROWS, {"characters": 0})
    assert (
        together.names()
        == fit("text", ["free prize. call me at home", "call now. prize now"] * 3, {"characters": 0}).names()
    )
    apart = fit("text", ROWS, {"characters": 0, "apart": True})
    assert [channel.name for channel in apart.channels] == ["body: words", "title: words"]
    row = apart.encode([{"title": "call", "body": "prize"}]).table
    assert {apart.names()[column] for column in row.indices} == {"body: prize", "title: call"}
    for encoder in (together, apart):
        again = restore(encoder.state())
        assert (again.encode(ROWS).table != encoder.encode(ROWS).table).nnz == 0
        assert again.names() == encoder.names()


def test_a_text_without_a_column_is_in_the_main_one():
    apart = fit("text", ROWS, {"characters": 0, "apart": True})
    alone, row = (apart.encode([raw]).table for raw in ("prize now", {"body": "prize now"}))
    assert alone.nnz == 2
    assert (alone != row).nnz == 0
    encoded = apart.encode([{"other": "prize"}, {"title": " "}, {"title": "free"}])
    assert encoded.broken == {0: "the text is empty", 1: "the text is empty"}
