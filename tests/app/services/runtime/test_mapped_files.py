"""Pools in mapped files: read from the database in blocks, the same to the last bit, back from a snapshot."""

import errno
import os

import numpy as np
import pytest

from app.services.items import stored
from app.services.model import training
from app.services.model.snapshots import snapshot_path
from app.services.runtime.mapped_files import LargeArrays
from core.histograms import chunked
from tests.app.services.projects import answers, assert_as_rebuilt, open_project, service_in


class Quiet:
    """Nobody looks at the progress."""

    def report(self, *_):
        pass

    def step(self):
        pass

    def check(self):
        pass

    def wait_for(self, future):
        return future.result()


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


def moments(running):
    return running.project.learner.mean, running.project.learner.variance


def trained(service):
    running = open_project(service)
    running.writer.do(answers(running, "A", **{f"i{i}": "abc"[i % 3] for i in range(20)}))
    training.train(running.project, running.writer, Quiet(), tune=True)
    return running


def test_a_pool_in_files_is_the_same_to_the_last_bit(tmp_path, monkeypatch):
    with service_in(tmp_path / "memory") as service:
        expected = moments(trained(service))
    monkeypatch.setattr(stored, "BLOCK_ROWS", 16)
    monkeypatch.setattr(chunked, "BLOCK_ROWS", 16)
    with service_in(tmp_path / "files", map_above=1) as service:
        running = trained(service)
        assert is_mapped(running.project.learner._model.all_rows._codes)
        assert all(np.array_equal(*pair) for pair in zip(moments(running), expected, strict=True))
        assert not any((tmp_path / "files" / "pools").iterdir())  # files without names go with the process
    with service_in(tmp_path / "files", map_above=1) as service:
        running = service.open(running.project.id)
        assert is_mapped(running.project.learner._model.all_rows._codes)
        assert all(np.array_equal(*pair) for pair in zip(moments(running), expected, strict=True))
        running.writer.do(answers(running, "A", i30="a"))
        assert_as_rebuilt(running)


def test_a_damaged_snapshot_is_not_mapped(tmp_path):
    with service_in(tmp_path, map_above=1) as service:
        running = trained(service)
    path = snapshot_path(running.project, service.snapshots)
    data = bytearray(path.read_bytes())
    data[data.index(b"codes.npy") + 200] ^= 1
    path.write_bytes(data)
    with service_in(tmp_path, map_above=1) as service:
        assert_as_rebuilt(service.open(running.project.id))


@pytest.mark.parametrize(
    "array", [np.arange(5, dtype=np.uint16), np.asfortranarray(np.eye(3)), np.empty((0, 2)), np.array("x")]
)
def test_arrays_come_back_from_a_file(tmp_path, array):
    np.savez(tmp_path / "some.npz", first=np.arange(3), array=array)
    for least in (1, 1 << 20):
        found = LargeArrays(tmp_path, least).read(tmp_path / "some.npz")
        assert list(found) == ["first", "array"]
        assert np.array_equal(found["array"], array)
        assert found["array"].dtype == array.dtype


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="only where room can be reserved")
def test_a_full_disk_is_an_error_at_once(tmp_path):
    with pytest.raises(OSError, match=r"space|large") as error:
        LargeArrays(tmp_path, 1).allocate(1 << 55, np.uint8)
    assert error.value.errno in (errno.ENOSPC, errno.EFBIG)
