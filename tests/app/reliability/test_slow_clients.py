"""L8 and L11: whoever is slow, or may not, holds nothing: neither headers, nor bodies, nor answers are waited for."""

import socket
import time
from contextlib import ExitStack, contextmanager

import pytest

from tests.app.input.calls import assert_problem, client, made, new_project
from tests.app.live import ADMIN, eventually, in_thread
from tests.app.reliability.people import Site, done

MANY = 520  # connections, more than there are places
JSON = "Content-Type: application/json\r\n"


@contextmanager
def connections(address, count=1):
    """Sockets that are connected with a server."""
    host, port = address.removeprefix("http://").split(":")
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection((host, int(port)), timeout=60)) for _ in range(count)]


def half_post(path, key, more=""):
    """Headers that promise a hundred bytes, and one of them."""
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\n{more}Content-Length: 100\r\n\r\n"
    return head.encode() + b"{"


def all_of(one):
    """What a connection brings until the other side closes it."""
    pieces = []
    try:
        while piece := one.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def test_half_headers_leave_others_served(serve, sqlite_url):
    server = serve(sqlite_url, {"ASKNEXT_HEADER_SECONDS": "3"})
    with Site(server.address, 20, 2, retrain="off") as site, connections(server.address, MANY) as slow:
        for one in slow:
            one.sendall(b"GET /v1/me HTTP/1.1\r\nHost: here\r\nAuthor")
        for n in range(5):
            done(site.post(site.people[n % 2], f"{n}", site.keys[n], "red"))
        for one in slow:
            assert all_of(one) == b""
        done(site.post(site.people[0], "last", site.keys[10], "red"))


@pytest.mark.parametrize("path", ["labels", "import?format=csv"])
def test_half_bodies_leave_others_served(serve, sqlite_url, path):
    server = serve(sqlite_url, {"ASKNEXT_BODY_SECONDS": "4"})
    with Site(server.address, 20, 2, retrain="off") as site, connections(server.address, MANY) as slow:
        key = ADMIN if path.startswith("import") else site.new_key("slow")
        for one in slow:
            one.sendall(half_post(f"{site.path}/{path}", key, JSON))
        for n in range(5):
            done(site.post(site.people[n % 2], f"{n}", site.keys[n], "red"))
        statuses = [int(one.recv(65_536).split()[1]) for one in slow]
        assert set(statuses) == {408, 503}
        assert statuses.count(408) == 256  # one key may have half of the places
        done(site.post(site.people[0], "last", site.keys[10], "red"))
        assert len(site.history()) == 6


def test_a_trickle_is_no_way_to_stay(sqlite_url, tmp_path):
    """A byte now and then does not make the time longer: of headers, of a body, or of one that nobody wants."""
    limits = {"header_seconds": 1.0, "body_seconds": 1.0}
    with in_thread(sqlite_url, tmp_path / "data", **limits) as (address, _), client(address) as http:
        path = f"/v1/projects/{new_project(http, 3)}/labels"
        with connections(address, 4) as (silent, header, body, refused):
            header.sendall(b"GET / HTTP/1.1\r\nHost: ")
            body.sendall(half_post(path, ADMIN, JSON))
            refused.sendall(half_post(path, "ask_wrong", JSON))
            trickling, end = {header, body, refused}, time.monotonic() + 30
            while trickling and time.monotonic() < end:
                time.sleep(0.1)
                for one in trickling.copy():
                    try:
                        one.sendall(b" ")
                    except OSError:
                        trickling.discard(one)
            assert not trickling
            assert all_of(silent) == all_of(header) == b""


def test_what_came_too_slowly_is_told_so(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path / "data", body_seconds=0.5) as (address, service), client(address) as http:
        base = f"/v1/projects/{new_project(http, 3)}"
        with connections(address, 2) as slow:
            for one, path in zip(slow, ("labels", "import?format=csv"), strict=True):
                one.sendall(half_post(f"{base}/{path}", ADMIN, JSON))
            for one in slow:
                answer = all_of(one)
                assert answer.startswith(b"HTTP/1.1 408")
                assert b"connection: close" in answer.lower()
                assert b"must come within 0.5 seconds" in answer
        assert not list(service.uploads.glob("*"))
        assert_problem(http.post(f"{base}/labels", json={}), 422)


def test_a_body_that_comes_steadily_may_take_longer(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path / "data", body_seconds=0.5) as (address, _), client(address) as http:
        base = f"/v1/projects/{new_project(http)}"

        def steadily():
            yield b"key,a,b,c\n"
            for n in range(10):
                time.sleep(0.1)
                yield b"".join(b"%d-%d,1,2,3\n" % (n, m) for m in range(200))

        assert made(http.post(f"{base}/import?format=csv", content=steadily()))["job"]


def test_whoever_does_not_read_is_cut_off(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path / "data", send_seconds=0.5) as (address, _), client(address) as http:
        with connections(address) as (deaf,):
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.setblocking(False)
            request = b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n"
            assert deaf.send(request * 500) > 0
            eventually(lambda: open_requests(http) > 1, seconds=20)
            eventually(lambda: open_requests(http) == 1, seconds=20)  # this one
        made(http.get("/v1/me"))


def open_requests(http):
    (line,) = [line for line in http.get("/metrics").text.splitlines() if line.startswith("asknext_open_requests ")]
    return float(line.split()[1])


