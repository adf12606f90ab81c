"""Serves a wire fake on the loopback, each request in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def served(handler: type[BaseHTTPRequestHandler], wire: object) -> Iterator[str]:
    """Have ``handler`` answer with ``wire``; the address of the server, without a path."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (handler,), {"wire": wire}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
