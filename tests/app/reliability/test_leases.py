"""D7: an item is promised to as many people as are to label it, and to no more."""

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from tests.app.live import in_thread
from tests.app.reliability.people import Site, done
from tests.app.reliability.servers import scaled

PEOPLE = 32
N_ITEMS = scaled(120, 5000)
PATIENCE = scaled(30.0, 1.0)


def end_of(item):
    """When its lease runs out, in seconds since 1970."""
    return datetime.fromisoformat(item["lease"]["expires_at"]).timestamp()


def everybody(site, work):
    with ThreadPoolExecutor(len(site.people)) as threads:
        return list(threads.map(work, range(len(site.people))))


@pytest.mark.parametrize(("database_url", "overlap"), [("sqlite", 1), ("postgresql", 2)], indirect=["database_url"])
def test_no_item_is_given_to_too_many(database_url, tmp_path, overlap):
    settings = {"overlap": overlap, "strategy": "random", "retrain": "off"}
    with (
        in_thread(database_url, tmp_path / "data") as (address, _),
        Site(address, N_ITEMS, PEOPLE, digits=1, **settings) as site,
    ):

        def label_all(number):
            """Until there is nothing left for this person; returns what they were given."""
            person, given = site.people[number], []
            items = done(person.post(f"{site.path}/query", json={"count": 2}))["items"]
            while items:
                given += [item["key"] for item in items]
                labels = [{"key": i["key"], "label": site.label_of(i["key"]), "lease": i["lease"]["id"]} for i in items]
                answer = done(person.post(f"{site.path}/labels", json={"labels": labels, "next": {"count": 2}}))
                assert answer["late"] == []
                items = answer["items"]
            return given

        holders = defaultdict(list)
        for number, given in enumerate(everybody(site, label_all)):
            for key in given:
                holders[key].append(number)
        assert {key: who for key, who in holders.items() if len(who) > overlap or len(set(who)) < len(who)} == {}
        assert len(holders) == N_ITEMS
        exported = site.lines()
        assert {len(line["votes"]) for line in exported} == {overlap}
        assert len(exported) == N_ITEMS


@pytest.mark.parametrize("overlap", scaled([2], [1, 2]))
def test_leases_that_run_out_under_load(sqlite_url, tmp_path, overlap):
    """People who sit on items and answer some of them late: who holds what when is told by the leases themselves."""
    settings = {"overlap": overlap, "strategy": "random", "retrain": "off", "lease_seconds": 1}
    with in_thread(sqlite_url, tmp_path / "data") as (address, _), Site(address, 40, PEOPLE, **settings) as site:
        until = time.monotonic() + scaled(2.5, 60)
        held, late = defaultdict(list), []

        def work(number):
            person = site.people[number]
            while time.monotonic() < until:
                items = done(person.post(f"{site.path}/query", json={"count": 2}))["items"]
                lazy = number % 2 == 0
                time.sleep(1.1 if lazy and items else 0.05)
                sent, end = time.time(), None
                for item in items[:1]:
                    entry = {"key": item["key"], "label": "red", "lease": item["lease"]["id"]}
                    answer = done(person.post(f"{site.path}/labels", json={"labels": [entry]}))
                    late.extend(answer["late"])
                    assert answer["late"] == [item["key"]] or not lazy
                    end = sent
                    done(person.delete(f"{site.path}/labels/{item['key']}"))  # so that there is always work
                for item in items:
                    expires = end_of(item)
                    last = min(expires, end) if end and item is items[0] else expires
                    held[item["key"]].append((expires - 1.0, last, number))

        everybody(site, work)
    assert late
    for key, spans in held.items():
        for begin, _, _ in spans:
            holders = {who for first, last, who in spans if first <= begin < last}
            assert len(holders) <= overlap, f"{key} was held by {holders} at {begin}"


@pytest.mark.alone
def test_what_ran_out_is_given_again_and_late_answers_count(database_url, tmp_path):
    settings = {"lease_seconds": 4, "strategy": "random", "retrain": "off"}  # all of them ask before the first runs out
    with in_thread(database_url, tmp_path / "data") as (address, _), Site(address, PEOPLE, PEOPLE, **settings) as site:
        path = f"{site.path}/query"
        given = everybody(site, lambda number: done(site.people[number].post(path, json={"count": 1}))["items"][0])
        assert {item["key"] for item in given} == set(site.keys)
        ends = max(map(end_of, given))
        again = []
        while len(again) < PEOPLE:
            items = done(site.admin.post(path, json={"count": PEOPLE}))["items"]
            now = time.time()
            for item in items:
                (before,) = (one for one in given if one["key"] == item["key"])
                assert end_of(before) <= now, "given again while it was held"
            again += items
            assert now < ends + PATIENCE, "not given again in time"
            time.sleep(0.02)
        late = {"key": given[0]["key"], "label": "red", "lease": given[0]["lease"]["id"]}
        answer = done(site.people[0].post(f"{site.path}/labels", json={"labels": [late]}))
        assert answer["late"] == [given[0]["key"]]
        (mine,) = (item for item in again if item["key"] == given[1]["key"])
        entry = {"key": mine["key"], "label": "green", "lease": mine["lease"]["id"]}
        assert done(site.admin.post(f"{site.path}/leases/{mine['lease']['id']}"))["id"] == mine["lease"]["id"]
        assert done(site.admin.post(f"{site.path}/labels", json={"labels": [entry]}))["late"] == []
        exported = {line["key"]: [vote["annotator"] for vote in line["votes"]] for line in site.lines()}
        assert exported == {given[0]["key"]: ["person-0"], given[1]["key"]: ["admin"]}
