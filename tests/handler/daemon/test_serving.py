"""Tries to get in, and to get in the way."""

from __future__ import annotations

import asyncio
import contextlib
import io
import resource
import socket
import stat
import time
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from config.errors import Refused
from config.model.daemon import ListenOn
from handler import logs
from handler.daemon import connections
from handler.daemon.serving import bind_tcp, bind_unix, refuse_without_users, serving
from handler.web import gate
from handler.web.admission import WaitPhase
from tests.support.daemon import Daemon
from tests.support.engines import EngineBed
from tests.support.waiting import PATIENT, scaled, until

GROUPS = "/api/v1/groups"


def test_an_answer_bears_the_second_of_its_request_however_long_none_was_asked_for(daemon: Daemon) -> None:
    before = int(time.time())
    answers = [daemon.ask("GET", "/healthz"), daemon.ask("GET", "/healthz", unix=True)]
    after = time.time()
    dates = [parsedate_to_datetime(each.headers["date"]).timestamp() for each in answers]
    assert all(before <= date <= after for date in dates)


@contextlib.contextmanager
def a_connection(daemon: Daemon) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=PATIENT) as connection:
        yield connection


def raw(daemon: Daemon, text: str, patience: float = PATIENT) -> str:
    """Send bytes as they are; everything that is answered until the other side closes, or has said all."""
    with a_connection(daemon) as connection:
        connection.sendall(text.encode("latin-1"))
        connection.settimeout(patience)
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
                connection.settimeout(scaled(2.0))  # an answer that began goes on
                if b"\r\n\r\n" in answer and b'"}' in answer:
                    break
        return answer.decode("latin-1")


def status_of(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "evil@127.0.0.1:{port}"]
)
def test_a_name_that_is_not_this_machine_is_misdirected(daemon: Daemon, host: str) -> None:
    host = host.format(port=daemon.port)
    answer = daemon.ask("GET", GROUPS, headers={"Host": host}, bearer=daemon.token)
    assert answer.status == 421
    assert "group-1" not in answer.text


def test_two_names_of_which_one_is_right_are_no_way_in(daemon: Daemon) -> None:
    here = f"127.0.0.1:{daemon.port}"
    assert status_of(raw(daemon, f"GET {GROUPS} HTTP/1.1\r\nHost: {here}\r\nHost: evil.example\r\n\r\n")) == 400
    assert status_of(raw(daemon, f"GET http://evil.example{GROUPS} HTTP/1.1\r\nHost: evil.example\r\n\r\n")) == 421
    assert status_of(raw(daemon, f"GET {GROUPS} HTTP/1.0\r\n\r\n")) == 421


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_what_a_web_page_can_send_is_not_taken(daemon: Daemon, kind: str) -> None:
    answer = daemon.ask(
        "PUT", f"{GROUPS}/group-1/size", b'{"size": 2}', headers={"Content-Type": kind}, bearer=daemon.token
    )
    assert answer.status == 415


def test_no_other_origin_is_given_leave(daemon: Daemon) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"}
    answer = daemon.ask("OPTIONS", f"{GROUPS}/group-1/size", headers=headers)
    assert answer.status == 405
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_a_body_that_is_too_long_is_not_read(daemon: Daemon) -> None:
    body = b'{"size": 2, "x": "' + b"x" * 70_000 + b'"}'
    assert daemon.ask("PUT", f"{GROUPS}/group-1/size", body, bearer=daemon.token).status == 413


