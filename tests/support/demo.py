"""Members of the demo as real processes, and small ways to ask them."""

from __future__ import annotations

import asyncio
import http.client
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from config.model.catalogue import ProcessRecipe
from handler.demo.http import MemberHttpServer, Response
from tests.support.waiting import PATIENT

ROOT = Path(__file__).parents[2]


def member_recipe(*options: str, **env: str) -> ProcessRecipe:
    """Warnings are errors in a member too."""
    command = (sys.executable, "-W", "error", "-m", "handler.demo.member", *options)
    return ProcessRecipe(command=command, env=env, directory=str(ROOT))


def get(address: str | None, port: int, path: str = "/", within: float = PATIENT) -> tuple[int, str]:
    """Status and body; status 0 without an answer."""
    connection = http.client.HTTPConnection(str(address), port, timeout=within)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def listening(address: str = "127.0.0.1") -> tuple[socket.socket, tuple[str, int]]:
    """A listening socket on a free port."""
    listening = socket.create_server((address, 0))
    return listening, listening.getsockname()


async def asked(target: tuple[str, int], request: bytes = b"GET / HTTP/1.1\r\n\r\n") -> bytes:
    """Everything that is answered."""
    reader, writer = await asyncio.open_connection(*target)
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


class Gate:
    """Answers that wait until they are let go."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.come = 0

    async def __call__(self, path: str) -> Response:
        self.come += 1
        await self.open.wait()
        return Response(body=path)


async def eventually(holds: Callable[[], bool], within: float = PATIENT) -> None:
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def with_server(
    answer: Callable[[str], Awaitable[Response]],
    scene: Callable[[MemberHttpServer, tuple[str, int]], Awaitable[None]],
    *,
    room: int | None = None,
) -> None:
    """Play a scene with a server that listens."""
    server = MemberHttpServer(answer, room=room)
    own, target = listening()
    server.open(own)
    try:
        await scene(server, target)
    finally:
        server.close()
        await server.finished(within=PATIENT)
