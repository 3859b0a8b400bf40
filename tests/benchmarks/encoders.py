"""Raw items: how fast they are encoded, and our model beside a histogram-intersection SVM on the same rows.

Digits of scikit-learn are there always. `ASKNEXT_BENCH_DATA`, a folder, adds scene_photos.zip (train/class/..., test/
class/...) and sms_spam.csv (key, text, label).
"""

import csv
import os
import tempfile
import zipfile
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


def compare(what, encoder, table, labels, n_train):
    """Accuracy of both, each with its parameters found on the training rows: ours by leave-one-out, C by 3 folds."""
    ours = GPHIKClassifier(tune="loo", **encoder.settings())
    fast = timed(lambda: ours.fit(table[:n_train], labels[:n_train]))
    dense = table.toarray()
    kernel = intersection(dense, dense[:n_train])
    theirs = GridSearchCV(SVC(kernel="precomputed"), COSTS, cv=3)
    slow = timed(lambda: theirs.fit(kernel[:n_train], labels[:n_train]))
    scores = ours.score(table[n_train:], labels[n_train:]), theirs.score(kernel[n_train:], labels[n_train:])
    compared = f"intersection SVM {scores[1]:.2%}, {seconds(slow)}"
    points = f"{100 * (scores[0] - scores[1]):+.2f} points"
    yield Row(what, f"{scores[0]:.2%}, {seconds(fast)}", compared, points, "at least the SVM")


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
    order = np.random.default_rng(0).permutation(len(labels))
    for n_train in (200, 800):
        what = f"  accuracy of {n_train} labels, the others as test"
        yield from compare(what, encoder, table[order], labels[order], n_train)


def scenes():
    archive = data_file("scene_photos.zip")
    if archive is None:
        return
    _jit.compile_all()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as file:
        file.extractall(folder)
        paths = sorted(Path(folder).glob("train/*/*.jpg")) + sorted(Path(folder).glob("test/*/*.jpg"))
        n_train = sum(path.parts[-3] == "train" for path in paths)
        labels = np.array([path.parent.name for path in paths])
        encoder, table, row = encoded("image", paths, "photographs of 15 scenes")
    yield row
    yield from compare(f"  accuracy of {n_train} labels, the test set", encoder, table, labels, n_train)
    order = np.random.default_rng(0).permutation(len(labels))
    yield from compare("  accuracy, both sets mixed and split anew", encoder, table[order], labels[order], n_train)


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
        what = f"  accuracy of {n_train} labels, {len(order) - n_train} as test"
        yield from compare(what, encoder, table[order], labels[order], n_train)


def data_file(name):
    """A file of the folder with real data, if there is one."""
    path = Path(os.environ.get("ASKNEXT_BENCH_DATA", "")) / name
    return path if os.environ.get("ASKNEXT_BENCH_DATA") and path.exists() else None