def test_a_body_that_never_ends_is_cut_off(daemon: Daemon) -> None:
    head = (
        f"PUT {GROUPS}/group-1/size HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
        f"Authorization: Bearer {daemon.token}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = raw(daemon, head + ("1000\r\n" + "x" * 4096 + "\r\n") * 20)
    assert status_of(answer) == 408


def test_headers_without_end_are_cut_off(daemon: Daemon) -> None:
    head = f"GET {GROUPS} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
    assert status_of(raw(daemon, head + "X: " + "x" * 100_000)) == 400


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/api/v1/groups/../../../etc/passwd",
        "/api/v1/groups/%2e%2e%2f%2e%2e%2fstate%2ftoken",
        "/api/v1/groups/..;/token",
        "//etc/passwd",
        "/api/v1/groups/%00",
        "/api/v1/groups/%ff%fe",
        "/static/../../../token",
        "/static/%2e%2e/%2e%2e/token",
    ],
)
def test_no_path_leads_out(daemon: Daemon, path: str) -> None:
    answer = raw(daemon, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nConnection: close\r\n\r\n")
    assert status_of(answer) == 404
    assert "root:" not in answer
    assert daemon.token not in answer


@pytest.mark.parametrize(
    "noise",
    [
        "\x00\x01\x02\r\n\r\n",
        "GET\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01",
        "GET / HTTP/9.9\r\n\r\n",
        "GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\nxx",
    ],
    ids=[
        "bytes",
        "half a line",
        "HTTP/2",
        "TLS",
        "HTTP/9.9",
        "no ASCII",
        "no path",
        "a tunnel",
        "two framings",
        "two lengths",
        "less than nothing",
    ],
)
def test_noise_is_turned_away_and_leaves_no_line_in_the_log(daemon: Daemon, noise: str) -> None:
    before = len(daemon.log.read_text().splitlines())
    raw(daemon, noise, patience=2.0)  # most noise is not answered
    assert daemon.get("/healthz").status == 200
    after = daemon.log.read_text().splitlines()[before:]
    assert not [line for line in after if not line.startswith("time=") or "level=ERROR" in line]


def test_the_token_opens_nothing_but_as_a_bearer(daemon: Daemon) -> None:
    path = f"{GROUPS}/group-1/resume"
    token = daemon.token
    ways: list[tuple[str, dict[str, str]]] = [
        (f"{path}?token={token}", {}),
        (f"{path}?access_token={token}", {}),
        (path, {"Authorization": f"Basic {token}"}),
        (path, {"Cookie": f"token={token}"}),
        (path, {"X-Token": token}),
        (path, {"Authorization": f"Bearer {token[:-1]}"}),
        (path, {"Authorization": "Bearer é"}),
    ]
    for where, headers in ways:
        assert daemon.ask("POST", where, headers=headers).status == 401, (where, headers)
    assert daemon.ask("POST", path, bearer=token).status == 200


def test_only_the_owner_may_use_the_files_of_the_state_directory(daemon: Daemon) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert mode(daemon.state) == 0o700
    assert mode(daemon.socket) == 0o600
    assert mode(daemon.state / "token") == 0o600
    loose = [path for path in daemon.state.rglob("*") if not path.is_symlink() and mode(path) & 0o077]
    assert not loose


def test_only_loopback_is_listened_on(daemon: Daemon) -> None:
    wanted = f"{daemon.port:04X}"
    listening = [
        line.split()[1]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{wanted}")
    ]
    assert listening == [f"0100007F:{wanted}"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_an_address_that_other_machines_reach_needs_protection_and_users(host: str) -> None:
    with pytest.raises(Refused, match="nothing encrypts: declare listen with certificate and key, or"):
        bind_tcp(host, 0)
    with pytest.raises(Refused, match=r"the store has no users.*trimtab user init"):
        refuse_without_users(ListenOn(host=host), users_exist=False)


def test_an_address_with_protection_and_users_is_listened_on() -> None:
    refuse_without_users(ListenOn(host="0.0.0.0"), users_exist=True)
    refuse_without_users(ListenOn(host="127.0.0.1"), users_exist=False)
    with bind_tcp("0.0.0.0", 0, protected=True) as listener:
        assert listener.getsockname()[0] == "0.0.0.0"


def test_an_answers_body_does_not_wait_until_its_head_is_acknowledged() -> None:
    with bind_tcp("127.0.0.1", 0) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_that_is_taken_is_refused_with_what_to_do() -> None:
    with bind_tcp("127.0.0.1", 0) as first:
        first.listen()
        with pytest.raises(Refused, match="--port"):
            bind_tcp("127.0.0.1", first.getsockname()[1])


def test_a_path_too_long_for_a_socket_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="--state"):
        bind_unix(tmp_path / ("x" * 100) / "trimtab.sock")


def test_a_socket_that_was_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "trimtab.sock"
    bind_unix(path).close()
    with bind_unix(path) as listener:
        listener.listen()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def _slowly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scene: Callable[[Daemon], bytes]) -> bytes:
    """What a scene gets of a daemon with short deadlines, in a thread of its own; 5 s long."""
    monkeypatch.setattr(connections, "_SWEPT_EVERY", 0.02)
    monkeypatch.setattr(gate, "BODY_WITHIN", 0.1)
    within = {
        WaitPhase.HEAD: scaled(1.0),  # a client of a busy machine sends its head a while after it has connected
        WaitPhase.BODY: PATIENT,  # the gate's deadline comes first, however busy the machine
        WaitPhase.ANSWER: None,
        WaitPhase.STALLED: 0.2,
        WaitPhase.CLOSING: 0.2,
    }

    async def play() -> bytes:
        with bind_unix(tmp_path / "s") as unix, bind_tcp("127.0.0.1", 0) as tcp:
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            async with (
                EngineBed(tmp_path).running() as up,
                serving(up.operations, up.engine, unix, tcp, "token", within=within),
            ):
                daemon = Daemon(tmp_path, port=tcp.getsockname()[1])
                async with asyncio.timeout(PATIENT):
                    return await asyncio.to_thread(scene, daemon)

    return asyncio.run(play())


