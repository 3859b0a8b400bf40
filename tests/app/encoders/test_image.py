import struct
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from app.encoders import archive, descriptors, fit, pictures, restore
from app.encoders.pictures import BrokenPictureError, read_picture
from app.encoders.processes import PORTION, in_portions
from core import GPHIKClassifier
from tests.app.encoders.deadly import double_or_die
from tests.app.encoders.pictures import digit_files

SMALL = {"words": 20, "colours": 8}


def stripes(size=(96, 64), *, upright=True):
    width, height = size
    wave = np.arange(width)[None, :] if upright else np.arange(height)[:, None]
    return Image.fromarray(np.broadcast_to(127 + 120 * np.sin(wave / 2), (height, width)).astype(np.uint8))


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return digit_files(tmp_path_factory.mktemp("digits"), 240)


@pytest.fixture(scope="module")
def encoder(digits):
    return fit("image", digits[0][:40], SMALL)


def test_each_channel_of_a_tiny_picture_is_a_histogram(encoder, digits):
    encoded = encoder.encode(digits[0][:5])
    assert [(c.name, c.columns) for c in encoder.channels] == [
        ("words 1x1", 20),
        ("words 2x2", 80),
        ("gradients 4x4", 128),
        ("textures 1x1", 118),
        ("textures 3x3", 1062),
        ("colours 1x1", 8),
        ("colours 2x2", 32),
    ]
    assert encoder.names() is None
    first = 0
    for channel in encoder.channels:
        part = encoded.table[:, first : first + channel.columns]
        assert np.asarray(part.sum(axis=1)).ravel() == pytest.approx(np.ones(5))
        first += channel.columns
    assert first == encoded.table.shape[1] == encoder.describe()["columns"]


def test_digits_are_told_apart_by_what_they_look_like(digits):
    paths, labels = digits
    encoder = fit("image", paths, {"words": 100, "colours": 8})
    table = encoder.encode_with(1, paths).table
    model = GPHIKClassifier(**encoder.settings()).fit(table[:160], labels[:160])
    assert model.score(table[160:], labels[160:]) > 0.85


def test_the_rows_do_not_depend_on_processes_or_restoring(encoder, digits):
    paths = digits[0][: 2 * PORTION + 3]
    steps = []
    one = encoder.encode_with(1, paths).table
    two = encoder.encode_with(2, paths, steps.append).table
    again = restore(encoder.state())
    assert again.state() == encoder.state()
    assert (one != two).nnz == 0
    assert (one != again.encode_with(1, paths).table).nnz == 0
    assert steps[-1] == len(paths)


def test_fitting_is_reproducible_by_seed(digits):
    first, same, other = (fit("image", digits[0][:30], {**SMALL, "sample": 10}, seed=seed) for seed in (3, 3, 4))
    assert first.state() == same.state() != other.state()


def test_broken_files_are_listed_with_a_reason(encoder, tmp_path):
    stripes().save(tmp_path / "good.jpg")
    whole = (tmp_path / "good.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.png").write_text("not a picture")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "drawing.png").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    stripes().save(tmp_path / "other.png", format="BMP")
    names = ["good.jpg", "cut.jpg", "text.png", "empty.png", "drawing.png", "other.png", "none.png"]
    encoded = encoder.encode([*(tmp_path / name for name in names), "text"])
    strange = "not a JPEG, PNG or WebP picture"
    assert encoded.good == [0]
    assert list(encoded.broken.values()) == [
        *("damaged or cut short", strange, strange, strange, strange, "there is no such file"),
        "expected the file of a picture, got str",
    ]
    assert encoder.encode([tmp_path / "text.png"]).table.shape == (0, encoded.table.shape[1])
    with pytest.raises(ValueError, match="none of the 1 files"):
        fit("image", [tmp_path / "text.png"])


def test_a_bomb_is_not_unpacked(tmp_path):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    for side in (9_000, 12_000, 60_000):
        header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
        bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
        (tmp_path / "bomb.png").write_bytes(bomb)
        with pytest.raises(BrokenPictureError, match="more than 50 million pixels"):
            read_picture(tmp_path / "bomb.png", 256, 64)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "1", "I;16"])
