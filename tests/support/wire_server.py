"""What wire fakes share: what may befall a call, and serving on the loopback, each request in a thread of its own."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fault:
    """What befalls one call. ``obeyed``: it is carried out all the same."""

    obeyed: bool = False
    status: int = 0
    """0: the connection is closed without an answer."""
    body: bytes = b""
    headers: Headers = ()
    """Beside the type of what the fake answers."""
    drip: float = 0.0
    """Seconds between the bytes of the answer."""


LOST = Fault(obeyed=True)
UNREACHED = Fault()


def answered(body: bytes, *, status: int = 200, **more: Any) -> Fault:
    return Fault(status=status, body=body, **more)


@dataclass(kw_only=True)
class Befallen:
    """What befalls a fake: single calls, or all."""

    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    """What befalls the next calls of a name."""
    dead: bool = False
    """No request is answered."""
    unheard: int = 0
    """Calls that came while it was dead."""

    def script(self, call: str, *faults: Fault) -> None:
        self.faults[call].extend(faults)


class WireHandler(BaseHTTPRequestHandler):
    """One connection; ``wire`` is the fake behind it."""

    wire: Any
    content_type = "application/json"
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        """Answer one request, whatever its method: with ``asked`` and ``give``."""
        raise NotImplementedError

    def asked(self) -> bytes:
        """The body of the request."""
        body = self.rfile.read(length := int(self.headers.get("Content-Length", "0")))
        if len(body) < length:
            raise ConnectionResetError("the client has ended in the middle of its request")
        return body

    def give(self, fault: Fault, body: bytes, *headers: tuple[str, str]) -> None:
        """Answer as the fault has it."""
        if not fault.status:
            self.close_connection = True
            return
        with contextlib.suppress(OSError):  # the client may have given up
            self.send_response(fault.status)
            for name, value in (("Content-Type", self.content_type), *fault.headers, *headers):
                self.send_header(name, value)
            if fault.status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for piece in [body[index : index + 1] for index in range(len(body))] if fault.drip else [body]:
                self.wfile.write(piece)
                threading.Event().wait(fault.drip)

    def do_GET(self) -> None:
        if not self.wire.dead:
            self.answer()
            return
        self.wire.unheard += 1
        self.close_connection = True

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 their names in the library

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what has failed here; a client that was killed is no failure."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def served(handler: type[BaseHTTPRequestHandler], wire: object) -> Iterator[str]:
    """Have ``handler`` answer with ``wire``; the address of the server, without a path."""
    server = _Server(("127.0.0.1", 0), type("Bound", (handler,), {"wire": wire}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
