"""D2: the process dies at every step of a post; the same post again is answered, and written once."""

from collections import Counter

import httpx
import pytest

from tests.app.reliability.people import Books, Site
from tests.app.reliability.servers import TORTURE, scaled

WRITTEN = {"after-insert": {0}, "after-commit": {1}, "before-choice": {0, 1}, "before-answer": {1}}  # by the disk
NO_SNAPSHOTS = {"ASKNEXT_SNAPSHOT_SECONDS": "1e9"}  # they pass some of these points, too
EARLIER = scaled((0,), (0, 1, 4))  # posts that pass before the one that dies


def restart(server, failpoint):
    server.environment["ASKNEXT_FAILPOINT"] = failpoint
    server.start()


def die(server, post):
    with pytest.raises(httpx.TransportError):
        post()
    assert server.wait() == -9


def test_a_post_that_died_can_be_repeated(serve, database_url):
    server, books = serve(database_url, NO_SNAPSHOTS.copy()), Books()
    deaths = [(point, earlier) for earlier in EARLIER for point in WRITTEN]
    with Site(server.address, 200, 1) as site:
        server.kill()

        def post(note):
            return books.post(site, 0, note, site.keys[len(books.posted)], "red", next={"count": 1})

        def recover(point):
            """The post that died there is written or not; repeated twice, it is there once."""
            (lost,) = books.unanswered
            assert Counter(event["note"] for event in site.history())[lost] in WRITTEN[point], point
            first = books.repeat(site, lost)
            assert first.status_code == 201, first.text
            assert books.repeat(site, lost).json() == first.json()
            assert first.json()["accepted"] == len(first.json()["items"]) == 1
            books.check(site)

        for life, (point, earlier) in enumerate(deaths):
            passed = earlier + (2 if life else 0)
            restart(server, f"{point}:{passed + 1}")
            if life:
                recover(deaths[life - 1][0])
            for n in range(earlier):
                assert post(f"{life}-{n}").status_code == 201
            die(server, lambda life=life: post(f"{life}-dies"))
        restart(server, "")
        recover(deaths[-1][0])
    assert server.stop() == 0


@pytest.mark.skipif(not TORTURE, reason="make torture: the same steps, one post")
def test_a_post_that_dies_at_every_step_in_turn(serve, sqlite_url):
    server, books = serve(sqlite_url, NO_SNAPSHOTS.copy()), Books()
    with Site(server.address, 50, 1) as site:
        books.posted["it"] = (0, site.keys[0], "red", {"next": {"count": 1}})
        server.kill()
        for point in WRITTEN:
            restart(server, point)
            die(server, lambda: books.repeat(site, "it"))
        restart(server, "")
        assert books.repeat(site, "it").status_code == 201
        assert len(books.check(site)) == 1
