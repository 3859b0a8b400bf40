"""What the model sees: labels needed with default settings, beside the plain pipeline that a user would pick.

    python -m tests.benchmarks.sight FOLDER [texts] [tables] [--seeds N]

Where a pretrained model is at hand (`pip install 'asknext[embeddings]'`, and ASKNEXT_TEXT_MODEL or MiniLM in the local
cache) texts are also measured with its embeddings, on both sides.

FOLDER has texts.zip (csv files with the columns text and label), sms_spam.csv and binary_tables.npz (NAME_X, NAME_y).
Both sides get the same pools, tests and first labels. AskNext asks one item at a time by `unc`, and is trained when its
labels have grown by half, as the service does it; pipelines ask by margin, in batches, because each is a new fit.
"""

import argparse
import csv
import io
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from app.encoders import fit
from app.encoders.contract import silent
from app.encoders.pretrained import AUTO, Pretrained, chosen, cut
from app.services.model.training import FIRST_TRAINING, GROWTH
from app.services.project.settings import ProjectSettings, learner_settings
from app.services.project.state import StoredEncoder
from app.settings import ServiceSettings
from core import OnlineLearner

BUDGETS = {"texts": (50, 100, 200, 400), "tables": (50, 100, 200)}
FIRST = {"texts": 10, "tables": 20}  # labels drawn at random, the same for all
POOL, TEST = 1500, 1500

Result = dict[int, tuple[float, float]]  # accuracy, and stated less true error (not a number where it is not stated)


def asknext(kind, pool, labels, test, truth, first, budgets, options=None) -> Result:
    """Default settings, as the service has them."""
    classes = sorted(set(labels) | set(truth))
    encoder = fit(kind, pool, options)
    stored = StoredEncoder(kind, "", encoder.channels, {"model": encoder.model()})
    parts = ProjectSettings().model_parts(kind, stored.columns, stored.model(len(classes), len(pool)))
    learner = OnlineLearner(learner_settings(parts), classes)
    learner.add_items(encoder.encode(pool).table)
    rows, trained, found = encoder.encode(test).table, 0, {}
    for n in range(1, max(budgets) + 1):
        item = first[n - 1] if n <= len(first) else learner.query(1)[0].row
        learner.label(int(item), labels[item])
        if n >= max(FIRST_TRAINING, GROWTH * trained):
            learner.tune()
            trained = n
        if n in budgets:
            p = learner.predictive(rows)[2]
            error = float((np.array(classes)[p.argmax(axis=1)] != truth).mean())
            found[n] = 1.0 - error, float(1.0 - p.max(axis=1).mean()) - error
    return found


def by_margin(model, x, labels, x_test, truth, first, budgets) -> Result:
    """A pipeline that is fitted anew after each batch and asks where its best two classes are closest."""
    known, found = list(first), {}
    while True:
        ready = len(set(labels[known])) > 1
        if ready:
            model.fit(x[known], labels[known])
        if len(known) in budgets:
            found[len(known)] = (float((model.predict(x_test) == truth).mean()) if ready else 0.0), np.nan
            if len(known) == max(budgets):
                return found
        free = np.setdiff1d(np.arange(len(labels)), known)
        top = np.sort(_scores(model, x[free]), axis=1)[:, -2:] if ready else np.zeros((len(free), 2))
        batch = min(5 if len(known) < 100 else 10, min(b for b in budgets if b > len(known)) - len(known))
        known += free[np.argsort(top[:, 1] - top[:, 0], kind="stable")[:batch]].tolist()


def _scores(model, x):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x)
    scores = model.decision_function(x)
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


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


