"""A member for tests, as a program: answers its name over HTTP, and ``/hold`` only once the file RELEASE exists.

Beside RELEASE it makes a file of its own name once it accepts.

python -m tests.support.tiny_member NAME RELEASE --control CONTROL | --port PORT
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from pathlib import Path

from handler.balancers.shared_listener.member import keep_registered


class TinyMember:
    def __init__(self, name: str, release: Path) -> None:
        self._name, self._release, self._active = name, release, 0
        self._server: asyncio.Server | None = None

    def active(self) -> int:
        return self._active

    async def start(self, listening: socket.socket) -> None:
        self._server = await asyncio.start_server(self._answer, sock=listening, backlog=1024)
        self._release.with_name(self._name).touch()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._active += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            while head.startswith(b"GET /hold") and not self._release.exists():  # noqa: ASYNC110  made by another process
                await asyncio.sleep(0.02)
            body = self._name.encode()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._active -= 1


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("release", type=Path)
    parser.add_argument("--control", type=Path)
    parser.add_argument("--port", type=int)
    asked = parser.parse_args()
    member = TinyMember(asked.name, asked.release)
    if asked.port is not None:
        await member.start(socket.create_server(("127.0.0.1", asked.port), backlog=1024))
        await asyncio.Event().wait()
    await keep_registered(asked.control, asked.name, start=member.start, stop=member.stop, active=member.active)


if __name__ == "__main__":
    asyncio.run(main())
