from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from core import OnlineLearner, Settings
from core.models.gaussian import GaussianPool
from tests.core.data import continuous, size, word_counts
from tests.reference.dense import DenseGP, hik, targets

NAMES = ["ant", "bee", "cat"]
N = size(80, 24)


def learner_of(x, *, classes=NAMES, **settings):
    learner = OnlineLearner(Settings(**{"levels": None, **settings}), list(classes))
    learner.add_items(x)
    return learner


def check(learner, x, labels, noise_factors=None, *, balance=False):
    """Equal to the textbook on the labels given as {item: class number}."""
    rows = np.array(list(labels), dtype=int)
    y = np.array(list(labels.values()), dtype=int)
    m = len(learner.classes)
    noise = 0.1 * np.array([(noise_factors or {}).get(i, 1.0) for i in rows])
    if balance and len(y):
        noise = noise * m * np.bincount(y, minlength=m)[y] / len(y)
    K = hik(x, x, bias=1.0)
    gp = DenseGP(K[np.ix_(rows, rows)], targets(y, m), noise)
    assert np.allclose(learner.mean, gp.means(K[rows]), atol=1e-8)
    assert np.allclose(learner.variance, gp.variance(K[rows], np.diag(K)), atol=1e-8)
    expected = np.full(len(x), -1)
    expected[rows] = y
    assert np.array_equal(learner.labels, expected)


@pytest.mark.parametrize("posterior", ["auto", "dual", "levels", "iterative"])
@pytest.mark.parametrize("balance", [False, True])
def test_labels_corrections_retractions_new_classes_and_new_items(posterior, balance):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x[: N - 6], posterior=posterior, balance=balance)
    labels = {}
    check(learner, x[: N - 6], labels)
    for item in range(8):
        learner.label(item, NAMES[y[item]])
        labels[item] = y[item]
        check(learner, x[: N - 6], labels, balance=balance)
    learner.retract(3)
    del labels[3]
    learner.label(5, "dodo")  # a correction, and a name nobody has used
    labels[5] = 3
    check(learner, x[: N - 6], labels, balance=balance)
    learner.add_items(x[N - 6 :] * 0.9)  # new values: new levels
    all_x = np.vstack([x[: N - 6], x[N - 6 :] * 0.9])
    check(learner, all_x, labels, balance=balance)
    learner.label(N - 1, "ant")
    labels[N - 1] = 0
    check(learner, all_x, labels, balance=balance)


def test_doubt_is_noise_of_its_own():
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x)
    labels, noise_factors = {}, {0: 3.0, 1: 0.5, 2: 1.0}
    for item, noise_factor in noise_factors.items():
        learner.label(item, NAMES[y[item]], noise_factor=noise_factor)
        labels[item] = y[item]
    check(learner, x, labels, noise_factors)
    learner.label(0, NAMES[y[0]], noise_factor=1.0)  # the same label, trusted more
    noise_factors[0] = 1.0
    learner.retract(1)
    del labels[1]
    labels = {2: labels[2], 0: labels[0]}
    check(learner, x, labels, noise_factors)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_dense_kernels(kernel):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    learner = OnlineLearner(Settings(kernel=kernel, gamma=0.2), ["a", "b"])
    learner.add_items(x[:20])
    for item in range(6):
        learner.label(item, "ab"[item % 2])
    learner.add_items(x[20:])
    learner.retract(2)
    mean, variance = learner.mean, learner.variance
    learner._model.refresh()
    assert np.allclose(mean, learner.mean, atol=1e-9)
    assert np.allclose(variance, learner.variance, atol=1e-9)
    assert learner.query(3)


def test_questions_start_with_what_stands_for_the_pool_and_go_over_to_the_strategy():
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x)
    first = learner.query(1)[0]
    assert first.strategy == "herding"
    learner.label(first.row, NAMES[y[first.row]])
    assert learner.query(1)[0].strategy == "herding"  # one class: still nothing to tell apart
    other = int(np.flatnonzero(y != y[first.row])[0])
    learner.label(other, NAMES[y[other]])
    question = learner.query(1, "unc")[0]
    assert question.strategy == "unc"
    assert question.row not in (first.row, other)
    assert learner.query(1, "random", seed=3)[0].strategy == "random"


