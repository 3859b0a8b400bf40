"""One label more, exactly, against a fresh fit; and over pools of several kinds, against words alone."""

import numpy as np
import scipy.sparse as sp

from core import Channel, GPHIKClassifier, OnlineLearner, Settings, _jit, share_cores
from tests.benchmarks.data import word_histograms
from tests.benchmarks.rows import Row, seconds, spent, timed, times

ITEMS, NUMBERS, LABELS, REPEATS = 100_000, 384, 1_000, 40
EMBEDDED = "normalised words + linear kernel of 384 numbers"  # as texts have it by default with a pretrained model


def kinds():
    """Settings of each kind of pool, and words and classes of its items."""
    x, y = word_histograms(ITEMS)
    words, numbers = Channel(columns=(0, x.shape[1]), normalise=True), (x.shape[1], x.shape[1] + NUMBERS)
    halves = ((0, x.shape[1] // 2), (x.shape[1] // 2, x.shape[1]))
    settings = {
        "words": {},
        "words, normalised": {"normalise": True},
        "two channels of words, normalised": {"kernel": tuple(Channel(columns=one, normalise=True) for one in halves)},
        EMBEDDED: {"kernel": (words, Channel("linear", columns=numbers))},
        "normalised words + RBF kernel of 384 numbers": {"kernel": (words, Channel("rbf", columns=numbers, gamma=1.0))},
    }
    return settings, x, y


def table_of(settings, x, y):
    """The items of a kind of pool: shares of words, their counts where rows are normalised, and numbers beside them."""
    if not settings:
        return x
    counts = (x * 300).rint()
    if not any(channel.kernel != "hik" for channel in settings.get("kernel", ())):
        return counts
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(10, NUMBERS))
    numbers = (0.3 * centres[y] + rng.normal(size=(ITEMS, NUMBERS))).astype(np.float32) / np.float32(np.sqrt(NUMBERS))
    return sp.hstack([counts, sp.csr_matrix(numbers.astype(np.float64))], format="csr")


def kinds_of_pools():
    """Labels and questions at 1,000 labels of 10 classes: the least processor time, of all threads together.

    A question comes after each label, then that of another person, to whom the same look at the pool serves.
    """
    _jit.compile_all()
    share_cores()
    every, x, y = kinds()
    plain = None
    for what, settings in every.items():
        learner = OnlineLearner(Settings(noise=0.01, **settings), [str(c) for c in range(10)])
        label, question, another, *ahead = _least(learner, table_of(settings, x, y), y)
        plain = plain or label + question
        yield Row(
            f"label + next question, 100,000 items, processor time: {what}",
            f"{seconds(label)} + {seconds(question)}",
            f"words {seconds(plain)}",
            times(label + question, plain),
        )
        yield Row("  the question of another person", seconds(another))
        yield Row("  a question one label ahead: eer, epig", ", ".join(map(seconds, ahead)), aim="150 ms")


def _least(learner, table, y):
    """Least processor seconds of a label, of questions after it by several people, and of those one label ahead."""
    learner.add_items(table)
    order = np.random.default_rng(0).permutation(ITEMS).tolist()
    learner.label_many({item: str(y[item]) for item in order[:LABELS]}, refresh=False)
    learner.label(order[LABELS], str(y[order[LABELS]]))  # which computes what is kept
    labels, first, second, eer, epig = [], [], [], [], []
    for item in order[LABELS + 1 : LABELS + REPEATS]:
        labels.append(spent(lambda item=item: learner.label(item, str(y[item])))[0])
        first.append(spent(lambda: learner.query(1, "unc"))[0])
        second.append(spent(lambda: learner.query(1, "unc", seed=1))[0])
    for item in order[LABELS + REPEATS : LABELS + REPEATS + 10]:
        learner.label(item, str(y[item]))
        chosen, name = (epig, "epig") if len(eer) > len(epig) else (eer, "eer")
        chosen.append(spent(lambda name=name: learner.query(1, name))[0])
    return tuple(map(min, (labels, first, second, eer, epig)))


def one_label(n, posterior, aim):
    _jit.compile_all()
    x, y = word_histograms(n + 40)
    model = GPHIKClassifier(noise=0.01, posterior=posterior)
    fresh = timed(lambda: model.fit(x[:n], y[:n]))
    added = [timed(lambda i=i: model.partial_fit(x[i : i + 1], y[i : i + 1])) for i in range(n, n + 20)]
    what = f"add one label at n = {n:,} ({posterior})"
    yield Row(
        what,
        f"{seconds(float(np.median(added)))} (worst {seconds(max(added))})",
        f"fit {seconds(fresh)}",
        times(fresh, float(np.median(added))),
        aim,
    )
    forget = [timed(lambda i=i: model.forget([i])) for i in range(10)]
    yield Row(
        "  retract one",
        seconds(float(np.median(forget))),
        f"fit {seconds(fresh)}",
        times(fresh, float(np.median(forget))),
    )
    kept = np.setdiff1d(np.arange(n + 20), 2 * np.arange(10))  # later rows move up, so every second one went
    again = GPHIKClassifier(noise=0.01, posterior=posterior).fit(x[kept], y[kept])
    difference = np.abs(model.means(x[n + 20 :]) - again.means(x[n + 20 :])).max()
    yield Row("  largest difference of a mean to a fresh fit", f"{difference:.1e}", aim="1e-8")
