"""Names of agents: looked up on threads of their own, so that a slow name server delays no other agent."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor

from collector.samples import Reply
from collector.snmp.engine import Trouble
from config.units import Seconds

_THREADS = 8


class SnmpNameLookup:
    """Looks up names with what the system has for it."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def address_of(self, name: str, patience: Seconds) -> str | Trouble:
        """Find a numeric address; one that is numeric already is its own."""
        return name if is_numeric(name) else await self._found(name, patience)

    def close(self) -> None:
        """Do not wait; a look-up that is under way ends by itself."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    async def _found(self, name: str, patience: Seconds) -> str | Trouble:
        self._threads = self._threads or ThreadPoolExecutor(_THREADS, thread_name_prefix="snmp-names")
        looking = asyncio.get_running_loop().run_in_executor(self._threads, _look_up, name)
        try:
            async with asyncio.timeout(patience):
                return await looking
        except TimeoutError:
            detail = f"the name {name!r} could not be resolved within {patience:g} s"
        except (OSError, UnicodeError) as error:
            detail = f"the name {name!r} cannot be resolved: {error}"
        return Trouble(reply=Reply.UNREACHABLE, detail=detail)


def is_numeric(name: str) -> bool:
    """Tell whether a name is an address already."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _look_up(name: str) -> str:
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)[0][4][0])