def test_headers_have_an_end(sqlite_url, tmp_path):
    with in_thread(sqlite_url, tmp_path / "data") as (address, _), connections(address) as (one,):
        one.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nX-Long: ")
        block = b"x" * 65_536
        for _ in range(100):
            try:
                one.sendall(block)
            except OSError:
                break
        else:
            assert all_of(one).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("piece", [b"a:\r\n" * 16_384, b"x" * 65_536])
def test_what_follows_a_body_has_an_end(sqlite_url, tmp_path, piece):
    """Headers may come behind the last chunk of a body, too, even of one that nobody wants."""
    with in_thread(sqlite_url, tmp_path / "data", header_seconds=60.0) as (address, _), connections(address) as (one,):
        head = b"POST /v1/projects HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
        one.sendall(head + b"1\r\n{\r\n0\r\nX-Long: ")
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            one.sendall(200 * piece)


def test_large_chunks_are_no_headers(sqlite_url, tmp_path):
    """However the pieces of a body and its chunks fall together, and with another request behind it."""
    with in_thread(sqlite_url, tmp_path / "data") as (address, _), client(address) as http:
        path = f"/v1/projects/{new_project(http)}/import?format=csv"
        rows = b"key,a,b\n" + b"".join(b"%d,1,2\n" % n for n in range(60_000))
        parts = [rows[:200_000], rows[200_000:400_001], rows[400_001:]]
        chunks = b"".join(b"%x;why=not\r\n%s\r\n" % (len(part), part) for part in parts)
        head = f"Host: here\r\nAuthorization: Bearer {ADMIN}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        behind = b"GET /health/live HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
        with connections(address) as (one,):
            one.sendall(b"POST " + path.encode() + b" HTTP/1.1\r\n" + head[:20])
            time.sleep(0.1)
            one.sendall(head[20:] + chunks + b"0\r\nX: y\r\n\r\n" + behind)
            one.sendall(b"\r\n")
            answers = all_of(one)
        assert answers.count(b"HTTP/1.1 202") == answers.count(b"HTTP/1.1 200") == 1, answers


def test_one_key_or_address_does_not_get_all_places(sqlite_url, tmp_path):
    """Of eight places a key gets four, and an address, whatever keys it has, six."""
    with in_thread(sqlite_url, tmp_path / "data", max_requests=8) as (address, _), client(address) as http:
        path = f"/v1/projects/{new_project(http, 3)}/labels"
        keys = [made(http.post("/v1/keys", json={"name": "k", "role": "annotator"}))["key"] for _ in range(5)]

        def asked(key, host):
            headers = {"X-Forwarded-For": host}  # as a proxy on this machine says
            with client(address, key, headers=headers) as other:
                return other.get("/v1/me").status_code

        with ExitStack() as stack:

            def hold(key, host, count):
                for one in stack.enter_context(connections(address, count)):
                    one.sendall(half_post(path, key, f"{JSON}X-Forwarded-For: {host}\r\n"))

            hold(keys[0], "10.0.0.1", 4)
            eventually(lambda: asked(keys[0], "10.0.0.1") == 503)
            assert asked(keys[1], "10.0.0.1") == 200
            hold(keys[1], "10.0.0.1", 2)
            eventually(lambda: asked(keys[2], "10.0.0.1") == 503)
            assert asked(keys[2], "10.0.0.2") == 200
            assert http.get("/health/live", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 200


def test_a_body_is_read_only_where_it_is_wanted(sqlite_url, tmp_path):
    """Route, key, role and project come first: each is refused while the body has not come."""
    with in_thread(sqlite_url, tmp_path / "data") as (address, _), client(address) as http:
        project, other = new_project(http, 3), new_project(http, 3)
        reader = made(http.post("/v1/keys", json={"name": "r", "role": "reader", "project": project}))["key"]
        base = f"/v1/projects/{project}"
        for status, path, key in [
            (405, "/v1/nothing/import", ADMIN),
            (401, f"{base}/import?format=csv", "ask_wrong"),
            (403, f"{base}/import?format=csv", reader),
            (403, f"{base}/labels", reader),
            (403, "/v1/projects", reader),
            (404, f"/v1/projects/{other}/import?format=csv", reader),
            (404, "/v1/projects/none/items", ADMIN),
            (401, f"/label-studio/{project}/{'s' * 43}/webhook", ADMIN),
        ]:
            with connections(address) as (one,):
                one.settimeout(10)
                one.sendall(half_post(path, key, JSON))
                assert int(one.recv(65_536).split()[1]) == status, path


def test_limits_belong_to_routes(sqlite_url, tmp_path):
    """A class may be called import: what its route takes is JSON, however its path ends."""
    limits = {"max_body": 20_000, "max_upload": 40_000}
    with in_thread(sqlite_url, tmp_path / "data", **limits) as (address, _), client(address) as http:
        base = f"/v1/projects/{new_project(http, classes=['a/import', 'b'])}"
        for method, path in [("PATCH", "/classes/a/import"), ("POST", "/classes/a/import/merge"), ("POST", "/items")]:
            body, headers = b'{"name": "' + b"x" * 30_000 + b'"}', {"Content-Type": "application/json"}
            for content in (body, iter([body])):  # with and without Content-Length
                response = http.request(method, base + path, content=content, headers=headers)
                assert_problem(response, 413)
                assert "20000 bytes" in response.json()["detail"]
        assert http.post(f"{base}/import?format=csv", content=b"x" * 30_000).status_code == 202
