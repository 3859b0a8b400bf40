"""L3 and L4: bodies that are too large, and more requests than the service takes at once."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.app.live import in_thread
from tests.app.reliability.people import Site, done

MOST = 20_000


def pieces(body, size=1000):
    """Sent without a Content-Length."""
    for first in range(0, len(body), size):
        yield body[first : first + size]


def items_of(size):
    """A body of so many bytes."""
    body = {"items": [{"key": "k", "features": [0.5] * 8, "data": {"text": ""}}]}
    body["items"][0]["data"]["text"] = "x" * (size - len(json.dumps(body)))
    return json.dumps(body).encode()


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_are_counted(sqlite_url, tmp_path, chunked):
    options = {"max_body": MOST, "max_upload": 2 * MOST}
    with in_thread(sqlite_url, tmp_path / "data", **options) as (address, _), Site(address, 20, 1) as site:
        as_json = {"Content-Type": "application/json"}

        def send(path, body, **headers):
            return site.admin.post(site.path + path, content=pieces(body) if chunked else body, headers=headers)

        assert send("/items", items_of(MOST), **as_json).status_code == 201
        for path, body, headers in (
            ("/items", items_of(MOST + 1), as_json),
            ("/items", b"[" * 50 * MOST, as_json),
            ("/labels", b"x" * (MOST + 1), as_json),
            ("/import?format=jsonl", b"x" * (2 * MOST + 1), {"Content-Type": "application/octet-stream"}),
        ):
            answer = send(path, body, **headers)
            assert answer.status_code == 413, (path, answer.text)
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert str(2 * MOST if "import" in path else MOST) in answer.json()["detail"]
        assert send("/import?format=jsonl", b"x" * (MOST + 1)).status_code != 413
        assert site.history() == []


def test_more_requests_than_are_taken_are_told_to_come_again(sqlite_url, tmp_path):
    """Of five places one address, which all of these have, may take four."""
    with (
        in_thread(sqlite_url, tmp_path / "data", max_requests=5) as (address, service),
        Site(address, 300, 32, retrain="off") as site,
    ):
        writer = service.running(site.project).writer

        def post(number):
            return site.post(site.people[number], f"{number}", site.keys[number], "red")

        with ThreadPoolExecutor(32) as threads:
            with service.database.write():  # the writer has to wait
                answers = [threads.submit(post, number) for number in range(32)]
                refused = 0
                while refused < 28:
                    refused = sum(answer.done() for answer in answers)
                assert site.admin.get("/health/live").status_code == 200
                assert writer.waiting <= 4
            answers = [answer.result() for answer in answers]
        taken = [answer for answer in answers if answer.status_code == 201]
        assert len(taken) == 4
        for answer in answers:
            if answer.status_code != 201:
                assert answer.status_code == 503
                assert int(answer.headers["Retry-After"]) > 0
        assert len(site.history()) == 4
        assert "asknext_refused_total 28.0" in site.admin.get("/metrics").text
        assert done(post(31))["accepted"] == 1
