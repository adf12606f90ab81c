"""What every command makes of an answer, shown with a daemon that answers as the test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer

import pytest

from tests.support.daemon import typed


class Answering(BaseHTTPRequestHandler):
    """Answers each request with a status, a body and no reason."""

    status, body = 200, b""

    def setup(self) -> None:
        self.client_address = ("", 0)
        super().setup()

    def do_DELETE(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    with UnixStreamServer(str(tmp_path / "trimtab.sock"), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield tmp_path
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (307, b"", "the daemon answered 307"),
        (204, b"", ""),
        (503, b"[]", "the daemon answered 503"),
        (403, b'{"detail": "not now"}', "not now"),
        (404, b'{"error": "there is no user bob"}', "there is no user bob"),
    ],
)
def test_an_answer_that_is_no_success_is_a_failure(
    state: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, words: str
) -> None:
    monkeypatch.setattr(Answering, "status", status)
    monkeypatch.setattr(Answering, "body", body)

    result = typed("user", "delete", "bob", "--state", str(state))

    assert (result.code, words in result.err) == (1 if words else 0, True), result
    assert ("deleted" in result.out) is not bool(words)
