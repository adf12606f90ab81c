"""Builders for notices, and a receiver that writes down what it gets."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from config.model.catalogue import Group
from config.model.observability import Notify, NotifyCommand, NotifyTarget, Severity
from config.units import GroupId, Instant, ProfileId
from handler.planning.status import GroupCondition
from handler.ports.notices import DecisionNotice, Filed, News, Notice, StateTurn
from tests.support.waiting import PATIENT
from trigger.reasons import Reason
from trigger.requests import Clamp

NOW = Instant(1_700_000_000.0)
BOTH = (Severity.WARNING, Severity.ERROR)
PAGER = NotifyCommand(command=("/usr/local/bin/page",))


def at(seconds: float) -> Instant:
    return Instant(NOW + seconds)


def a_watched_group(
    name: str = "web", *, on: tuple[Severity, ...] = BOTH, target: NotifyTarget = PAGER, interval: float = 30.0
) -> Group:
    return Group(
        id=GroupId(name),
        profile=ProfileId("small"),
        minimum=2,
        maximum=8,
        interval=interval,
        notify=Notify(target=target, on=on),
    )


def a_notice(
    group: str = "web",
    turn: StateTurn = StateTurn.ENTERED,
    severity: Severity = Severity.ERROR,
    *,
    since: float = 0.0,
    sent: float | None = None,
    messages: tuple[str, ...] = ("create: no such image",),
) -> Notice:
    entered = GroupCondition(severity.value)
    return Notice(
        group=GroupId(group),
        turn=turn,
        severity=severity,
        condition=entered if turn is StateTurn.ENTERED else GroupCondition.RUNNING,
        messages=messages if turn is StateTurn.ENTERED else (),
        since=at(since),
        at=at(since if sent is None else sent),
    )


def a_decision(group: str = "web", *, sent: float = 0.0, to: int = 6) -> DecisionNotice:
    return DecisionNotice(
        group=GroupId(group),
        at=at(sent),
        reason=Reason.SCALED_OUT.value,
        by="policy out",
        desired_from=4,
        desired_to=to,
        clamps=(Clamp(guard=Reason.AT_MAX, before=8, after=to),),
    )


def a_filed(notice: News | None = None, *, target: NotifyTarget = PAGER, attempts: int = 0) -> Filed:
    return Filed(notice=notice or a_notice(), target=target, attempts=attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True, kw_only=True)
class Receiver:
    """A pager that answers with these statuses in turn, and then with 200."""

    url: str
    statuses: list[int] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def running(cls, context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
        """Run one on loopback while the block runs."""
        server = _Server(("127.0.0.1", 0), _Request)
        scheme, host = "http", "127.0.0.1"
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            scheme, host = "https", "localhost"
        server.receiver = cls(url=f"{scheme}://{host}:{server.server_address[1]}")
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        try:
            yield server.receiver
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


class _Server(ThreadingHTTPServer):
    receiver: Receiver

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that hangs up is no news: a peer that does not trust our certificate is."""


class _Request(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.got.append(Got(path=self.path, headers=dict(self.headers.items()), body=body))
        status = receiver.statuses.pop(0) if receiver.statuses else 200
        self.send_response(status)
        self.send_header("Location", receiver.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def silent_server(says: bytes | None) -> Iterator[str]:
    """A peer that takes one connection, says these bytes and hangs up; ``None``, or an unfinished answer: it hangs."""
    finished = threading.Event()

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            peer, _ = listening.accept()
            with peer:
                if says is not None:
                    peer.recv(100_000)
                    peer.sendall(says)
                if says is None or says.endswith(b"Continue\r\n\r\n"):
                    finished.wait(PATIENT)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            finished.set()
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join()