def texts(folder: Path, seeds: int) -> None:
    """Words and characters beside tf-idf with logistic regression, and with embeddings beside the same of these."""
    model_name = ServiceSettings().text_model or chosen(AUTO, "text")
    pretrained = Pretrained.of(model_name, "text") if model_name else None
    print(f"pretrained model: {model_name or 'none at hand'}", flush=True)
    for name, all_texts, labels in texts_of(folder):
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(labels))
            pool, test = order[:POOL], order[POOL : POOL + TEST]
            first = np.arange(FIRST["texts"])
            some, others = [all_texts[i] for i in pool], [all_texts[i] for i in test]
            given = labels[pool], labels[test], first, BUDGETS["texts"]
            run = asknext("text", some, given[0], others, given[1], first, BUDGETS["texts"], {"model": None})
            curves.setdefault("AskNext", []).append(run)
            for title, sublinear, cost in (("tf-idf + LR", False, 1.0), ("tf-idf (sublinear) + LR, C=10", True, 10.0)):
                tfidf = TfidfVectorizer(sublinear_tf=sublinear).fit(some)
                x, x_test = tfidf.transform(some), tfidf.transform(others)
                model = LogisticRegression(C=cost, max_iter=300)
                curves.setdefault(title, []).append(by_margin(model, x, given[0], x_test, *given[1:]))
            if pretrained is not None:
                budgets = BUDGETS["texts"]
                run = asknext("text", some, given[0], others, given[1], first, budgets, {"model": model_name})
                curves.setdefault("AskNext with embeddings", []).append(run)
                x, x_test = (pretrained.embed(part, cut, silent) for part in (some, others))
                for title, cost in (("embeddings + LR", 1.0), ("embeddings + LR, C=10", 10.0)):
                    model = LogisticRegression(C=cost, max_iter=300)
                    curves.setdefault(title, []).append(by_margin(model, x, given[0], x_test, *given[1:]))
        show(name, curves)


def tables(folder: Path, seeds: int) -> None:
    """Tables beside an SVM and a random forest on standardised columns."""
    with np.load(folder / "binary_tables.npz") as arrays:
        names = [name.removesuffix("_X") for name in arrays.files if name.endswith("_X")]
        sets = {name: (np.asarray(arrays[f"{name}_X"], dtype=float), arrays[f"{name}_y"].astype(str)) for name in names}
    for name, (x, y) in sets.items():
        curves: dict[str, list[Result]] = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(y))[: POOL + 1000]
            cut = int(0.6 * len(order))
            pool, test = order[:cut], order[cut:]
            budgets = [n for n in BUDGETS["tables"] if n < len(pool)]
            first = np.arange(FIRST["tables"])
            rows = [{f"c{d}": repr(float(value)) for d, value in enumerate(row)} for row in x[order]]
            run = asknext("table", rows[:cut], y[pool], rows[cut:], y[test], first, budgets)
            curves.setdefault("AskNext", []).append(run)
            makers: dict[str, Callable] = {
                "SVC": lambda: make_pipeline(StandardScaler(), SVC()),
                "random forest": lambda: RandomForestClassifier(100, random_state=0),
            }
            for title, make in makers.items():
                given = x[pool], y[pool], x[test], y[test], first, budgets
                curves.setdefault(title, []).append(by_margin(make(), *given))
        show(name, curves)


def show(name: str, curves: dict[str, list[Result]]) -> None:
    """A line for each side: accuracy in percent with its standard error, and stated less true error."""
    print(f"\n{name}, {len(curves['AskNext'])} seeds: accuracy +- standard error at labels", flush=True)
    for title, runs in curves.items():
        parts = []
        for budget in runs[0]:
            values = 100.0 * np.array([run[budget][0] for run in runs])
            error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
            off = 100.0 * np.mean([run[budget][1] for run in runs])
            parts.append(f"{budget}: {values.mean():.1f} +- {error:.1f}" + ("" if np.isnan(off) else f" ({off:+.1f})"))
        print(f"  {title:32s} {'   '.join(parts)}", flush=True)


def main() -> None:
    """All parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", choices=["texts", "tables", []], default=[])
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for part in arguments.parts or ["texts", "tables"]:
        {"texts": texts, "tables": tables}[part](arguments.folder, arguments.seeds)


if __name__ == "__main__":
    main()
