"""A member is ready when it answers 200 to 399, in time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from config.model.catalogue import ReadyProbe
from handler.convergence.sightings import READY, probe
from tests.support.waiting import PATIENT


@contextmanager
def a_member_that_says(answer: bytes | None) -> Iterator[tuple[ReadyProbe, list[bytes]]]:
    """A member on loopback that answers one request; ``None``: accepts it without an answer."""
    asked: list[bytes] = []
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENT)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                asked.append(connection.recv(4096))
                if answer is None:
                    over.wait(PATIENT)
                else:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield ReadyProbe(path="/healthz?deep=1", port=listener.getsockname()[1], within=60.0), asked
        finally:
            over.set()
            thread.join(PATIENT)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (b"200 OK", READY),
        (b"204 No Content", READY),
        (b"302 Found", READY),
        (b"399 Fine", READY),
        (b"400 Bad Request", "HTTP 400"),
        (b"404 Not Found", "HTTP 404"),
        (b"503 Service Unavailable", "HTTP 503"),
    ],
)
def test_a_status_from_200_to_399_is_ready(status: bytes, expected: str) -> None:
    with a_member_that_says(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n") as (ready, asked):
        assert probe("127.0.0.1", ready) == expected
    assert asked[0].startswith(b"GET /healthz?deep=1 HTTP/1.1\r\n")


def test_nonsense_is_not_ready() -> None:
    with a_member_that_says(b"SSH-2.0-OpenSSH_9.2\r\n") as (ready, _):
        assert probe("127.0.0.1", ready) == "what answers speaks no HTTP"


def test_silence_is_not_ready_when_the_time_is_over() -> None:
    with a_member_that_says(None) as (ready, _):
        assert probe("127.0.0.1", ready, timeout=0.05) == "no answer within 50ms"


def test_a_closed_port_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert probe("127.0.0.1", ReadyProbe(path="/", port=port, within=60.0)) == f"nothing listens at port {port}"
