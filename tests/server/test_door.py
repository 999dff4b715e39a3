"""The door: guesses of the token, proxies, and clients that take their time."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, closing

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from rankloom.collection import Collection
from rankloom.engine import Engine
from rankloom.server import ServerSettings, create_app
from rankloom.server.connections import Awaited
from rankloom.server.settings import ConnectionLimits, Rate
from tests.serving import HEADER, UNLIMITED, client, listening, ok, refused
from tests.shell import invoke

TOKEN = "a-token-that-is-long-enough"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
FEW = {**UNLIMITED, "token": Rate(0.001, 3)}


# Guesses -------------------------------------------------------------------------------------------------------------


def guesses(web, way, count):
    """The statuses of wrong tokens, given in one of the ways there are; no cookie is kept."""
    codes = []
    for number in range(count):
        wrong = f"guess {number} of the token"
        if way == "session":
            answer = web.post("/api/session", json={"token": wrong})
        elif way == "cookie":
            web.cookies.update({"rankloom_user": f"{number:032x}", "rankloom_session": f"{number:064x}"})
            answer = web.get("/api/collection")
        elif way == "nothing":
            answer = web.get("/api/collection")
        else:
            answer = web.get(way, headers={"Authorization": f"Bearer {wrong}"})
        codes.append(answer.status_code)
        web.cookies.clear()
    return codes


@pytest.mark.slow
@pytest.mark.parametrize("way", ["session", "cookie", "nothing", "/api/collection", "/api/items/1/view"])
def test_every_guess_counts(folder, way):
    with client(folder, token=TOKEN, limits=FEW) as web:
        assert guesses(web, way, 6) == [401, 401, 401, 429, 429, 429]
        assert guesses(web, "session", 1) == [429]


@pytest.mark.parametrize("path", ["/", "/api/health", "/api/session"])
def test_open_addresses_do_not_tell_whether_a_token_is_right(folder, path):
    with client(folder, token=TOKEN, limits=FEW) as web:
        assert guesses(web, path, 5) == [200, 200, 200, 429, 429]
        right = web.get(path, headers=RIGHT)
        assert right.status_code == 429
        assert "set-cookie" not in right.headers


def test_who_is_known_is_answered_after_the_guesses_of_others(folder):
    with client(folder, token=TOKEN, limits=FEW) as web:
        ok(web.post("/api/session", json={"token": TOKEN}))
        session = dict(web.cookies)
        web.cookies.clear()
        assert 429 in guesses(web, "/api/collection", 5)
        assert web.get("/api/collection", headers=RIGHT).status_code == 429  # it is not looked at
        web.cookies.update(session)
        assert ok(web.get("/api/collection"))
        assert web.get("/").status_code == 200


def test_right_tokens_are_not_counted(folder):
    with client(folder, token=TOKEN, limits=FEW) as web:
        assert {web.get("/api/collection", headers=RIGHT).status_code for _ in range(10)} == {200}


# Proxies -------------------------------------------------------------------------------------------------------------


def from_address(app, address):
    """A client at an address."""
    return TestClient(app, "http://localhost", headers=HEADER, client=(address, 1234))


def test_only_a_trusted_proxy_says_for_whom_it_asks(folder):
    with Collection(folder) as collection:
        settings = ServerSettings(token=TOKEN, limits=FEW, proxies=("10.0.0.1", "10.0.0.2"))
        app = create_app(Engine(collection), settings)

        def codes(address, forwarded):
            web = from_address(app, address)
            return [web.get("/api/collection", headers={"X-Forwarded-For": text}).status_code for text in forwarded]

        # Whatever others claim, they are who they are.
        assert codes("192.0.2.1", [f"203.0.113.{number}" for number in range(5)]) == [401] * 3 + [429] * 2
        # Behind the proxy each client has its own limit; what a client claims stands to the left of what is true.
        assert codes("10.0.0.1", ["198.51.100.1"] * 4) == [401] * 3 + [429]
        assert codes("10.0.0.1", [f"203.0.113.{number}, 198.51.100.1, 10.0.0.2" for number in range(2)]) == [429] * 2
        assert codes("10.0.0.2", ["198.51.100.2"]) == [401]


def test_cookies_are_secure_under_tls(folder):
    with Collection(folder) as collection:
        app = create_app(Engine(collection), ServerSettings(token=TOKEN, limits=UNLIMITED, proxies=("10.0.0.1",)))
        headers = {"X-Forwarded-Proto": "https"}
        for address in ("10.0.0.1", "192.0.2.1"):
            given = from_address(app, address).post("/api/session", json={"token": TOKEN}, headers=headers)
            cookies = given.headers["set-cookie"]
            assert cookies.count("; Secure") == (cookies.count("HttpOnly") if address == "10.0.0.1" else 0)
        plain = from_address(app, "10.0.0.1").get("/")
        assert "Secure" not in plain.headers["set-cookie"]


@pytest.mark.parametrize("proxy", ["*", "example.org", "10.0.0.0/8", "", "0:0::1"])
def test_a_proxy_is_an_address(folder, proxy):

    with pytest.raises(ValueError, match="trusted proxy"):
        ServerSettings(proxies=(proxy,)).check()
    ran = invoke("serve", "-c", str(folder), "--trusted-proxy", proxy)
    assert ran.exit_code == 1
    assert "127.0.0.1" in ran.output


# Clients that take their time ----------------------------------------------------------------------------------------

HEAD = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nX-Rankloom: 1\r\nContent-Length: 900000\r\n\r\n{"
PATIENT = ConnectionLimits(*[3600.0] * 5)


def dial(port, data=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=300)
    connection.sendall(data)
    return connection


def is_cut(connection):
    """Whether the server closed a connection without an answer; waits for it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def healthy(port):
    return httpx.get(f"http://127.0.0.1:{port}/api/health", timeout=300).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", HEAD, BODY], ids=["nothing", "header", "body"])
