"""D1: the service is killed in the midst of work, again and again."""

import random
import shutil
import sqlite3
import time
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import make_url

from tests.app.live import eventually
from tests.app.reliability.people import TOP, Books, Crowd, Site, done
from tests.app.reliability.servers import scaled

PEOPLE = scaled(8, 16)
ROUNDS = scaled(3, 83)  # each with a kill under load
CHECK_EVERY = scaled(1, 3)  # rounds after which the model is looked at; two of three times there is a kill more
POSTS = scaled(200, 10_000)
ANSWERED = scaled(150, 1500)  # items that people answer
N_ITEMS = ANSWERED + POSTS // 10 + PEOPLE + TOP  # some stay promised to people: enough are left to be compared
FOR_EVER = 86_400  # seconds; no lease runs out


def integrity(url, folder):
    """Looks at a copy, so that the service finds the file as the kill left it."""
    file = make_url(url).database
    folder.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(file + suffix, folder / f"copy.db{suffix}")
    connection = sqlite3.connect(folder / "copy.db")
    answer = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    shutil.rmtree(folder)
    return answer


def check_model(server, site, books, snapshot):
    """What the model says before it goes it says after it is back: from a new snapshot, an old one, or none."""
    site.wait_until_quiet()
    file = Path(server.data_dir) / "snapshots" / f"{site.project}.npz"
    if snapshot == "old":
        eventually(file.exists)
        old = file.read_bytes()
        for key in site.keys[:5]:
            books.post(site, 0, f"{len(books.posted)}", key, site.label_of(key))
        site.wait_until_quiet()
    before, top = site.predictions(), site.top()
    if snapshot == "new":
        assert server.stop() == 0
        eventually(file.exists)
    else:
        server.kill()
        file.unlink(missing_ok=True)
    if snapshot == "old":
        file.write_bytes(old)
    server.start()
    after, top_after = site.predictions(), site.top()
    assert len(top[0]) == TOP
    assert np.abs(after - before).max() < 1e-8
    assert np.abs(top_after[1] - top[1]).max() < 1e-8
    known = dict(zip(*top, strict=True))
    for key, score in zip(*top_after, strict=True):  # items that are as good as each other may change places
        assert abs(known.get(key, top[1][-1]) - score) < 1e-8


def check_leases(site, books, rng, count=PEOPLE):
    """People still hold the items that they were promised and have not answered."""
    answered = {(number, key) for number, key, *_ in books.posted.values()}
    promised = [
        (books.posted[note][0], item["lease"]["id"])
        for note, answer in books.answers.items()
        for item in answer["items"]
        if (books.posted[note][0], item["key"]) not in answered and item["lease"]["id"] not in books.returned
    ]
    for number, lease in rng.sample(promised, min(count, len(promised))):
        done(site.people[number].post(f"{site.path}/leases/{lease}"))


def kill_in_the_midst(server, crowd, books, rng):
    """After a random number of posts: the campaign is as long on any machine."""
    enough = len(books.posted) + rng.randint(1, 2 * POSTS // ROUNDS)
    while len(books.posted) < enough:
        assert crowd.errors == []
        time.sleep(0.001)
    time.sleep(rng.uniform(0.0, 0.05))
    server.kill()


@pytest.mark.parametrize(
    ("database_url", "likelihood"), [("sqlite", "auto"), ("postgresql", "gaussian")], indirect=["database_url"]
)
def test_nothing_is_lost_by_a_kill(serve, database_url, likelihood, tmp_path):
    """With some hundred labels "auto" is softmax."""
    server = serve(database_url, {"ASKNEXT_SNAPSHOT_SECONDS": "0.1"})
    rng, books, snapshots = random.Random(20), Books(), cycle(("old", "none", "new"))
    with Site(server.address, N_ITEMS, PEOPLE, lease_seconds=FOR_EVER, likelihood=likelihood) as site:
        turn = 0
        while turn < ROUNDS or len(books.posted) < POSTS:
            turn += 1
            with Crowd(site, books, seed=turn, keys=site.keys[:ANSWERED], return_share=0.9) as crowd:
                kill_in_the_midst(server, crowd, books, rng)
            assert books.unanswered
            if database_url.startswith("sqlite"):
                assert integrity(database_url, tmp_path / "copy") == "ok"
            server.start()
            books.check(site)
            check_leases(site, books, rng)
            for note in rng.sample(books.unanswered, len(books.unanswered) // 2):
                assert books.repeat(site, note).status_code in {201, 422}  # some name a class that is none
            if turn % CHECK_EVERY == 0:
                check_model(server, site, books, next(snapshots))
        books.check(site)
    assert len(books.answers) > POSTS / 2
