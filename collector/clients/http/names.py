"""Look host names up without delaying anything else, and connect only to what is allowed."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from config.model.outbound import Outbound

_AT_ONCE = 8


class HttpNameLookup(AbstractResolver):
    """Looks host names up in threads of its own.

    The system's resolver waits half a minute for a silent name server. In the shared thread pool, a few such lookups
    would delay agents, decisions and the store.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Find every address of a name.

        Raises:
            OSError: the name has no address, or no name server answered.
        """
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host, port, family)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST)
            for kind, address in found
        ]

    async def close(self) -> None:
        """Release the threads; a lookup under way ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[tuple[int, str]]:
    """Return numeric addresses; these keep an IPv6 address's scope."""
    answers = socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    numeric = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
    return [(kind, socket.getnameinfo(place[:4], numeric)[0]) for kind, _, _, _, place in answers]


class Confined(OSError):
    """An address that a request may not lead to. Its words do not repeat it: that would tell what a name stands for."""

    def __init__(self) -> None:
        super().__init__(
            "the URL leads to an address that is not public: one of the API may do so only where the "
            "file's outbound.allow_private has its network"
        )


def confined_socket(outbound: Outbound, destination: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
    """Make a socket for one destination, of those that `socket.getaddrinfo` returns.

    Raises:
        Confined: it may not be connected to.
    """
    family, kind, protocol, _, place = destination
    if not outbound.allows(str(place[0])):
        raise Confined
    return socket.socket(family=family, type=kind, proto=protocol)
