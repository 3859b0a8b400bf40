import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.encoders.guess import files_of, guess_columns, guess_entries, guess_files


def test_a_zip_of_pictures_is_images_and_folders_may_be_classes():
    names = ["train/Coast/1.JPG", "train/Coast/2.jpeg", "test/Forest/1.png", "test/Forest/2.webp", "notes.txt"]
    guess = guess_files(names)
    assert (guess.kind, guess.folders) == ("image", ("Coast", "Forest"))
    assert guess.why == "the archive holds 4 pictures in 2 folders, which may be their classes"
    assert guess_files(["1.png", "a/2.png", "b/3.png", "b/4.png"]).folders == ()
    assert guess_files(["cover.png", *(f"{'ab'[i % 2]}/{i}.png" for i in range(19))]).folders == ("a", "b")


def test_a_zip_of_txt_files_is_texts():
    assert guess_files(["a/1.txt", "a/2.txt", "cover.png"]).kind == "text"
    assert files_of("text", ["a.txt", "__MACOSX/a.txt", ".b.txt", "c/d.TXT", "e.pdf"]) == ["a.txt", "c/d.TXT"]


def test_an_archive_without_either_says_what_was_expected():
    with pytest.raises(ValueError, match=r"no .jpg, .jpeg, .png, .webp, .txt file among its 2 entries"):
        guess_files(["drawing.svg", "__MACOSX/1.jpg"])


def test_a_column_is_text_by_its_name():
    guess = guess_columns(["key", "text", "label"], [["sms0", "Ok lar...", "ham"], ["sms1", "WINNER!!", "spam"]])
    assert (guess.kind, guess.columns, guess.key, guess.label) == ("text", ("text",), "key", "label")
    assert "'text'" in guess.why


def test_a_column_is_text_by_its_words():
    rows = [["1", "the quick brown fox jumps", "x"], ["2", "over the lazy dog of mine", "y"]]
    guess = guess_columns(["n", "what", "y"], rows)
    assert (guess.kind, guess.columns, guess.key, guess.label) == ("text", ("what",), None, "y")


def test_numbers_and_categories_are_a_table():
    guess = guess_columns(["ID", "age", "job", "Class"], [["1", "30", "cook", "a"], ["2", "", "nurse", "b"]])
    assert (guess.kind, guess.columns, guess.key, guess.label) == ("table", ("age", "job"), "ID", "Class")
    assert guess.why == "columns: 1 of numbers, 1 of categories"


def test_dates_are_no_texts_however_many_words_they_have():
    rows = [["Tue, 5 Mar 2024 18:30:00 +0000", "3 kg", "red"], ["Mon, 4 Mar 2024 10:00:00 +0000", "4 kg", "blue"]]
    guess = guess_columns(["sent", "weight", "colour"], rows)
    assert (guess.kind, guess.columns) == ("table", ("sent", "weight", "colour"))
    assert guess.why == "columns: 1 of numbers, 1 of dates, 1 of categories"
    assert guess.read_as("text", "sent").columns == ("sent",)


def test_many_numbers_are_a_vector():
    header = ["key", *(f"x{i}" for i in range(20)), "target"]
    guess = guess_columns(header, [[f"k{n}", *["0.5"] * 20, "3"] for n in range(3)])
    assert (guess.kind, len(guess.columns), guess.label) == ("vectors", 20, "target")
    assert guess_columns(header, [["k", *["0.5"] * 20, "3"], ["l", *["0.5"] * 19, "", "3"]]).kind == "table"  # a hole


def test_a_key_that_repeats_is_no_key():
    guess = guess_columns(["id", "text"], [["1", "a"], ["1", "b"]])
    assert guess.key is None


@pytest.mark.parametrize(
    ("header", "rows", "error"),
    [
        ([], [], "name the columns"),
        (["1", "2.5"], [["1", "2"]], "name the columns"),
        (["a"], [], "no row"),
        (["key", "label"], [["a", "b"]], "no column to learn from beside key, label"),
    ],
)
def test_a_table_with_nothing_to_learn_from_says_so(header, rows, error):
    with pytest.raises(ValueError, match=error):
        guess_columns(header, rows)


def test_objects_with_lists_are_vectors_or_sets():
    vectors = guess_entries([{"id": 1, "tags": ["a"], "embedding": [1.0, -2.0], "label": "x"}, {"id": 2}])
    assert (vectors.kind, vectors.columns, vectors.key, vectors.label) == ("vectors", ("embedding",), "id", "label")
    assert guess_entries([{"key": "a", "points": [[0, 1], [2, 3]]}]).kind == "sets"
    assert guess_entries([{"key": "a", "text": "hello"}]).kind == "text"


def test_what_was_guessed_can_be_read_another_way():
    rows = [["a", "the long words of a text", "3"], ["b", "some more words of a text", "4"]]
    guess = guess_columns(["title", "body", "size"], rows)
    assert guess.columns == ("body",)  # titles of one word are more of a name
    assert guess.ways == {"text": ("body", "title", "size"), "table": ("title", "body", "size"), "vectors": ("size",)}
    assert guess.read_as("text") is guess
    assert guess.read_as("text", ["title"]).columns == ("title",)
    assert guess.read_as("text", ["title", "body"]).columns == ("body", "title")
    assert guess.read_as("text", ["other"]) is guess
    assert guess.read_as("table").columns == ("title", "body", "size")
    assert guess.read_as("vectors").columns == ("size",)
    with pytest.raises(ValueError, match="cannot be read as image, but as text or table or vectors"):
        guess.read_as("image")
    names = ["1.png", "2.png", "1.txt"]
    assert guess_files(names).kind == "image"
    assert guess_files(names, "text").kind == "text"
    with pytest.raises(ValueError, match="cannot be read as text, but as image"):
        guess_files(names[:2], "text").read_as("text")


def test_texts_may_come_in_several_columns():
    title, abstract = "Effects of tea on sleep", "We asked 40 people who drink tea how long they sleep at night"
    rows = [["1", title, abstract, "Ann Lee", "0"], ["2", title, abstract, "Bo Ek", "1"]]
    guess = guess_columns(["id", "title", "abstract", "author", "label"], rows)
    assert (guess.kind, guess.columns) == ("text", ("abstract", "title"))
    assert guess.why == "the columns 'abstract' and 'title' hold texts of 13 and 5 words on average"
    assert guess.read_as("text", ["abstract"]).columns == ("abstract",)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.lists(st.text(max_size=9), max_size=5), max_size=4))
def test_any_table_is_guessed_or_refused_with_a_reason(header, rows):
    try:
        guess = guess_columns(header, rows)
    except ValueError:
        return
    assert guess.columns
    assert set(guess.columns) <= set(header)
    assert guess.why