def all_of(connection: socket.socket) -> bytes:
    """What is answered until the other side closes."""
    connection.settimeout(PATIENT)
    answer = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            answer += piece
    return answer


def sent(*pieces: str) -> Callable[[Daemon], bytes]:
    """Send these, with nothing more to come, and take what is answered until the end."""

    def scene(daemon: Daemon) -> bytes:
        with a_connection(daemon) as connection:
            for piece in pieces:
                connection.sendall(piece.replace("HERE", f"127.0.0.1:{daemon.port}").encode())
            return all_of(connection)

    return scene


def test_a_client_that_would_rather_speak_another_protocol_is_answered_in_this_one(daemon: Daemon) -> None:
    head = (
        f"POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {daemon.token}\r\n"
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAA\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    )
    assert status_of(raw(daemon, head + "{}")) == 200


def test_requests_that_come_ahead_of_their_answers_are_answered_in_their_order(daemon: Daemon) -> None:
    here = f"Host: 127.0.0.1:{daemon.port}\r\n"
    asked = f"GET {GROUPS}/group-1 HTTP/1.1\r\n{here}\r\nGET /none HTTP/1.1\r\n{here}Connection: close\r\n\r\n"
    with a_connection(daemon) as connection:
        connection.sendall(asked.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert answer.index("HTTP/1.1 200") < answer.index("HTTP/1.1 404")


@pytest.mark.parametrize("head", ["", "GET /healthz HTTP/1.1\r\nHost: HERE\r\nX-Slow: "], ids=["silent", "half a head"])
def test_a_client_that_never_finishes_its_head_is_let_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, head: str
) -> None:
    assert _slowly(monkeypatch, tmp_path, sent(head)) == b""


def test_a_head_that_comes_byte_by_byte_is_not_waited_for_longer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def drips(daemon: Daemon) -> bytes:
        with a_connection(daemon) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
            connection.settimeout(0.02)
            while True:
                connection.sendall(b"x")
                with contextlib.suppress(TimeoutError):
                    if connection.recv(1) == b"":
                        return b"over"
        return b"over"

    assert _slowly(monkeypatch, tmp_path, drips) == b"over"


