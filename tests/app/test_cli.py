import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from app.cli import app
from app.commands.labelled_files import read_dataset
from app.services.project.strategies import STRATEGY_NAMES
from core.queries import every_strategy

X = np.random.default_rng(0).random((80, 3)).round(3)
Y = np.where(X[:, 0] > X[:, 1], "left", "right")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def files(folder):
    np.savez(folder / "whole.npz", X=X, y=Y)
    np.savez(folder / "split.npz", X_train=X[:60], y_train=Y[:60], X_test=X[60:], y_test=Y[60:])
    rows = [",".join([*map(str, x), y]) for x, y in zip(X, Y, strict=True)]
    (folder / "table.csv").write_text("a,b,c,label\n" + "\n".join(rows))
    dump_svmlight_file(X, (Y == "left").astype(int), str(folder / "sparse.svmlight"))
    return [folder / name for name in ("whole.npz", "split.npz", "table.csv", "sparse.svmlight")]


def test_help_names_the_commands():
    assert all(name in run("--help").output for name in ("simulate", "evaluate"))
    assert "random, mean, variance" in " ".join(run("simulate", "--help").output.replace("│", " ").split())


def test_a_service_starts_without_what_takes_seconds_to_load():
    slow = "{'sklearn', 'scipy.stats', 'pandas', 'distributed'}"
    code = f"import app.commands.server, sys; print(*{slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_service_keeps_what_is_loaded_out_of_garbage_collections(tmp_path):
    """They hold all threads, for longer than anybody should wait."""
    code = f"""
import gc, time
from app.commands.server import open_service
from app.settings import ServiceSettings
service = open_service(ServiceSettings(data_dir={str(tmp_path)!r}))
service.start()
while not service.is_ready:
    time.sleep(0.01)
print(gc.get_freeze_count(), len(gc.get_objects()))
before = gc.get_stats()[2]["collections"]
rows = [[0.5] for _ in range(400_000)]  # 200 requests of 2,000 rows
print(gc.get_stats()[2]["collections"] - before)
service.stop()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept_out, looked_at, collections = map(int, done.stdout.split())
    assert kept_out > 20 * looked_at
    assert collections == 0


@pytest.mark.parametrize("command", ["serve", "migrate", "keys list"])
def test_a_database_of_a_newer_version_is_told_of_in_a_sentence(tmp_path, command):
    assert run("migrate", "--data-dir", tmp_path).exit_code == 0
    with closing(sqlite3.connect(tmp_path / "asknext.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    arguments = [*command.split(), "--data-dir", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "app", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "revision 9999, which a newer version of AskNext made" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_kind_of_file_is_read_alike(tmp_path):
    for file in files(tmp_path):
        dataset = read_dataset(file)
        assert dataset.n_classes == 2
        assert dataset.x.shape[1] == 3
        assert len(dataset.y) + len(dataset.y_test) == 80
        again = read_dataset(file)
        assert np.array_equal(dataset.y, again.y)


@pytest.mark.jit
def test_simulate(tmp_path):
    for file in files(tmp_path):
        picture = tmp_path / "curves.png"
        result = run(
            "simulate", file, "--budget", 15, "--repeats", 2, "--strategies", "random, unc+", "--plot", picture
        )
        assert result.exit_code == 0, result.output
        assert "unc+" in result.output
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()


@pytest.mark.jit
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a few rows are easily told apart
def test_evaluate(tmp_path):
    for file, kernel in zip(files(tmp_path), ("hik", "rbf", "linear", "hik"), strict=True):
        picture = tmp_path / "quality.png"
        result = run("evaluate", file, "--kernel", kernel, "--rows", 40, "--seed", 1, "--plot", picture)
        assert result.exit_code == 0, result.output
        for name in ("gaussian", "softmax", "logistic", "calibration error", "10% rejected"):
            assert name in result.output
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()
    first, again = (run("evaluate", tmp_path / "whole.npz", "--likelihoods", "logistic").stdout for _ in range(2))
    assert first == again
    assert "softmax" not in first
    assert first != run("evaluate", tmp_path / "whole.npz", "--likelihoods", "logistic", "--test-share", 0.6).stdout


def test_what_cannot_be_evaluated(tmp_path):
    np.savez(tmp_path / "negative.npz", X=X - 0.5, y=Y)
    np.savez(tmp_path / "single.npz", X=X, y=np.zeros(80))
    for arguments, message in (
        (["negative.npz", "--kernel", "hik"], "not histograms"),
        (["single.npz", "--likelihoods", "logistic"], "2 classes"),
        (["negative.npz", "--likelihoods", "best"], "unknown likelihood"),
        (["negative.npz", "--plot", tmp_path / "no" / "where.png"], "does not exist"),
        (["missing.npz"], "No such file"),
    ):
        result = run("evaluate", tmp_path / arguments[0], *arguments[1:])
        assert result.exit_code == 2, result.output
        assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.npz", None, "No such file"),
        ("table.txt", "1,2", "ending in .npz, .csv or .svmlight"),
        ("table.csv", "a,b\nx,left\ny,right\n", "must be numbers"),
        ("table.csv", "a\n1\n2\n", "at least one column"),
        ("table.csv", "a,b\n1,#1\n2\n", "at least one column"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    result = run("simulate", tmp_path / name)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


def test_labels_in_a_csv_are_taken_as_they_are(tmp_path):
    (tmp_path / "table.csv").write_text('a,label\n1,#1\n2,#2\n3,"one, two"\n4,#1\n')
    assert read_dataset(tmp_path / "table.csv").n_classes == 3


def test_bad_arrays_and_strategies(tmp_path):
    np.savez(tmp_path / "other.npz", data=X)
    assert "expected arrays X, y" in " ".join(run("simulate", tmp_path / "other.npz").output.replace("│", " ").split())
    for x, y in ((X, Y[:5]), (X, Y[:, None]), (X[0], Y), (np.where(X > 0.9, np.nan, X), Y)):
        np.savez(tmp_path / "bad.npz", X=x, y=y)
        assert run("simulate", tmp_path / "bad.npz").exit_code == 2
    np.savez(tmp_path / "whole.npz", X=X, y=Y)
    assert "does not exist" in run("simulate", tmp_path / "whole.npz", "--plot", tmp_path / "no" / "where.png").output
    result = run("simulate", tmp_path / "whole.npz", "--strategies", "best")
    assert result.exit_code == 2
    assert "unknown strategy" in result.output


def test_help_does_not_wait_for_what_it_does_not_need():
    code = "import sys, app.cli; print(sorted({'numba', 'sklearn', 'fastapi'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_strategy_of_the_learner_can_be_named():
    assert set(STRATEGY_NAMES) == set(every_strategy())
