"""Photographs, end to end over HTTP, beside pipelines over the same encoder's rows and over plain features."""

import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from app.client import Answer, Client
from app.encoders import fit
from app.services.model.training import FIRST_TRAINING, GROWTH
from tests.app.live import ADMIN, Process
from tests.benchmarks.others import intersection
from tests.benchmarks.sight.curves import IntersectionSVC, Result, add, by_margin, score, show

BUDGETS = (100, 200, 400, 600)
FIRST = 20  # labels drawn at random, the same for all
OURS: dict[str, dict[str, Any]] = {"AskNext": {}, "AskNext, set to softmax": {"likelihood": "softmax"}}
PATIENCE = 600.0  # seconds until a server on a busy machine is ready
SIDE, CELL, TURNS = 128, 16, 9  # of the plain features


def pictures(folder: Path, seeds: int, only: str | None = None) -> None:
    """Two thirds of the photographs as the pool."""
    with photographs(folder) as (paths, labels):
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(labels))
            pool, test = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
            files = [[paths[i] for i in part] for part in (pool, test)]
            first = np.arange(FIRST)
            for title, run in pipelines(*files, labels[pool], labels[test], first).items():
                add(curves, title, run)
            for title, settings in OURS.items():
                add(curves, title, over_http(*files, labels[pool], labels[test], first, settings))
        show("photographs of 15 scenes", curves)


@contextmanager
def photographs(folder: Path) -> Iterator[tuple[list[Path], np.ndarray]]:
    """Files, and the folders that are their classes."""
    with tempfile.TemporaryDirectory() as unpacked, zipfile.ZipFile(folder / "scene_photos.zip") as archive:
        archive.extractall(unpacked)
        paths = sorted(Path(unpacked).glob("*/*/*.jpg"))
        yield paths, np.array([path.parent.name for path in paths])


def over_http(pool: Sequence[Path], test: Sequence[Path], labels, truth, first, settings: dict[str, Any]) -> Result:
    """A project that guesses its encoder; the person skips all test pictures, so that they are predicted only."""
    classes = sorted({*labels, *truth})
    with tempfile.TemporaryDirectory() as data:
        server = Process(None, Path(data, "data"))
        server.patience = PATIENCE
        server.start()
        try:
            with Client(server.address, ADMIN, timeout=600) as client:
                project = client.create_project("scenes", classes, {"encoder": "auto"} | settings).id
                keys = [[f"{kind}{i}.jpg" for i in range(len(part))] for kind, part in (("p", pool), ("t", test))]
                upload = Path(data, "scenes.zip")
                with zipfile.ZipFile(upload, "w") as archive:
                    for key, path in zip([*keys[0], *keys[1]], [*pool, *test], strict=True):
                        archive.write(path, key)
                client.wait_for_job(project, client.import_file(project, upload))
                client.answer(project, [Answer(key, action="skip") for key in keys[1]])
                return answered(client, project, dict(zip(keys[0], labels, strict=True)), keys, truth, first)
        finally:
            server.stop()


def answered(client: Client, project: str, label_of: dict[str, str], keys, truth, first) -> Result:
    """Answer what is asked, one by one, and wait for each training, as a person who works slowly."""
    pool, test = keys
    found, trained = {}, 0
    for n in range(1, max(BUDGETS) + 1):
        key = pool[first[n - 1]] if n <= len(first) else client.query(project)[0].key
        client.label(project, key, label_of[key])
        if n >= max(FIRST_TRAINING, GROWTH * trained):
            client.wait_for_job(project, client.train(project))  # the one that begins by itself, if it has begun
            trained = n
        if n in BUDGETS:
            predictions = client.predict(project, keys=test)
            classes = np.array(list(predictions[0].probabilities))
            p = np.array([[prediction.probabilities[c] for c in classes] for prediction in predictions])
            found[n] = score(p, classes, truth)
    return found


def pipelines(pool: Sequence[Path], test: Sequence[Path], labels, truth, first) -> dict[str, Result]:
    """HIK-SVM and logistic regression over the same rows, and logistic regression over plain features."""
    encoder = fit("image", pool)
    x, x_test = (encoder.encode(part).table.toarray() for part in (pool, test))
    rows = np.arange(len(pool) + len(test))
    svc = IntersectionSVC(intersection(np.vstack([x, x_test]), x))
    plain, plain_test = (np.stack([plain_features(path) for path in part]) for part in (pool, test))
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    n, asked = len(pool), (truth, first, BUDGETS)
    return {
        "HIK-SVM, same rows": by_margin(svc, rows[:n], labels, rows[n:], *asked),
        "LR, same rows": by_margin(regression, x, labels, x_test, *asked),
        "HOG and colours + LR": by_margin(regression, plain, labels, plain_test, *asked),
    }


def plain_features(path: Path) -> np.ndarray:
    """Histograms of oriented gradients in cells, each of length 1, and of each colour channel."""
    with Image.open(path) as image:
        picture = np.asarray(image.convert("RGB").resize((SIDE, SIDE)), dtype=float)
    down, right = np.gradient(picture.mean(axis=2))
    turn = (np.arctan2(down, right) % np.pi / np.pi * TURNS).astype(int).clip(0, TURNS - 1)
    cell = np.add.outer(np.arange(SIDE) // CELL * (SIDE // CELL), np.arange(SIDE) // CELL)
    counts = np.bincount((cell * TURNS + turn).ravel(), np.hypot(down, right).ravel(), (SIDE // CELL) ** 2 * TURNS)
    cells = counts.reshape(-1, TURNS)
    cells /= np.linalg.norm(cells, axis=1, keepdims=True) + 1.0
    colours = [np.histogram(picture[..., c], 8, (0, 256))[0] / SIDE**2 for c in range(3)]
    return np.concatenate([cells.ravel(), *colours])