def test_unfinished_requests_shut_nobody_out(folder, data):
    limits = PATIENT._replace(of_one=20, in_all=30, at_once=60)
    with listening(folder, token=TOKEN, connections=limits) as (_, port), ExitStack() as stack:
        waiting = [stack.enter_context(closing(dial(port, data))) for _ in range(100)]
        assert all(is_cut(connection) for connection in waiting[:70])  # the oldest go
        assert healthy(port)


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", HEAD, BODY], ids=["nothing", "header", "body"])
def test_a_request_must_arrive_in_time(folder, data):
    limits = ConnectionLimits(header_seconds=0.2, body_seconds=0.2, bytes_per_second=1e9)
    with listening(folder, connections=limits) as (_, port), closing(dial(port, data)) as connection:
        assert is_cut(connection)


@pytest.mark.slow
def test_drops_of_a_header_do_not_buy_time(folder):
    limits = ConnectionLimits(header_seconds=0.5)
    with listening(folder, connections=limits) as (_, port), closing(dial(port, HEAD)) as connection:

        def drip():
            for number in range(30_000):
                connection.sendall(f"X-{number}: drop\r\n".encode())
                time.sleep(0.01)

        with pytest.raises(OSError):
            drip()


@pytest.mark.slow
def test_the_rest_of_a_refused_body_is_bounded(folder):
    limits = PATIENT._replace(rest_seconds=0.2)
    body = BODY.replace(b"X-Rankloom: 1\r\n", b"")
    with listening(folder, connections=limits) as (_, port), closing(dial(port, body)) as connection:
        answer = b""
        while piece := connection.recv(10_000):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.slow
def test_who_does_not_read_is_cut(folder):
    """Answers to many requests at once that nobody reads."""
    limits = PATIENT._replace(stalled_seconds=0.2)
    with listening(folder, connections=limits) as (server, port), closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.settimeout(300)
        page = b"GET /static/search.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        try:
            while True:
                connection.sendall(page * 100)
        except OSError:
            pass  # cut while we still send
        while server.server_state.connections:
            time.sleep(0.01)
        assert healthy(port)


@pytest.mark.slow
def test_connections_are_kept_between_requests(folder):
    with (
        listening(folder, connections=PATIENT) as (server, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=HEADER, timeout=300) as web,
    ):
        for _ in range(5):
            assert web.get("/api/health").status_code == 200
            assert web.post("/api/search", json={"query": {"text": "sea"}, "k": 3}).status_code == 200
        assert len(server.server_state.connections) == 1


def test_others_keep_their_place():
    awaited = Awaited(in_all=100, of_one=3)
    assert awaited.add("friend", "10.0.0.9") is None
    assert [awaited.add(number, "10.0.0.1") for number in range(5)] == [None, None, None, 0, 1]
    assert [awaited.add(-number, None) for number in range(1, 5)] == [None] * 4  # a proxy has many
    awaited.remove("friend")
    awaited.remove("friend")
    assert len(awaited) == 7
    assert awaited.add(2, "10.0.0.1") is None  # again: its wait begins anew
    assert awaited.add(9, "10.0.0.1") == 3


@pytest.mark.slow
def test_small_answers_are_sent_at_once(folder):
    with listening(folder) as (server, port), closing(dial(port, HEAD + b"\r\n")) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
        (accepted,) = server.server_state.connections
        own = accepted.transport.get_extra_info("socket")
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.slow
def test_a_wrong_upload_leaves_no_traceback(folder, caplog):
    limits = ConnectionLimits(body_seconds=0.2, bytes_per_second=1e9)
    upload = BODY.replace(b"session", b"upload").replace(b"X-Rank", b"Content-Type: image/png\r\nX-Rank")
    with listening(folder, connections=limits) as (_, port), closing(dial(port, upload)) as connection:
        assert is_cut(connection)
        assert healthy(port)
    assert "failure" not in caplog.text


def test_refusals_name_the_wait(folder):
    with client(folder, token=TOKEN, limits=FEW) as web:
        guesses(web, "nothing", 3)
        answer = web.get("/api/collection")
        assert "try again in" in refused(answer, 429)
        assert int(answer.headers["retry-after"]) >= 1
