"""A pool on a cluster: the answers of one process, to the last bit, whoever is killed."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core import Channel, Labelling, OnlineLearner, Settings
from core.histograms import Chunked
from core.queries import STRATEGIES
from tests.core.data import word_counts

M = 5000
NAMES = ["ant", "bee", "cat"]


class Rows:
    """A table that is made anew wherever it is read; slowly, if need be."""

    def __init__(self, wait: float = 0.0) -> None:
        self.wait = wait

    def __call__(self, first: int, last: int):
        time.sleep(self.wait)
        return word_counts(M, 12, 3, words=20)[0][first:last]


def built(engine, wait=0.0, **settings):
    table = Chunked((M, 12), Rows(wait))
    return OnlineLearner.build(Settings(levels=16, **settings), table, Labelling(tuple(NAMES)), engine=engine)


def taught(learner):
    """Everything that may happen to a pool; what is seen on the way."""
    y = word_counts(M, 12, 3, words=20)[1]
    seen = [learner.query(3, seed=1)]
    learner.label_many({i: NAMES[y[i]] for i in range(0, M, M // 12)})
    learner.label(7, NAMES[y[7]], noise_factor=2.0)
    seen += [learner.query(2, "emoc", seed=2, explore=0.5), learner.query(1, "unc+", pending=np.array([3, 4000]))]
    learner.label(7, "dog")
    learner.retract(0)
    learner.add_items(word_counts(40, 12, 3, words=20, seed=5)[0])
    learner.label(M + 1, "bee", drawn=True)
    learner.tune()
    learner.label_many({i: NAMES[y[i]] for i in range(1, M, M // 30)})
    seen.append(learner.query(2, "unc+", variance="qfapu"))
    pending = np.array([17, 2500])
    return seen + [learner.query(4, name, seed=4, pending=pending, wanted="bee") for name in STRATEGIES]


def same(a, b):
    assert np.array_equal(a.mean, b.mean)
    assert np.array_equal(a.variance, b.variance)
    x, y = a.publish(), b.publish()
    assert np.array_equal(x.uncertainty, y.uncertainty)
    assert np.array_equal(x.left_out.means, y.left_out.means)
    assert x.estimates() == y.estimates()
    assert a.residual() == b.residual()


@pytest.fixture(scope="module")
def alone():
    learner = built(None)
    return learner, taught(learner)


def test_the_same_answers_as_in_one_process(cluster, alone):
    learner = built(cluster)
    assert not learner.is_here
    assert taught(learner) == alone[1]
    same(learner, alone[0])


SUM = (Channel(columns=(0, 8), normalise=True), Channel("rbf", columns=(6, 12)), Channel("linear", columns=(8, 12)))


@pytest.mark.parametrize("settings", [{"normalise": True}, {"kernel": SUM}], ids=["normalised", "sum"])
def test_what_texts_and_tables_are_seen_by_lives_on_workers_too(cluster, settings):
    """To rounding: products of dense blocks depend on their shape."""
    far, here = built(cluster, **settings), built(None, **settings)
    assert not far.is_here
    for learner in (far, here):
        briefly(learner)
        learner.add_items(word_counts(40, 12, 3, words=20, seed=5)[0])
        learner.label(M + 1, "bee")
        learner.tune()
    assert np.allclose(far.mean, here.mean, atol=1e-8)
    assert np.allclose(far.variance, here.variance, atol=1e-8)
    assert [pick.row for pick in far.query(3, seed=1)] == [pick.row for pick in here.query(3, seed=1)]


def killed(seconds, kill, work):
    """What work gives, in whose middle somebody is killed."""
    with ThreadPoolExecutor(1) as executor:
        found = executor.submit(work)
        time.sleep(seconds)
        assert not found.done()
        kill()
        return found.result(60)


def briefly(learner):
    """Some labels and questions."""
    y = word_counts(M, 12, 3, words=20)[1]
    learner.label_many({i: NAMES[y[i]] for i in range(0, M, M // 12)})
    learner.label(7, NAMES[y[7]])
    return learner.query(3, "unc", seed=1)


@pytest.fixture(scope="module")
def brief():
    learner = built(None)
    return learner, briefly(learner)


def test_a_worker_is_killed_in_the_middle_of_training(cluster, brief, kill_a_worker):
    learner = killed(1.0, kill_a_worker, lambda: built(cluster, wait=0.5))
    assert briefly(learner) == brief[1]
    same(learner, brief[0])


def test_workers_are_killed_in_the_middle_of_scoring(cluster, brief, kill_a_worker):
    learner = built(cluster, wait=0.5)
    briefly(learner)
    kill_a_worker()  # what it held is to be made again before anything can be scored, and that is slow
    assert killed(0.7, kill_a_worker, lambda: learner.query(3, "unc", seed=1)) == brief[1]
    same(learner, brief[0])
