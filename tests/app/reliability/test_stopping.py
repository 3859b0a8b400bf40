"""L4: told to stop in the midst of work, the service finishes what it has begun."""

import json
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
            assert took < scaled(60, 20)
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
        post = {"content": json.dumps({"features": rows}), "headers": {"Content-Type": "application/json"}}
        with ThreadPoolExecutor(SLOW) as threads:
            predict = [threads.submit(person.post, f"{site.path}/predict", **post) for person in site.people]
            begun = is_open = 0
            while not is_open and begun < SLOW:
                begun = sum(one.done() for one in predict)
                is_open = open_requests(site) - 1  # the one that asks is not meant
            assert server.stop() == 0
            answers = [one.result() for one in predict if one.exception() is None]
        assert is_open > 0
        assert len(answers) >= begun + is_open  # who had not been heard yet may find the door closed
        assert {answer.status_code for answer in answers} == {200}
        assert {len(answer.json()["predictions"]) for answer in answers} == {len(rows)}


def open_requests(site):
    """How many requests the server is answering."""
    (line,) = (
        line for line in site.admin.get("/metrics").text.splitlines() if line.startswith("asknext_open_requests")
    )
    return int(float(line.split()[1]))