def test_a_client_that_asks_once_and_then_never_again_is_let_go(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answer = _slowly(monkeypatch, tmp_path, sent("GET /healthz HTTP/1.1\r\nHost: HERE\r\n\r\n", "GET /"))
    assert answer.count(b"HTTP/1.1 200") == 1


_BODY = "Host: HERE\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    head = f"POST /api/v1/reload HTTP/1.1\r\nAuthorization: Bearer token\r\n{_BODY}\r\n{{"
    assert _slowly(monkeypatch, tmp_path, sent(head)).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"POST /api/v1/reload HTTP/1.1\r\n{_BODY}\r\n", b"401"),
        (f"POST /hooks/alerts HTTP/1.1\r\n{_BODY}\r\n".replace("application/json", "text/html"), b"415"),
        (f"POST /push HTTP/1.1\r\n{_BODY}\r\n".replace("application/json", "text/html"), b"415"),
    ],
    ids=["change", "webhook", "push"],
)
def test_the_body_of_a_refused_request_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, head: str, status: bytes
) -> None:
    answer = _slowly(monkeypatch, tmp_path, sent(head, "{"))
    assert answer.startswith(b"HTTP/1.1 " + status)


def test_a_client_that_never_reads_its_answers_is_let_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def asks_for_ever(daemon: Daemon) -> bytes:
        wanted = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n\r\n".encode()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", daemon.port))
            connection.settimeout(PATIENT)
            with contextlib.suppress(ConnectionError):
                while True:
                    connection.sendall(wanted)
        return b"over"

    assert _slowly(monkeypatch, tmp_path, asks_for_ever) == b"over"


def idle(daemon: Daemon, _: int) -> bytes:
    return b""


def slow_head(daemon: Daemon, _: int) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\nX: ".encode()


def slow_body(daemon: Daemon, number: int) -> bytes:
    """One that is refused at once, and one that a token in it may let in."""
    path = ("/api/v1/reload", "/hooks/alerts", "/push")[number % 3]
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
    ).encode()


def unread(daemon: Daemon, _: int) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n\r\n".encode() * 30


def mixed(daemon: Daemon, number: int) -> bytes:
    return (idle, slow_head, slow_body)[number % 3](daemon, number)


@pytest.mark.parametrize(
    ("crowd", "count"),
    [(idle, 2000), (slow_head, 700), (slow_body, 700), (unread, 60), (mixed, 2000)],
    ids=["idle", "slow head", "slow body", "answers that are not read", "all of them"],
)
def test_a_request_is_answered_on_both_sockets_whatever_the_number_of_idle_connections(
    daemon: Daemon, crowd: Callable[[Daemon, int], bytes], count: int
) -> None:
    """The crowd comes from the same address as those who ask."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.ExitStack() as standing:
        for number in range(count):
            with contextlib.suppress(OSError):
                connection = standing.enter_context(a_connection(daemon))
                connection.sendall(crowd(daemon, number))
            if number % 100 == 99:
                assert daemon.get("/healthz").status == 200
        for _ in range(20):
            assert daemon.get("/healthz").status == 200
            assert daemon.ask("GET", f"{GROUPS}/group-1", unix=True).status == 200
        assert daemon.ask("POST", f"{GROUPS}/group-1/resume", bearer=daemon.token).status == 200
        assert len(list(Path(f"/proc/{daemon.pid}/fd").iterdir())) < connections.CONNECTIONS + 150


def test_a_crowd_is_logged_once_when_it_comes_and_once_when_it_has_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 40)
    stream = io.StringIO()
    logs.configure(stream=stream)

    def crowd(daemon: Daemon) -> bytes:
        with contextlib.ExitStack() as standing:
            for _ in range(80):
                standing.enter_context(a_connection(daemon))
            until(lambda: "event=connections_full" in stream.getvalue())
        until(lambda: "event=connections_free" in stream.getvalue())
        return b""

    try:
        _slowly(monkeypatch, tmp_path, crowd)
    finally:
        logs.configure()
    assert stream.getvalue().count("event=connections_full listener=TCP") == 1