@pytest.mark.parametrize("kernel", ["hik", "rbf"])
def test_a_cold_start_goes_around_the_clusters(kernel):
    x = np.repeat(np.eye(6), 20, axis=0) + 0.01 * np.arange(120)[:, None] % 0.05
    learner = learner_of(x, classes=["a"], kernel=kernel, gamma=1.0)
    assert len({p.row // 20 for p in learner.query(6)}) == 6
    pending: list[int] = []
    for _ in range(6):
        pending.append(learner.query(1, pending=np.array(pending, dtype=int))[0].row)
    assert len({row // 20 for row in pending}) == 6


def test_pending_items_are_not_asked_again_and_an_empty_pool_says_nothing():
    x, y = word_counts(10, 8, 3)
    learner = learner_of(x)
    for item in range(6):
        learner.label(item, NAMES[y[item]])
    pending = np.array([6, 7])
    assert {p.row for p in learner.query(5, pending=pending)} == {8, 9}
    assert learner.query(1, pending=np.arange(6, 10)) == []


@pytest.mark.jit
@pytest.mark.parametrize("strategy", ["unc", "unc+", "entropy", "bald", "emoc", "density"])
def test_asking_beats_not_asking(strategy):
    x, y = word_counts(400, 30, 3, words=20, seed=2)
    learner = learner_of(x)
    for _ in range(40):
        item = learner.query(1, strategy)[0].row
        learner.label(item, NAMES[y[item]])
    best = learner.mean.argmax(axis=1)
    right = np.array([learner.classes[c] == NAMES[t] for c, t in zip(best, y, strict=True)])
    assert right.mean() > 0.85


def test_a_published_view_does_not_change():
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x)
    for item in range(5):
        learner.label(item, NAMES[y[item]])
    view = learner.publish()
    before = view.mean.copy(), view.variance.copy(), view.labels.copy(), view.probabilities
    learner.label(9, "new")
    learner.retract(0)
    learner.add_items(x[:2])
    for now, then in zip((view.mean, view.variance, view.labels, view.probabilities), before, strict=True):
        assert np.array_equal(now, then)
    assert view.classes == ("ant", "bee", "cat")
    assert learner.publish().version > view.version
    assert np.allclose(view.probabilities.sum(axis=1), 1.0)


@pytest.mark.jit
def test_tuning_keeps_the_pool_exact():
    x, y = word_counts(200, 20, 3)
    learner = learner_of(x, transform="power")
    learner.tune()  # nothing to tune by
    for item in range(40):
        learner.label(item, NAMES[y[item]])
    before = learner.noise
    learner.tune()
    assert learner.noise != before
    mean = learner.mean
    learner._model.refresh()
    assert np.allclose(mean, learner.mean)


def test_bad_calls_lose_nothing():
    x, _ = word_counts(10, 4, 2)
    learner = learner_of(sp.csr_matrix(x), classes=["a", "b"])
    learner.label(0, "a")
    before = learner.mean
    for call, message in [
        (lambda: learner.label(10, "a"), "from 0 to 9"),
        (lambda: learner.label(-1, "a"), "from 0 to 9"),
        (lambda: learner.label(1, "a", noise_factor=0.0), "noise_factor must be"),
        (lambda: learner.retract(1), "no label"),
        (lambda: learner.add_items(-x), "Negative"),
        (lambda: learner.query(1, "best"), "strategy must be"),
        (lambda: learner.query(1, pending=np.array([-1])), "pending items"),
        (lambda: learner.label(1, 5), "class name must be text"),
        (lambda: OnlineLearner(Settings(), ["a", "a"]), "named twice"),
        (lambda: OnlineLearner(Settings()).publish(), "no items yet"),
        (lambda: learner_of(x[:1], complement=True), "first items that differ"),
        (lambda: OnlineLearner(Settings(noise=-1.0)), "noise"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert np.allclose(learner.mean, before, atol=1e-12)


@pytest.mark.parametrize("posterior", ["dual", "levels"])
def test_a_change_that_fails_half_way_is_taken_back(posterior, monkeypatch):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x, posterior=posterior)
    labels = {item: y[item] for item in range(6)}
    for item, number in labels.items():
        learner.label(item, NAMES[number])
    kind = type(learner._model.model.posterior)
    for call, step in (
        (lambda: learner.label(7, "dodo"), "_added"),
        (lambda: learner.retract(2), "_removed"),
        (lambda: learner.label(1, "dodo"), "_retargeted"),
    ):
        working = getattr(kind, step)

        def fail(self, *args, step=step, working=working):
            setattr(kind, step, working)
            raise MemoryError("full")

        monkeypatch.setattr(kind, step, fail)
        with pytest.raises(MemoryError):
            call()
        assert learner.classes == NAMES
        check(learner, x, labels)
    learner.label(7, "dodo")
    check(learner, x, labels | {7: 3})


def test_items_that_cannot_be_read():
    learner = OnlineLearner(Settings(), ["a", "b"])
    for call, message in [
        (lambda: learner.label(0, "a"), "no items yet"),
        (lambda: learner.predict([[1.0]]), "no items yet"),
        (lambda: learner.add_items([[1.0, np.nan]]), "NaN at row 0, column 1"),
        (lambda: learner.add_items(np.empty((0, 3))), "at least one row"),
        (lambda: learner.add_items([1.0, 2.0]), "at least one row"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert learner.query(3) == []
    learner.add_items([[1.0, 0.0]])
    with pytest.raises(ValueError, match="3 columns; the first items had 2"):
        learner.add_items([[1.0, 0.0, 2.0]])
    with pytest.raises(ValueError, match="3 columns"):
        learner.predict([[1.0, 0.0, 2.0]])
    assert len(learner) == 1


def test_pool_rows_are_quantised_alike_for_labels_and_predictions():
    x = continuous(N, 6)
    y = (x.sum(axis=1) > np.median(x.sum(axis=1))).astype(int)
    learner = learner_of(x, levels=5, classes=["a", "b"])
    for item in range(12):
        learner.label(item, "ab"[y[item]])
    mean, variance = learner.mean, learner.variance
    learner._model.refresh()
    assert np.allclose(mean, learner.mean, atol=1e-9)
    assert np.allclose(variance, learner.variance, atol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"posterior": "levels", "levels": 6},
        {"complement": True},
        {"normalise": True},
        {"split": True},
        {"kernel": "rbf"},
        {"kernel": "linear"},
        {"balance": True},
    ],
    ids=str,
)
def test_a_restored_learner_predicts_the_same_bit_for_bit(settings):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x[:-4], **settings)
    for item in range(12):
        learner.label(item, NAMES[y[item]], drawn=item % 2 == 0, noise_factor=1.0 + item % 3)
    learner.add_items(x[-4:] * 0.93)
    learner.retract(4)
    learner.label(2, "dodo")
    if not settings.get("balance"):
        learner.tune()
    arrays = {name: array.copy() for name, array in learner.dump().items()}
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    again = OnlineLearner.load(learner.settings, arrays)
    for live, restored in (
        (learner.mean, again.mean),
        (learner.variance, again.variance),
        (learner.labels, again.labels),
    ):
        assert np.array_equal(live, restored)
    assert again.classes == learner.classes
    assert again.version == learner.version
    assert again.estimates() == learner.estimates()
    assert again.accuracy() == learner.accuracy()
    assert again.query(5, "unc", seed=3) == learner.query(5, "unc", seed=3)
    for one in (learner, again):
        one.add_items(x[:2] * 0.7)
        one.label(20, "ant")
        one.retract(0)
    assert np.allclose(again.mean, learner.mean, atol=1e-10)


def test_one_class_scores_and_the_way_to_more():
    x, y = word_counts(N, 8, 3, words=200)
    learner = learner_of(x, classes=[])
    members = np.flatnonzero(y == 1)
    for item in members[:4]:
        learner.label(int(item), "bee")
    mean, variance = learner.one_class()
    rest = np.setdiff1d(np.arange(N), members[:4])
    for score in (mean, variance):
        assert score[rest][y[rest] == 1].mean() > score[rest][y[rest] != 1].mean()
    learner.label(int(np.flatnonzero(y == 2)[0]), "cat")
    with pytest.raises(ValueError, match="exactly one class; there are 2"):
        learner.one_class()


def test_estimates_grow_with_the_labels():
    x, y = word_counts(size(150, 60), 8, 3, words=200)
    learner = learner_of(x)
    assert [one.value for one in learner.estimates()] == [None] * 3
    assert learner.accuracy().value is None
    for item in range(50):
        learner.label(item, NAMES[y[item]], drawn=True)
    left_out, stable, doubt = learner.estimates()
    assert left_out.low <= left_out.value <= left_out.high
    drawn = learner.accuracy()
    assert drawn.value == pytest.approx(np.mean([draw.right for draw in learner._record.draws.values()]))
    assert [draw.labels for draw in learner._record.draws.values()] == list(range(50 - drawn.drawn, 50))
    assert stable.value is not None
    assert 0.0 < doubt.value < 1.0
    assert all(one.meaning for one in (left_out, stable, doubt))


@pytest.mark.parametrize("noise", [1e-4, 1e-8, 1e-10, 1e-12, 1e-14])
@pytest.mark.parametrize("settings", [{"posterior": "dual"}, {"posterior": "levels"}, {"kernel": "rbf"}])
def test_labels_taken_back_with_little_noise(settings, noise):
    x, y = word_counts(N, 8, 3)
    x[9], x[11] = x[4], x[5]  # equal items, so that one tells all of the other
    learner, fresh = (learner_of(x, noise=noise, **settings) for _ in range(2))
    learner.label_many({item: NAMES[y[item]] for item in range(12)})
    for item in (3, 9, 7):
        learner.retract(item)
    fresh.label_many({item: NAMES[y[item]] for item in (0, 1, 2, 4, 5, 6, 8, 10, 11)}, refresh=False)
    fresh._model.refit()
    fresh._model.refresh()
    assert np.allclose(learner.mean, fresh.mean, atol=1e-6)
    assert np.allclose(learner.variance, fresh.variance, atol=1e-6)


def test_numbers_that_are_none():
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x)
    learner.label_many({item: NAMES[y[item]] for item in range(6)})
    before, version = learner.mean.copy(), learner.version
    for call, message in [
        *(
            (lambda item=item: learner.label(item, NAMES[0]), "item must be a whole number")
            for item in (1.0, True, "1")
        ),
        *((lambda item=item: learner.label_many({item: NAMES[0]}), "item must be a whole") for item in (9.0, True)),
        *((lambda item=item: learner.retract(item), "item must be a whole number") for item in (1.0, True, None)),
        *((lambda item=item: learner.label_of(item), "item must be a whole number") for item in (1.0, True, N)),
        *((lambda item=item: learner.contributions(item), "item must be a whole number") for item in (1.0, True)),
        *(
            (lambda d=d: learner.label(8, NAMES[0], noise_factor=d), "noise_factor must be a finite")
            for d in (True, np.nan, "2", None)
        ),
        *(
            (lambda e=e: learner.query(explore=e), "explore must be a number from 0 to 1")
            for e in (np.nan, -0.1, 1.5, "a")
        ),
        *((lambda c=c: learner.query(c), "count must be a whole number") for c in (1.0, True, -1, None)),
        *((lambda s=s: learner.query(seed=s), "seed must be a whole number") for s in (0.5, True, -1)),
        *((lambda p=p: learner.query(pending=p), "pending items must be whole numbers") for p in ([8.0], [True], [N])),
        *((lambda a=a: learner.query(among=a), "among items must be whole numbers") for a in ([8.5], [False], [-1])),
        (lambda: learner.moments_of(np.array([1.5])), "items must be whole numbers"),
        (lambda: learner.predicted(np.ones(N, dtype=bool)), "items must be whole numbers"),
        (lambda: learner.remember({1.0: (1, 2, 9)}), "item must be a whole number"),
        (lambda: learner.remember({1: (0.5, 2, 9)}), "right must be a whole number"),
        (lambda: learner.remember({1: (2, 2, 9)}), "right must be 1 or 0"),
        (lambda: learner.remember({1: (1, -1, 9)}), "labels must be a whole number"),
        (lambda: learner.remember({1: (1, 2, 0)}), "items must be a whole number"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert np.array_equal(learner.mean, before)
    assert learner.version == version
    learner.label(np.int64(9), NAMES[0])
    assert OnlineLearner(Settings()).query(0) == []
    with pytest.raises(ValueError, match="explore"):
        OnlineLearner(Settings()).query(explore=np.nan)


@pytest.mark.parametrize("settings", [{}, {"likelihood": "softmax"}, {"model": "forest"}])
def test_what_is_read_cannot_be_written(settings):
    x, y = word_counts(N, 8, 3)
    learner = learner_of(x, **settings)
    learner.label_many({item: NAMES[y[item]] for item in range(6)})
    state = learner.dump(refit=False)
    for handed in (learner.mean, learner.variance, state["mean"], state["variance"]):
        with pytest.raises(ValueError, match="read-only"):
            handed[0] = 7.0
    before = learner.publish()
    labels = before.labels.copy()
    state["labels"][:] = 2
    learner.labels[:] = 2
    learner.moments_of(np.arange(3))[0][:] = 7.0
    assert np.array_equal(learner.publish().labels, labels)
    assert np.array_equal(before.labels, labels)
    assert np.array_equal(learner.mean, before.mean)


def test_a_pool_that_is_no_number_is_computed_anew_when_a_label_is_taken_back():
    learner = OnlineLearner(Settings(posterior="dual"))
    learner.add_items(np.random.default_rng(0).random((12, 3)))
    learner.label_many({0: "a", 1: "b", 2: "a"})
    labelled = learner._model
    part = labelled.pool.parts.part
    labelled.pool.parts = replace(labelled.pool.parts, part=replace(part, mean=part.mean * np.nan))
    learner.retract(2)
    assert np.isfinite(learner.mean).all()


@pytest.mark.parametrize("posterior", ["dual", "levels"])
def test_a_label_that_is_taken_back_costs_no_look_at_the_whole_pool(posterior, monkeypatch):
    x, y = word_counts(40, 8, 2)
    learner = OnlineLearner(Settings(posterior=posterior), ["a", "b"])
    learner.add_items(x)
    learner.label_many({item: "ab"[y[item]] for item in range(12)})

    def refuse(*_):
        raise AssertionError("the whole pool")

    monkeypatch.setattr(GaussianPool, "refresh", refuse)
    learner.retract(3)
    learner.label(4, "ab"[1 - y[4]])
    mean, variance = learner.moments(x)
    assert np.allclose(learner.mean, mean, atol=1e-8)
    assert np.allclose(learner.variance, variance, atol=1e-8)
    assert learner.publish().rounds == 0
