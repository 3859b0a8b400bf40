"""Archives that mean no good, and those that file managers make."""

import io
import struct
import zipfile

import pytest

from app.encoders.pictures import FORMATS
from app.services.budgets import Budgets
from app.services.imports import archives, zips
from app.services.imports.archives import Archive
from app.services.imports.raw_items import form_of
from app.services.problems import Invalid
from tests.app.raw.files import as_zip, picture, pictures


@pytest.fixture
def opened(tmp_path):
    def open_archive(content, kind=None, budgets=None):
        path = tmp_path / "it.upload"
        path.write_bytes(content)
        folder = tmp_path / "unpacked"
        folder.mkdir(exist_ok=True)
        return Archive(path, folder, kind, budgets)

    return open_archive


def names_and_reasons(archive):
    good, broken = [], {}
    for portion in archive.portions():
        good += [item.name for item in portion.items]
        broken |= {entry.name: entry.reason for entry in portion.broken}
    archive.close()
    return good, broken


def test_what_file_managers_leave_is_not_looked_at(opened):
    link = zipfile.ZipInfo("link.png")
    link.external_attr = 0o120777 << 16
    junk = ["__MACOSX/a.png", "a/.DS_Store", ".hidden/b.png", "Thumbs.db", "more.zip", "x/desktop.ini"]
    archive = opened(as_zip(pictures(4) | dict.fromkeys(junk, b"x") | {link: b"/etc/passwd", "empty/": b""}))
    assert archive.total == 4
    assert names_and_reasons(archive) == (list(pictures(4)), {})


@pytest.mark.parametrize("name", ["../up.png", "a/../../up.png", "/etc/up.png", "..\\up.png"])
def test_a_name_that_leads_out_is_broken_and_nothing_is_written_there(opened, tmp_path, name):
    archive = opened(as_zip(pictures(2) | {name: picture("circle", 0)}))
    good, broken = names_and_reasons(archive)
    assert good == list(pictures(2))
    assert list(broken.values()) == ["its path points outside of the archive"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.upload", "unpacked"]
    assert list((tmp_path / "unpacked").iterdir()) == []


def test_pictures_are_known_by_their_content(opened):
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    bmp, gif = picture("circle", 0, "BMP"), picture("circle", 0, "GIF")
    files = pictures(2) | {"a.png": svg, "b.svg": svg, "c.jpg": bmp, "f.png": gif, "d.png": b"", "e.txt": b"text"}
    good, broken = names_and_reasons(opened(as_zip(files | {"named.txt": picture("circle", 1, "JPEG")})))
    assert good == [*pictures(2), "named.txt"]
    assert broken.keys() == files.keys() - pictures(2).keys()
    assert set(broken.values()) == {"not a JPEG, PNG or WebP picture"}


@pytest.mark.parametrize("form", FORMATS)
def test_forms_of_pictures(opened, form):
    files = {f"{i}.png": picture("circle", i, form) for i in range(3)}
    assert names_and_reasons(opened(as_zip(files))) == (list(files), {})


def test_too_many_pixels(opened):
    huge = bytearray(picture("circle", 0))
    huge[16:24] = struct.pack(">II", 60_000, 60_000)
    large = bytearray(picture("circle", 0))
    large[16:24] = struct.pack(">II", 8000, 8000)
    _, broken = names_and_reasons(opened(as_zip({"a.png": picture("circle", 0), "b.png": huge, "c.png": large})))
    assert broken.keys() == {"b.png", "c.png"}


def test_a_bomb_is_refused_before_it_is_unpacked(opened):
    budgets = Budgets(expanded=2**20)
    opened(as_zip({f"{i}.txt": bytes(2**17) for i in range(8)}, compresslevel=9), budgets=budgets)
    with pytest.raises(Invalid, match="may unpack to at most 1048576 bytes, not 1179648"):
        opened(as_zip({f"{i}.txt": bytes(2**17) for i in range(9)}, compresslevel=9), budgets=budgets)


def test_a_large_entry_is_broken_whatever_the_archive_says(opened, monkeypatch):
    monkeypatch.setitem(archives.MAX_BYTES, "text", 1000)
    content = as_zip({"a.txt": b"a" * 1001, "b.txt": b"b" * 1000})
    assert names_and_reasons(opened(content)) == (["b.txt"], {"a.txt": "larger than 1000 bytes"})
    lying = content.replace(struct.pack("<I", 1001), struct.pack("<I", 10))
    assert names_and_reasons(opened(lying)) == (["b.txt"], {"a.txt": "damaged: it cannot be unpacked"})


def test_too_many_entries(opened, monkeypatch):
    opened(as_zip(pictures(5)), budgets=Budgets(entries=5))
    with pytest.raises(Invalid, match="may have 5 entries"):
        opened(as_zip(pictures(6)), budgets=Budgets(entries=5))
    monkeypatch.setattr(zips, "MAX_DIRECTORY_BYTES", 100)
    with pytest.raises(Invalid, match="directory of an archive may have 100 bytes"):
        opened(as_zip(pictures(4)))


def test_entries_that_cannot_be_read(opened):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("good.txt", "good")
        archive.writestr("bad.txt", "find me and change me")
        archive.writestr("secret.txt", "secret")
    content = bytearray(made.getvalue().replace(b"find me", b"miss me"))
    place = content.rindex(b"PK\x01\x02")
    content[place + 8] |= 1  # says that it is encrypted
    assert names_and_reasons(opened(bytes(content))) == (
        ["good.txt"],
        dict.fromkeys(["bad.txt", "secret.txt"], "damaged: it cannot be unpacked"),
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_come_twice_or_cannot_be_keys(opened):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ["a.txt", "a.txt", "b" * 600 + ".txt"]:
            archive.writestr(name, "text")
    good, broken = names_and_reasons(opened(made.getvalue()))
    assert good == ["a.txt"]
    assert sorted(broken.values()) == [
        "another file in the archive has the same name",
        "the key: keys are texts of at most 500 characters without NUL",
    ]


def test_an_archive_of_something_else(opened):
    with pytest.raises(Invalid, match=r"has no \.jpg"):
        opened(as_zip({"a.doc": b"a"}))
    with pytest.raises(Invalid, match="cannot be read as text, but as image"):
        opened(as_zip(pictures(2)), "text")
    with pytest.raises(Invalid, match="not a zip file"):
        opened(b"PK\x05\x06 and no more")


def test_classes_are_the_innermost_folders(opened):
    archive = opened(as_zip({f"train/{name}": content for name, content in pictures(6).items()}))
    assert archive.labels == ["circle", "stripe"]
    assert [item.label for portion in archive.portions() for item in portion.items] == ["circle", "stripe"] * 3


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (as_zip({"a.png": b""}), "zip"),
        (as_zip({"X.npy": b""}), "npz"),
        (b'\xef\xbb\xbf {"text": "a"}', "jsonl"),
        (b"1 1:0.5 7:2e-3\n", "svmlight"),
        (b"text,label\n1 1:2,a\n", "csv"),
        (b"", "csv"),
    ],
)
def test_files_are_known_by_their_content(tmp_path, content, form):
    (tmp_path / "file").write_bytes(content)
    assert form_of(tmp_path / "file") == form
