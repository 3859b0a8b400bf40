"""D4: a post with an idempotency key happens once."""

from concurrent.futures import ThreadPoolExecutor

from tests.app.live import in_thread
from tests.app.reliability.people import Books, Site, client, done
from tests.app.reliability.servers import scaled

COPIES = 50
BURSTS = scaled(3, 100)


def test_the_first_answer_is_given_for_ever(database_url, tmp_path):
    books = Books()
    with in_thread(database_url, tmp_path / "data") as (address, _), Site(address, 60, 2) as site:
        first = books.post(site, 0, "a", site.keys[0], "red", next={"count": 2})
        assert first.status_code == 201
        assert len(first.json()["items"]) == 2
        for n in range(20):
            books.post(site, n % 2, f"b{n}", site.keys[n], "green", next={"count": 1})
        assert books.repeat(site, "a").json() == first.json()
        for other in (
            site.post(site.people[0], "a", site.keys[0], "blue", next={"count": 2}),
            site.post(site.people[0], "a", site.keys[0], "red"),
        ):
            assert other.status_code == 422
            assert "idempotency key" in other.json()["detail"]
        assert len(books.check(site)) == 21
        own = site.post(site.people[1], "a", site.keys[1], "red")  # everybody's keys are their own
        assert own.status_code == 201
        secret = site.people[0].headers["authorization"].partition(" ")[2]
        path, body = f"{site.path}/labels", {"labels": [{"key": site.keys[0], "label": "red", "note": "a"}]}
    with in_thread(database_url, tmp_path / "data") as (address, _), client(address, secret) as person:
        again = person.post(path, json=body | {"next": {"count": 2}}, headers={"Idempotency-Key": "a"})
        assert again.json() == first.json()
        in_body = person.post(path, json=body | {"next": {"count": 2}, "idempotency_key": "a"})
        assert in_body.json() == first.json()
        assert person.post(path, json=body, headers={"Idempotency-Key": "a"}).status_code == 422
        assert len(person.get(path, params={"history": True}).text.splitlines()) == 22


def test_many_at_once_make_one_row(database_url, tmp_path):
    with (
        in_thread(database_url, tmp_path / "data") as (address, _),
        Site(address, 10 + 2 * BURSTS, 1) as site,
        ThreadPoolExecutor(COPIES) as threads,
    ):
        for burst in range(BURSTS):

            def post(_, burst=burst):
                ask = {"count": 1, "seed": 1}
                return done(site.post(site.people[0], f"burst-{burst}", site.keys[burst], "red", next=ask))

            answers = list(threads.map(post, range(COPIES)))
            assert all(answer == answers[0] for answer in answers)
            assert answers[0]["accepted"] == len(answers[0]["items"]) == 1
        history = site.history()
        assert [event["note"] for event in history] == [f"burst-{burst}" for burst in range(BURSTS)]
