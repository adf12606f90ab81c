from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from collector.clients.circuits import Circuits
from collector.clients.http.pool import BoundedPool, Pool
from config.errors import Unsent
from tests.support.collector import real_clock
from tests.support.waiting import PATIENT

HERE = "127.0.0.1"
LOST = "this worker's lease is over"


@contextlib.contextmanager
def a_service() -> Iterator[tuple[int, list[bytes]]]:
    """Makes what is posted to it: its port, and what was asked of it in whole requests."""
    made: list[bytes] = []

    class Maker(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = PATIENT

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) == length:
                made.append(body)
                self.send_response(200)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"made")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer((HERE, 0), Maker) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield server.server_port, made
        finally:
            server.shutdown()
            serving.join(PATIENT)


def losing_the_lease(at: int) -> Circuits:
    """Circuits that hold everything back from their ``at``-th look on."""
    looks = iter(range(1, 1000))
    return Circuits(real_clock, lambda: LOST if next(looks) >= at else "")


@pytest.mark.parametrize("pool", [Pool, BoundedPool])
@pytest.mark.parametrize("at", [1, 2, 3], ids=["before the call", "before its first byte", "before its body"])
def test_nothing_is_made_once_the_lease_is_lost_and_the_endpoint_is_not_blamed(pool: type[Pool], at: int) -> None:
    circuits = losing_the_lease(at)
    with (
        a_service() as (port, made),
        pool(PATIENT, circuits=circuits) as session,
        pytest.raises(Unsent, match=LOST),
    ):
        session.post(f"http://{HERE}:{port}/", data=b"make one")

    assert made == []
    assert all(each.position.value == "closed" for each in circuits.statuses())


@pytest.mark.parametrize("pool", [Pool, BoundedPool])
def test_calls_under_the_lease_are_sent_and_answered(pool: type[Pool]) -> None:
    with a_service() as (port, made), pool(PATIENT, circuits=losing_the_lease(1000)) as session:
        answers = [session.post(f"http://{HERE}:{port}/", data=b"make one").content for _ in range(2)]

    assert answers == [b"made", b"made"]
    assert made == [b"make one", b"make one"]
