"""Both ends of a conversation between a holder and a member, in one process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

from handler.balancers.shared_listener.holder_socket import HolderSocket
from handler.balancers.shared_listener.protocol import Message
from tests.support.waiting import PATIENT


@contextlib.contextmanager
def two_ends() -> Iterator[tuple[HolderSocket, HolderSocket]]:
    ours, theirs = (HolderSocket(end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))
    try:
        yield ours, theirs
    finally:
        ours.close()
        theirs.close()


@contextlib.contextmanager
def a_listening_socket() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


async def heard(wire: HolderSocket) -> Message:
    """The next message; a socket that came with it is closed."""
    async with asyncio.timeout(PATIENT):
        message, carried = await wire.receive()
    if carried is not None:
        carried.close()
    return message


@contextlib.asynccontextmanager
async def running(coroutine: object) -> AsyncIterator[asyncio.Task[None]]:
    """A task that is cancelled when the block ends; what it raised before is raised there."""
    task: asyncio.Task[None] = asyncio.ensure_future(coroutine)  # type: ignore[arg-type]
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
