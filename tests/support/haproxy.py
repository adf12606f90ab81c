"""A real HAProxy of our own: in the foreground, on free loopback ports, with its runtime socket in its directory."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stop, until

_CONFIG = """
global
    stats socket {socket} mode 600 level admin expose-fd listeners
    hard-stop-after 5s
    {more}

defaults
    mode http
    timeout connect 2s
    timeout client 10s
    timeout server 10s

frontend front
    bind 127.0.0.1:{port}
    default_backend {backend}
"""

_PAGE = """
frontend page
    bind 127.0.0.1:{port}
    stats enable
    stats uri /stats
    stats auth trimtab:s3cret
"""
_KEPT = """
backend names
    tcp-request content accept if {{ str(-),map({names}) -m found }}
"""
_TEMPLATE = """    load-server-state-from-file global
    server-template slot 1-{slots} unassigned.invalid:80 init-addr last,0.0.0.0 disabled
"""
_SINCE_CHANGE = 9
"""The column ``srv_time_since_last_change``."""
PAGE_USER, PAGE_PASSWORD = "trimtab", "s3cret"


@dataclass(slots=True, kw_only=True)
class Haproxy:
    """A running HAProxy; ``process`` is the one that serves now, another one after a reload."""

    socket: Path
    """The runtime socket, level admin."""
    frontend_port: int
    backend: str
    """The first backend, which the frontend uses."""
    config: Path
    log: Path
    page: str
    """The address of its statistics page; behind `PAGE_USER` and `PAGE_PASSWORD`."""
    process: subprocess.Popen[bytes]
    map: Path
    """Who is where in the template's servers."""
    state: Path | None
    """The state file; ``None``: it forgets all when it goes."""
    earlier: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """Processes that a reload has told to finish."""

    def servers(self) -> list[list[str]]:
        """The rows of ``show servers state``, without the seconds since a server's last change: those pass anyway."""
        rows = [line.split() for line in self.ask(f"show servers state {self.backend}").splitlines()]
        return [row[:_SINCE_CHANGE] + row[_SINCE_CHANGE + 1 :] for row in rows]

    def ask(self, command: str) -> str:
        """Run one runtime command and return its whole answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conversation:
            conversation.settimeout(PATIENT)
            conversation.connect(str(self.socket))
            conversation.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: conversation.recv(65536), b"")).decode()

    def pid(self) -> int:
        """Which process answers on the socket."""
        answer = self.ask("show info")
        return next(int(line.split(":")[1]) for line in answer.splitlines() if line.startswith("Pid:"))

    def keep(self) -> None:
        """Save state and map, as the script in docs/haproxy.md does before HAProxy goes."""
        if self.state is not None:
            self.state.write_text(self.ask("show servers state"))
            entries = [line.split(" ", 1)[1] for line in self.ask(f"show map {self.map}").splitlines() if line]
            self.map.write_text("".join(f"{entry}\n" for entry in entries))

    def reload(self) -> None:
        """Put a new process in the old one's place, seamlessly, as ``systemctl reload`` does."""
        self.keep()
        old = self.process
        self.process = _start(self.config, self.log, "-sf", str(old.pid), "-x", str(self.socket))
        self.earlier.append(old)
        self._wait()

    def restart(self) -> None:
        """Stop the process and start another one."""
        self.keep()
        stop(self.process)
        self.process = _start(self.config, self.log)
        self._wait()

    def lose(self, *, others: bool) -> Callable[[], None]:
        """Take the backends out of the configuration and reload, as a deployment does that forgets them.

        Args:
            others: whether another backend stays behind.

        Returns:
            Puts them back.
        """
        before = self.config.read_text()
        frontends = before.partition("\nbackend ")[0].replace(f"default_backend {self.backend}", "")
        self.config.write_text(frontends + ("\nbackend other\n    balance roundrobin\n" if others else ""))
        self._begin_anew()

        def put_back() -> None:
            self.config.write_text(before)
            self._begin_anew()

        return put_back

    def _begin_anew(self) -> None:
        if self.state is None:
            self.reload()
        else:
            self.crash()  # what a process without the backend keeps would be the end of state and map

    def crash(self) -> None:
        """End the process at once and start another one, with the state that was kept last."""
        self.process.kill()
        self.process.wait()
        self.process = _start(self.config, self.log)
        self._wait()

    def _wait(self) -> None:
        def answers() -> bool:
            with contextlib.suppress(OSError, StopIteration):
                return self.pid() == self.process.pid
            return False

        until(answers, process=self.process, log=self.log)


@contextlib.contextmanager
def running_haproxy(
    tmp_path: Path,
    backends: Mapping[str, Mapping[str, int]] | None = None,
    *,
    more: str = "",
    options: str = "",
    slots: int = 0,
) -> Iterator[Haproxy]:
    """Run HAProxy until the block ends.

    Args:
        tmp_path: for its configuration, socket and log.
        backends: backend → server → port on 127.0.0.1; one empty backend ``web`` by default. All take dynamic
            servers (``balance`` is explicit: HAProxy 2.6 wants it; what they need they are told with ``add server``).
        more: lines for the section ``global``.
        options: what every server line of ``backends`` ends with.
        slots: how many servers of a template every backend has; their state survives where there are any.
    """
    declared = backends if backends is not None else {"web": {}}
    front, page_port, first = free_tcp_port(), free_tcp_port(), next(iter(declared))
    config, log, path = tmp_path / "haproxy.cfg", tmp_path / "haproxy.log", tmp_path / "admin.sock"
    state, names = tmp_path / "servers.state", tmp_path / "members.map"
    if slots:
        names.touch()
        more += f"\n    server-state-file {state}"
    text = _CONFIG.format(socket=path, port=front, backend=first, more=more) + _PAGE.format(port=page_port)
    text += _KEPT.format(names=names) if slots else ""
    for backend, servers in declared.items():
        text += f"\nbackend {backend}\n    balance roundrobin\n"
        text += "".join(f"    server {name} 127.0.0.1:{port} {options}\n" for name, port in servers.items())
        text += _TEMPLATE.format(slots=slots) if slots else ""
    config.write_text(text)
    haproxy = Haproxy(
        socket=path,
        frontend_port=front,
        backend=first,
        config=config,
        log=log,
        page=f"http://127.0.0.1:{page_port}/stats",
        map=names,
        state=state if slots else None,
        process=_start(config, log),
    )
    try:
        haproxy._wait()
        yield haproxy
    finally:
        for process in (haproxy.process, *haproxy.earlier):
            stop(process)


class _Hello(BaseHTTPRequestHandler):
    """Answers every GET with five bytes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def two_servers() -> Iterator[Mapping[str, int]]:
    """Real servers a and b until the block ends: name → port on 127.0.0.1."""
    servers = {name: ThreadingHTTPServer(("127.0.0.1", 0), _Hello) for name in ("a", "b")}
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,)) for server in servers.values()]
    for thread in threads:
        thread.start()
    try:
        yield {name: server.server_address[1] for name, server in servers.items()}
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()


def requests(running: Haproxy, count: int) -> None:
    """Ask the frontend so often, each time on a new connection."""
    for _ in range(count):
        with urllib.request.urlopen(f"http://127.0.0.1:{running.frontend_port}/") as response:
            assert response.read() == b"hello"


def _start(config: Path, log: Path, *options: str) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            ["haproxy", "-db", "-f", str(config), *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
