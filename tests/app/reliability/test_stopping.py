"""L4: told to stop in the midst of work, the service finishes what it has begun."""

import time
from concurrent.futures import ThreadPoolExecutor

from tests.app.reliability.people import Books, Crowd, Site, done
from tests.app.reliability.servers import scaled

SLOW = 6


def test_a_stop_under_load_loses_nothing(serve, database_url):
    server, books = serve(database_url), Books()
    with Site(server.address, 500, 8) as site:
        for turn in range(scaled(1, 20)):
            with Crowd(site, books, seed=turn):
                time.sleep(0.7)
                begun = time.monotonic()
                code = server.stop()
                took = time.monotonic() - begun
            assert code == 0
            assert took < 20
            assert set(books.refused.values()) <= {422, 503}
            server.start()
            books.check(site)
            for note in books.unanswered:
                books.repeat(site, note)
            books.check(site)


def test_requests_that_are_being_answered_are_answered(serve, sqlite_url):
    server = serve(sqlite_url)
    with Site(server.address, 500, SLOW, retrain="off") as site:
        for n in range(40):
            done(site.post(site.people[0], f"{n}", site.keys[n], site.label_of(site.keys[n])))
        rows = site.features.tolist() * 10
        with ThreadPoolExecutor(SLOW) as threads:
            predict = [
                threads.submit(person.post, f"{site.path}/predict", json={"features": rows}) for person in site.people
            ]
            time.sleep(0.15)
            assert not all(one.done() for one in predict)
            assert server.stop() == 0
            answers = [one.result() for one in predict]
        assert {answer.status_code for answer in answers} == {200}
        assert {len(answer.json()["predictions"]) for answer in answers} == {len(rows)}