def test_a_large_picture_is_shrunk_in_strips(tmp_path, monkeypatch, mode):
    """It looks as it does when it is resized at once."""
    ramp = np.add.outer(np.arange(700) // 4, np.arange(900) // 8)
    image = Image.fromarray(ramp.astype(np.uint16) * 200 if mode == "I;16" else ramp.astype(np.uint8))
    image = image if mode == "I;16" else image.convert("RGB").convert(mode)
    image.save(tmp_path / "it.png")
    at_once = np.asarray(read_picture(tmp_path / "it.png", 64, 64), dtype=float)
    monkeypatch.setattr(pictures, "LARGE", 100_000)
    monkeypatch.setattr(pictures, "STRIP", 10_000)
    in_strips = np.asarray(read_picture(tmp_path / "it.png", 64, 64), dtype=float)
    assert in_strips.shape == at_once.shape == (50, 64, 3)
    assert abs(in_strips - at_once).mean() < 2
    assert at_once.std() > 20


@pytest.mark.parametrize("size", [(1, 49_000_000), (49_000_000, 1), (7000, 7000)])
def test_memory_that_a_picture_takes(tmp_path, size):
    """A picture of one long line was made 32 pixels wide before it was made short."""
    file = tmp_path / "long.png"
    Image.new("L", size, 200).save(file)
    code = (
        "import sys, resource; from pathlib import Path; from app.encoders.pictures import read_picture\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); read_picture(Path(sys.argv[1]), 256, 64); print(peak() - before)"
    )
    grown = subprocess.run([sys.executable, "-c", code, file], check=True, capture_output=True, text=True).stdout
    assert int(grown) < 300_000  # kB


def test_a_turned_picture_is_set_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter
    stripes((96, 64)).save(tmp_path / "turned.jpg", exif=exif)
    assert read_picture(tmp_path / "turned.jpg", 256, 64).size == (64, 96)


def test_of_an_animation_the_first_frame_counts(tmp_path):
    frames = [Image.new("RGB", (80, 80), colour) for colour in ("red", "blue")]
    frames[0].save(tmp_path / "moving.webp", save_all=True, append_images=frames[1:], lossless=True)
    assert read_picture(tmp_path / "moving.webp", 256, 64).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
def test_every_mode_becomes_rgb(mode, tmp_path):
    path = tmp_path / ("picture.jpg" if mode == "CMYK" else "picture.png")
    grey = stripes((70, 70))
    if mode == "I;16":
        Image.fromarray(np.asarray(grey).astype(np.uint16) * 257).save(path)
    else:
        grey.convert(mode).save(path)
    picture = read_picture(path, 256, 64)
    assert (picture.mode, picture.size) == ("RGB", (70, 70))
    difference = np.abs(np.asarray(picture.convert("L"), dtype=float) - np.asarray(grey))
    assert difference.mean() < (70 if mode == "1" else 5)


def test_what_is_transparent_is_white(tmp_path):
    Image.new("RGBA", (64, 64), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    assert read_picture(tmp_path / "clear.png", 256, 64).getpixel((5, 5)) == (255, 255, 255)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 300), st.integers(1, 300))
def test_pictures_of_any_size_are_read(encoder, tmp_path_factory, width, height):
    path = tmp_path_factory.mktemp("sizes") / "picture.png"
    stripes((width, height)).save(path)
    assert max(read_picture(path, 256, 64).size) in range(64, 257)
    assert encoder.encode([path]).good == [0]


def test_gradients_are_counted_by_where_they_point():
    upright = descriptors.gradient_cells(np.asarray(stripes())).sum(axis=(0, 1))
    lying = descriptors.gradient_cells(np.asarray(stripes(upright=False))).sum(axis=(0, 1))
    assert upright[[0, 4]].sum() == pytest.approx(upright.sum())
    assert lying[[2, 6]].sum() == pytest.approx(lying.sum())
    magnitude = np.hypot(*np.gradient(np.asarray(stripes()).astype(float)))
    assert upright.sum() == pytest.approx(magnitude.sum())


def test_a_flat_picture_has_no_gradients_and_is_not_broken(encoder, tmp_path):
    Image.new("RGB", (40, 40), "green").save(tmp_path / "flat.png")
    encoded = encoder.encode([tmp_path / "flat.png"])
    assert encoded.good == [0]
    assert encoded.table[:, 100:228].nnz == 0


def test_at_least_one_grid_is_needed(digits):
    with pytest.raises(ValueError, match="at least one of word_grids"):
        fit("image", digits[0], {f"{name}_grids": [] for name in ("word", "gradient", "texture", "colour")})


def test_an_encoder_from_before_there_were_textures_gives_the_rows_it_gave(encoder, digits):
    header, arrays = archive.unpack(encoder.state())
    del header["options"]["texture_grids"]
    old = restore(archive.pack(header, arrays)).encode_with(1, digits[0][:5]).table
    now = encoder.encode_with(1, digits[0][:5]).table
    assert (old != sp.hstack([now[:, :228], now[:, 228 + 118 + 1062 :]])).nnz == 0


def test_textures_are_the_same_in_any_light():
    luma = np.random.default_rng(0).integers(0, 200, (48, 40), dtype=np.uint8)
    numbers, places, weights = descriptors.textures(luma)
    assert (descriptors.textures(luma + np.uint8(50))[0] == numbers).all()
    assert 0 <= numbers.min() < descriptors.PATTERNS < numbers.max() < 2 * descriptors.PATTERNS
    assert len(numbers) == len(places) == len(weights) == 46 * 38 + 22 * 18
    assert weights[numbers >= descriptors.PATTERNS].sum() == 4 * 22 * 18
    assert 0.0 < places.min() < places.max() < 1.0


def test_a_texture_is_a_ring_of_neighbours_that_are_no_brighter():
    """What is brightest, what is darkest and an edge have patterns of their own; what changes often shares one."""
    dot, edge = np.zeros((3, 3)), np.tile([0.0, 0.0, 1.0], (3, 1))
    dot[1, 1] = 1.0
    numbers = [int(descriptors.textures(np.pad(luma, 1, "edge"))[0][4]) for luma in (dot, 1 - dot, edge)]
    assert len({*numbers, descriptors.PATTERNS - 1}) == 4
    assert descriptors.textures(np.pad(np.rot90(edge), 1, "edge"))[0][4] not in numbers
    assert descriptors.PATTERN_NUMBERS[0b01010101] == descriptors.PATTERNS - 1 == descriptors.PATTERN_NUMBERS.max()
    assert (np.bincount(descriptors.PATTERN_NUMBERS) == [1] * 58 + [198]).all()


def test_an_item_that_ends_its_process_is_the_only_one_lost():
    items = [*range(2 * PORTION), -1, *range(5)]
    results = {}
    for first, portion in in_portions(double_or_die, items, 2, partial(str, "lost")):
        results |= {first + i: result for i, result in enumerate(portion)}
    assert [results[place] for place in range(len(items))] == ["lost" if item < 0 else 2 * item for item in items]


def test_who_stops_listening_stops_the_work(encoder, digits):
    def stop(done):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        encoder.encode_with(2, [*digits[0][: 3 * PORTION], Path("none")], stop)
