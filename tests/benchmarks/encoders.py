"""Raw items: how fast they are encoded, and our model beside a histogram-intersection SVM on the same rows.

Digits of scikit-learn are there always. `ASKNEXT_BENCH_DATA`, a folder, adds scene_photos.zip (train/class/..., test/
class/...) and sms_spam.csv (key, text, label).
"""

import csv
import os
import tempfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from app.encoders import fit
from core import GPHIKClassifier, _jit
from tests.benchmarks.others import intersection
from tests.benchmarks.rows import Row, seconds, timed

COSTS = {"C": [0.1, 1.0, 10.0, 100.0]}
SPLITS = 5


def compare(what, encoder, table, labels, n_train):
    """Accuracy of both on the same random splits, each with its parameters found on the training rows.

    Ours are found by leave-one-out, C by 3 folds. The difference is a mean over splits with its standard error.
    """
    kernel = intersection(table.toarray(), table.toarray())
    ours, theirs, times = [], [], []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(labels))
        train, test = order[:n_train], order[n_train:]
        model = GPHIKClassifier(tune="loo", **encoder.settings())
        svm = GridSearchCV(SVC(kernel="precomputed"), COSTS, cv=3)
        times.append(
            [
                timed(partial(model.fit, table[train], labels[train])),
                timed(partial(svm.fit, kernel[np.ix_(train, train)], labels[train])),
            ]
        )
        ours.append(model.score(table[test], labels[test]))
        theirs.append(svm.score(kernel[np.ix_(test, train)], labels[test]))
    gain = 100 * np.subtract(ours, theirs)
    fast, slow = np.mean(times, axis=0)
    compared = f"intersection SVM {np.mean(theirs):.2%}, {seconds(slow)}"
    points = f"{gain.mean():+.2f} points, se {gain.std(ddof=1) / SPLITS**0.5:.2f}"
    yield Row(what, f"{np.mean(ours):.2%}, {seconds(fast)}", compared, points, "at least the SVM")


def encoded(kind, raws, what, options=None):
    """Encoder and table, and a row that tells how long that took."""
    found = []
    fitting = timed(lambda: found.append(fit(kind, raws, options)))
    coding = timed(lambda: found.append(found[0].encode(raws)))
    columns = f"{found[1].table.shape[1]} columns"
    row = Row(what, f"fit {seconds(fitting)}, encode {seconds(coding)}", f"{len(raws)} items, {columns}")
    return found[0], found[1].table, row


def digits():
    _jit.compile_all()
    images, labels = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{place}.png") for place in range(len(images))]
        for path, image in zip(paths, images, strict=True):
            Image.fromarray((image.reshape(8, 8) * 15.9).astype(np.uint8)).save(path)
        encoder, table, row = encoded("image", paths, "digits as PNG files")
    yield row
    for n_train in (200, 800):
        what = f"  accuracy of {n_train} labels, the others as test, {SPLITS} splits"
        yield from compare(what, encoder, table, labels, n_train)


def scenes():
    archive = data_file("scene_photos.zip")
    if archive is None:
        return
    _jit.compile_all()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as file:
        file.extractall(folder)
        paths = sorted(Path(folder).glob("*/*/*.jpg"))
        labels = np.array([path.parent.name for path in paths])
        encoder, table, row = encoded("image", paths, "photographs of 15 scenes")
    yield row
    n_train = 2 * len(labels) // 3
    yield from compare(f"  accuracy of {n_train} labels, {SPLITS} splits", encoder, table, labels, n_train)


def messages():
    path = data_file("sms_spam.csv")
    if path is None:
        return
    _jit.compile_all()
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    labels = np.array([row["label"] for row in rows])
    encoder, table, row = encoded("text", [row["text"] for row in rows], "text messages")
    yield row
    order = np.random.default_rng(0).permutation(len(labels))[:3000]
    for n_train in (200, 1000):
        what = f"  accuracy of {n_train} labels, {len(order) - n_train} as test, {SPLITS} splits"
        yield from compare(what, encoder, table[order], labels[order], n_train)


def data_file(name):
    """A file of the folder with real data, if there is one."""
    path = Path(os.environ.get("ASKNEXT_BENCH_DATA", "")) / name
    return path if os.environ.get("ASKNEXT_BENCH_DATA") and path.exists() else None
