"""Raw texts, beside logistic regression of tf-idf and, where a pretrained model is at hand, of embeddings."""

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from app.encoders.contract import silent
from app.encoders.pretrained import AUTO, Pretrained, chosen, cut
from app.settings import ServiceSettings
from tests.benchmarks.sight.curves import POOL, TEST, Result, add, asknext, by_margin, show

BUDGETS = (50, 100, 200, 400)
FIRST = 10  # labels drawn at random, the same for all


def texts_of(folder: Path):
    """(name, texts, labels) of each set."""
    with zipfile.ZipFile(folder / "texts.zip") as archive:
        for name in archive.namelist():
            with io.TextIOWrapper(archive.open(name), encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            yield name, [row["text"] for row in rows], np.array([row["label"] for row in rows])
    with (folder / "sms_spam.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    yield "sms_spam.csv", [row["text"] for row in rows], np.array([row["label"] for row in rows])


def texts(folder: Path, seeds: int, only: str | None = None) -> None:
    """Words and characters beside tf-idf with logistic regression, and with embeddings beside the same of these."""
    model_name = ServiceSettings().text_model or chosen(AUTO, "text")
    pretrained = Pretrained.of(model_name, "text") if model_name else None
    print(f"pretrained model: {model_name or 'none at hand'}", flush=True)
    for name, all_texts, labels in texts_of(folder):
        if only not in (None, name):
            continue
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(labels))
            pool, test = order[:POOL], order[POOL : POOL + TEST]
            first = np.arange(FIRST)
            some, others = [all_texts[i] for i in pool], [all_texts[i] for i in test]
            given = labels[pool], labels[test], first, BUDGETS
            run = asknext("text", some, given[0], others, given[1], first, BUDGETS, {"model": None})
            add(curves, "AskNext", run)
            for title, sublinear, cost in (("tf-idf + LR", False, 1.0), ("tf-idf (sublinear) + LR, C=10", True, 10.0)):
                tfidf = TfidfVectorizer(sublinear_tf=sublinear).fit(some)
                x, x_test = tfidf.transform(some), tfidf.transform(others)
                model = LogisticRegression(C=cost, max_iter=300)
                add(curves, title, by_margin(model, x, given[0], x_test, *given[1:]))
            if pretrained is not None:
                run = asknext("text", some, given[0], others, given[1], first, BUDGETS, {"model": model_name})
                add(curves, "AskNext with embeddings", run)
                x, x_test = (pretrained.embed(part, cut, silent) for part in (some, others))
                for title, cost in (("embeddings + LR", 1.0), ("embeddings + LR, C=10", 10.0)):
                    model = LogisticRegression(C=cost, max_iter=300)
                    add(curves, title, by_margin(model, x, given[0], x_test, *given[1:]))
        show(name, curves)
