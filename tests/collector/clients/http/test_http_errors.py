"""Why a call over HTTP was not answered, as the real libraries have it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
import requests

from collector.clients.http.http_errors import not_answered, why
from collector.clients.http.pool import BoundedPool
from config.errors import Unanswered


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that accepts, says what is no TLS, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1024)
                    connection.sendall(b"220 ready, and no TLS is spoken here at all\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def error_of(url: str, **options: str) -> requests.RequestException:
    with BoundedPool(5.0) as session, pytest.raises(requests.RequestException) as raised:
        session.get(url, **options)  # type: ignore[arg-type] # verify is the only option here
    return raised.value


def failure_of(url: str, **options: str) -> str:
    return why(error_of(url, **options))


def test_no_program_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    assert failure_of(f"http://127.0.0.1:{free}/") == "connection refused"


def test_a_listener_without_tls_is_reported(port: int) -> None:
    assert failure_of(f"https://127.0.0.1:{port}/").startswith("TLS failed (")


def test_a_call_may_have_been_carried_out_only_if_it_was_sent(port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        unbound = listener.getsockname()[1]
    may_have = {
        name: isinstance(not_answered("asked", error_of(url)), Unanswered)
        for name, url in {
            "hangs up": f"http://127.0.0.1:{port}/",
            "no TLS": f"https://127.0.0.1:{port}/",
            "no program": f"http://127.0.0.1:{unbound}/",
            "no host": "http://nowhere.invalid/",
        }.items()
    }
    assert may_have == {"hangs up": True, "no TLS": False, "no program": False, "no host": False}


def test_the_file_of_certificates_is_not_there(port: int) -> None:
    detail = failure_of(f"https://127.0.0.1:{port}/", verify="/nowhere/ca.pem")
    assert detail == "the file of certificates (ca) cannot be read"


def test_what_is_asked_is_never_reported() -> None:
    url = "http://127.0.0.1:1/?signature=s3cret"
    assert "s3cret" not in failure_of(url)


def test_an_error_that_comes_from_itself_ends() -> None:
    error = ValueError("s3cret")
    error.__context__ = OSError("s3cret")
    error.__context__.__context__ = error
    assert why(error) == "ValueError"
