import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import core._parallel
from core import GPHIKClassifier, share_cores
from core._blas import blas_threads
from core._parallel import over_balanced, over_cuts, over_slices
from tests.core.data import word_counts


@pytest.mark.jit
@pytest.mark.parametrize("posterior", ["dual", "levels", "iterative"])
def test_16_threads_scoring_at_once_give_the_serial_result(posterior):
    x, y = word_counts(600, 80, 4)
    query, _ = word_counts(20_000, 80, 4, seed=3)  # large enough for every call to fork
    model = GPHIKClassifier(posterior=posterior).fit(x, y)
    pool = model.code(query)
    few = x[:40]

    def score(_):
        return model.means(pool), model.means(query), model.predict_proba(few)

    serial = score(None)
    with ThreadPoolExecutor(16) as executor:
        for coded, raw, probabilities in executor.map(score, range(32)):
            assert np.array_equal(coded, serial[0])
            assert np.array_equal(raw, serial[1])
            assert np.allclose(probabilities, serial[2], atol=1e-7)  # BLAS splits its sums by the threads it gets


@pytest.mark.jit
def test_16_threads_training_at_once_give_the_serial_result():
    x, y = word_counts(3000, 80, 4)
    serial = GPHIKClassifier(posterior="levels").fit(x, y).means(x[:50])
    with ThreadPoolExecutor(16) as executor:
        for means in executor.map(lambda _: GPHIKClassifier(posterior="levels").fit(x, y).means(x[:50]), range(32)):
            assert np.allclose(means, serial, atol=1e-10)  # BLAS splits its sums by the threads it gets


@pytest.mark.parametrize("n", [0, 1, 5, 17])
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_slices_cover_everything_once(n, limit, monkeypatch):
    monkeypatch.setattr(core._parallel, "threads", lambda: limit)
    hits = np.zeros(n)

    def run(lo, hi):
        hits[lo:hi] += 1

    over_slices(run, n, work=1e12)
    assert (hits == 1).all()
    over_balanced(run, np.arange(n) ** 2.0 * 1e9)
    assert (hits == 2).all()


def test_an_error_in_any_slice_is_raised():
    def run(lo, hi):
        if lo == 2:
            raise RuntimeError("slice 2")

    with pytest.raises(RuntimeError, match="slice 2"):
        over_cuts(run, [0, 1, 2, 3])


def test_little_work_starts_no_thread():
    seen = []
    over_slices(lambda lo, hi: seen.append(threading.current_thread()), 100, work=100)
    assert seen == [threading.main_thread()]


def blas_threads_in_use():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_all_cores_for_much_work_alone():
    share_cores()
    assert blas_threads_in_use() == {1}
    with blas_threads(10.0):
        assert blas_threads_in_use() == {1}
        with blas_threads(1e12), blas_threads(1e12):
            assert blas_threads_in_use() == {core._parallel.threads()}
        assert blas_threads_in_use() == {1}
    with pytest.raises(KeyError), blas_threads(1e12):
        raise KeyError
    assert blas_threads_in_use() == {1}
