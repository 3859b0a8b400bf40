"""S2: keys are 256 random bits, shown once, stored as digests, useless once revoked; guessing is slowed down."""

import base64
import hashlib
import os
import re
import sqlite3
import subprocess
import sys

import pytest
from sqlalchemy import text

from app.services.access import BAD_PER_MINUTE, Access
from app.services.problems import Forbidden, TooMany, Unauthorised
from tests.app.input.calls import assert_problem, client, made, new_project
from tests.app.live import ADMIN, in_thread
from tests.app.reliability.servers import Server


def new_key(http, **options):
    return made(http.post("/v1/keys", json={"name": "ann", "role": "annotator"} | options))


def test_a_key_is_256_random_bits(http):
    keys = [new_key(http)["key"] for _ in range(50)]
    assert len(set(keys)) == 50
    secrets = [base64.urlsafe_b64decode(key.removeprefix("ask_") + "=") for key in keys]
    assert {len(secret) for secret in secrets} == {32}
    ones = sum(byte.bit_count() for secret in secrets for byte in secret)
    assert abs(ones - 50 * 128) < 400  # 7 standard deviations


def test_only_digests_are_stored_and_a_key_is_shown_once(http, live):
    made_key = new_key(http)
    secret = made_key["key"]
    assert secret not in http.get("/v1/keys").text
    assert all("key" not in entry for entry in made(http.get("/v1/keys"))["keys"])
    with client(live[0], secret) as own:
        assert secret not in own.get("/v1/me").text
    with live[1].database.read() as connection:
        rows = connection.execute(text("SELECT * FROM keys")).all()
    everything = repr([[bytes(v) if isinstance(v, memoryview) else v for v in row] for row in rows])
    digests = [bytes(row.digest) for row in rows]
    assert hashlib.sha256(secret.encode()).digest() in digests
    for known in (secret, ADMIN):
        body = known.removeprefix("ask_")
        assert body not in everything
        assert base64.urlsafe_b64decode(body + "=") not in b"".join(digests)


def test_a_revoked_key_is_useless_at_once(http, live):
    key = new_key(http)
    with client(live[0], key["key"]) as own:
        assert own.get("/v1/me").status_code == 200  # from now on it is remembered for a while
        made(http.delete(f"/v1/keys/{key['id']}"))
        assert_problem(own.get("/v1/me"), 401)
    assert next(k for k in made(http.get("/v1/keys?limit=1000"))["keys"] if k["id"] == key["id"])["revoked_at"]


def test_nobody_locks_themselves_out(http):
    own = next(k for k in made(http.get("/v1/keys?limit=1000"))["keys"] if k["name"] == "admin")
    assert_problem(http.delete(f"/v1/keys/{own['id']}"), 403)


def test_guessing_is_slowed_down(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path) as (address, _), client(address) as good, client(address, None) as bad:
        for i in range(BAD_PER_MINUTE):
            assert_problem(bad.get("/v1/me", headers={"Authorization": f"Bearer guess-{i}"}), 401)
        refused = bad.get("/v1/me", headers={"Authorization": "Bearer another"})
        assert_problem(refused, 429)
        assert 0 < int(refused.headers["Retry-After"]) <= 60
        assert BAD_PER_MINUTE == 20
        assert good.get("/v1/me").status_code == 200  # whoever has a key is not kept out by others' guesses


def test_a_guess_beyond_the_limit_is_not_looked_at(sqlite_database):
    """Not even a right one, unless it is of somebody who was here before; the time is not made longer by trying."""
    access = Access(sqlite_database)
    before = access.first_key("ask_" + "a" * 43)
    Access(sqlite_database).create("late", "admin", secret="correct horse battery")
    for n in range(BAD_PER_MINUTE):
        with pytest.raises(Unauthorised):
            access.authenticate(f"guess {n}", "10.0.0.1")
    with pytest.raises(TooMany) as first:
        access.authenticate("correct horse battery", "10.0.0.1")
    assert 0 < first.value.retry_after <= 60
    for _ in range(2 * BAD_PER_MINUTE):
        with pytest.raises(TooMany) as last:
            access.authenticate("another guess", "10.0.0.1")
    assert last.value.retry_after <= first.value.retry_after
    assert access.authenticate(before, "10.0.0.1").name == "admin"
    assert access.authenticate("correct horse battery", "10.0.0.2").name == "late"
    assert access.authenticate("correct horse battery", "10.0.0.1").name == "late"


