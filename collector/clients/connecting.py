"""Connect to a unix socket, or to a host whose name may not be found in time."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

_AT_ONCE = 8


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="names-of-sockets")


_NAMES: ContextVar[ThreadPoolExecutor] = ContextVar("names", default=_threads())  # noqa: B039  # made once, on purpose
"""Names are looked up here. The system's resolver waits half a minute for a silent name server: in an event loop's own
threads such look-ups delay all else that runs there, and the end of the loop waits for them."""


@contextmanager
def own_name_threads() -> Iterator[None]:
    """Look names up in other threads while the block runs: another site's name server may be silent."""
    threads = _threads()
    token = _NAMES.set(threads)
    try:
        yield
    finally:
        _NAMES.reset(token)
        threads.shutdown(wait=False, cancel_futures=True)


async def connected(address: Path | tuple[str, int]) -> socket.socket:
    """Open a non-blocking stream connection; to a host, at the first of its addresses that accepts one.

    Cancelling it ends it at once, also while no name server answers.

    Raises:
        OSError: not reachable, or the host is not known.
    """
    if isinstance(address, Path):
        return await _to(socket.AF_UNIX, str(address))
    refused: OSError | None = None
    for family, *_, place in await _places(*address):
        try:
            return await _to(family, place)
        except OSError as problem:
            refused = problem
    raise refused or OSError(errno.EADDRNOTAVAIL, "the host has no address")


async def _places(host: str, port: int) -> Sequence[tuple[Any, ...]]:
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    with suppress(socket.gaierror):
        return look(flags=socket.AI_NUMERICHOST)
    return await asyncio.get_running_loop().run_in_executor(_NAMES.get(), look)


async def _to(family: int, place: tuple[Any, ...] | str) -> socket.socket:
    with ExitStack() as unless_connected:
        connection = unless_connected.enter_context(socket.socket(family, socket.SOCK_STREAM))
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, place)
        unless_connected.pop_all()
        return connection
