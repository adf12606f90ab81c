"""Servers to ask: a real nginx with certificates of every kind, and one in the test's loop that does as it is told."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.clients.http.client import HttpClient
from config.model.access import SecretRef
from tests.support.collector import no_secret, real_clock
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stopped, until

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def a_client(secrets: Mapping[str, str] | None = None) -> AsyncIterator[HttpClient]:
    """On the real clock. Secrets by the name of their environment variable."""
    known = secrets or {}

    def read_secret(ref: SecretRef) -> str:
        return known[ref.env] if ref.env in known else no_secret(ref)

    client = HttpClient(clock=real_clock, read_secret=read_secret)
    try:
        yield client
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def a_server(handler: Handler) -> AsyncIterator[int]:
    """Hand every connection to the handler, and close it afterwards; gives the port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        with contextlib.closing(writer), contextlib.suppress(*left):
            await handler(reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def request(reader: asyncio.StreamReader) -> str:
    """The head of the next request on a connection, with its body if it says how long that is."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next((int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:")), 0)
    return head + (await reader.readexactly(length)).decode()


def a_response(body: bytes = b"", status: str = "200 OK", headers: Mapping[str, str] | None = None) -> bytes:
    """A whole response, as it goes over the wire."""
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in (headers or {}).items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def says(response: bytes, heard: list[str] | None = None) -> Handler:
    """Every request of every connection gets the same response."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                asked = await request(reader)
                if heard is not None:
                    heard.append(asked)
                writer.write(response)
                await writer.drain()

    return handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Files of our own authority: what it signed, and what it did not."""

    ca: Path
    good: tuple[Path, Path]
    """Certificate and key, for 127.0.0.1."""
    expired: tuple[Path, Path]
    other_name: tuple[Path, Path]
    self_signed: tuple[Path, Path]


def certificates(home: Path) -> Certificates:
    """Make them with openssl, as an operator would."""
    ca, ca_key = home / "ca.pem", home / "ca.key"
    _openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=Ours "
             f"-keyout {ca_key} -out {ca}")  # fmt: skip

    def signed(name: str, alternative: str, *lifetime: str) -> tuple[Path, Path]:
        cert, key, asked = home / f"{name}.pem", home / f"{name}.key", home / f"{name}.csr"
        extensions = home / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative}\n")
        _openssl(f"req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={name} -keyout {key} "
                 f"-out {asked}")  # fmt: skip
        span = " ".join(lifetime) or "-days 1"
        _openssl(f"x509 -req -in {asked} -CA {ca} -CAkey {ca_key} -CAcreateserial -extfile {extensions} {span} "
                 f"-out {cert}")  # fmt: skip
        return cert, key

    alone, alone_key = home / "alone.pem", home / "alone.key"
    _openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 "
             f"-addext subjectAltName=IP:127.0.0.1 -keyout {alone_key} -out {alone}")  # fmt: skip
    return Certificates(
        ca=ca,
        good=signed("good", "IP:127.0.0.1"),
        expired=signed("expired", "IP:127.0.0.1", "-days", "-1"),
        other_name=signed("other", "DNS:elsewhere.example.org"),
        self_signed=(alone, alone_key),
    )


def _openssl(command: str) -> None:
    subprocess.run(["openssl", *command.split()], check=True, capture_output=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nginx:
    """Where it answers."""

    root: Path
    """What it serves."""
    port: int
    tls: Mapping[str, int]
    """Name of the certificate → port."""

    def url(self, path: str = "/", tls: str | None = None) -> str:
        """The address of a file."""
        return f"https://127.0.0.1:{self.tls[tls]}{path}" if tls else f"http://127.0.0.1:{self.port}{path}"


@contextlib.contextmanager
def running_nginx(home: Path, made: Certificates, extra: Sequence[str] = ()) -> Iterator[Nginx]:
    """Run one in the foreground until the block ends.

    Args:
        home: for its configuration, files and log.
        made: one TLS port for each of them.
        extra: more of the plain server's block.
    """
    root, log, port = home / "www", home / "nginx.log", free_tcp_port()
    root.mkdir()
    kinds = {"good": made.good, "expired": made.expired, "other": made.other_name, "alone": made.self_signed}
    tls = {kind: free_tcp_port() for kind in kinds}
    servers = [
        f"server {{ listen 127.0.0.1:{tls[kind]} ssl; ssl_certificate {cert}; ssl_certificate_key {key}; "
        f"root {root}; }}"
        for kind, (cert, key) in kinds.items()
    ]
    temporary = " ".join(
        f"{kind}_temp_path {home}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = home / "nginx.conf"
    config.write_text(
        f"daemon off; worker_processes 1; pid {home}/nginx.pid; error_log {log} notice;\n"
        f"{'user root;' if os.getuid() == 0 else ''}\nevents {{ worker_connections 512; }}\n"
        f"http {{ access_log off; {temporary} default_type text/plain; keepalive_requests 3;\n"
        f"server {{ listen 127.0.0.1:{port}; root {root}; {' '.join(extra)} }}\n{chr(10).join(servers)} }}\n"
    )
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            ["nginx", "-c", str(config), "-p", str(home)], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    with stopped(process):
        until(lambda: log.exists() and "start worker process" in log.read_text(), process=process, log=home / "output")
        yield Nginx(root=root, port=port, tls=tls)


@contextlib.contextmanager
def in_a_thread(handler: Handler) -> Iterator[int]:
    """The same server for a real program that asks: it runs beside the test; gives the port."""
    started: queue.SimpleQueue[tuple[int, Callable[[], object]]] = queue.SimpleQueue()

    async def serve() -> None:
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        async with a_server(handler) as port:
            started.put((port, lambda: loop.call_soon_threadsafe(ended.set)))
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    port, end = started.get(timeout=PATIENT)
    try:
        yield port
    finally:
        end()
        thread.join(PATIENT)