def test_an_ipv6_network_is_one_guesser(sqlite_database):
    access = Access(sqlite_database)
    for n in range(BAD_PER_MINUTE):
        with pytest.raises(Unauthorised):
            access.authenticate(f"guess {n}", f"2001:db8::{n:x}")
    with pytest.raises(TooMany):
        access.authenticate("guess", "2001:db8::ffff")
    with pytest.raises(Unauthorised):
        access.authenticate("guess", "2001:db8:1::1")


def test_ipv4_addresses_on_an_ipv6_socket_are_their_own(sqlite_database):
    """A listener on :: is told ::ffff:10.0.0.1 and the like: one of them must not keep all others out."""
    access = Access(sqlite_database)
    for n in range(BAD_PER_MINUTE):
        with pytest.raises(Unauthorised):
            access.authenticate(f"guess {n}", "::ffff:10.0.0.1")
    with pytest.raises(TooMany):
        access.authenticate("guess", "::ffff:10.0.0.1")
    with pytest.raises(Unauthorised):
        access.authenticate("guess", "::ffff:10.0.0.2")


@pytest.mark.parametrize("key", [ADMIN + "a", ADMIN[:-1], ADMIN.upper(), "é" * 20, "a" * 50_000, "Bearer"])
def test_what_is_nearly_a_key(live, key):
    with client(live[0], None) as http:
        response = http.get("/v1/me", headers={"Authorization": f"Bearer {key}".encode()})
        assert_problem(response, 401, 429)


def test_no_key_is_in_the_files_or_the_log_of_a_server(tmp_path):
    """A real process: its SQLite file with the log beside it, all other files, and all that it printed."""
    server = Server(None, tmp_path, {"ASKNEXT_LOG_LEVEL": "DEBUG"}).start()
    try:
        with client(server.address) as http:
            project = new_project(http, 3)
            key = new_key(http)
            with client(server.address, key["key"]) as own:
                made(own.post(f"/v1/projects/{project}/query", json={}))
            secret = key["key"]
            http.get(f"/v1/projects?key={secret}")
            http.get(f"/v1/projects/{secret}")
            http.get(f"/{secret}")
            http.post("/v1/projects", json={"name": 1, secret: 2})
            made(http.delete(f"/v1/keys/{key['id']}"))
            with client(server.address, secret) as own:
                assert_problem(own.get("/v1/me"), 401)
        running = all_bytes(tmp_path)
    finally:
        server.stop()
    log = "".join(server.lines)
    assert '"route": "/v1/keys"' in log
    for content in (running, all_bytes(tmp_path), log.encode()):
        for known in (secret, ADMIN):
            assert known.encode() not in content
            assert known.removeprefix("ask_").encode() not in content
    with sqlite3.connect(tmp_path / "asknext.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert hashlib.sha256(secret.encode()).hexdigest().upper() in dump
    assert secret not in dump


def test_the_first_start_shows_a_key_once(tmp_path):
    """Without a key in the environment one is made, and shown with the address to open; a second start shows none."""
    first, second = first_lines(tmp_path), first_lines(tmp_path)
    shown = re.findall(r"ask_[\w-]{43}", first)
    assert len(shown) == 2
    assert len(set(shown)) == 1
    assert "ask_" not in second
    assert shown[0].encode() not in all_bytes(tmp_path)


def first_lines(folder):
    """What a server without ASKNEXT_ADMIN_KEY prints until it listens."""
    command = [sys.executable, "-m", "app", "serve", "--port", "0", "--data-dir", str(folder)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASKNEXT_")}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    lines = []
    try:
        for line in process.stderr:
            lines.append(line)
            if "Open http" in line or "A key is shown only once" in line:
                break
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    return "".join(lines)


def all_bytes(folder):
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_revoked_key_is_not_made_the_first_one(sqlite_database):
    access = Access(sqlite_database)
    secret = access.first_key("ask_" + "a" * 43)
    assert access.first_key(secret) is None
    access.revoke(next(key["id"] for key in access.page("", 10, None)))
    with pytest.raises(Forbidden, match="was revoked"):
        access.first_key(secret)
