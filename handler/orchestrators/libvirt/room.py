"""The memory of a host, and how much of it its guests may still get.

libvirt and QEMU refuse no guest for want of memory: a guest gets it page by page, and when there is none left the
kernel kills one. So the memory that guests may have, all together, is compared with the host's own before another one
is started.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import Fault, LibvirtError
from config.causes import FailureCause
from config.errors import Full
from config.units import MemberName
from handler.planning.headroom import UsageLimit

MIB: Final = 1 << 20


@dataclass(slots=True)
class HostRoom:
    """Keeps the memory of guests on one host below a limit. Guests of others count as well."""

    client: LibvirtClient
    about: str
    share: float
    """Of the host's memory, that guests may have together."""
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _starting: dict[MemberName, int] = field(default_factory=dict)
    """Bytes of members that are being started."""

    @contextmanager
    def taken(self, name: MemberName, memory: int) -> Iterator[None]:
        """Keep room for a member while it is started.

        Raises:
            Full: there is none.
        """
        with self._turn:
            limit = self.limit()
            if limit.most is not None and limit.used + memory / MIB > limit.most:
                words = f"{self.about}: its guests have {limit}, and a member takes {memory / MIB:g}"
                raise Full(f"{words}: beyond the quota that memory of the cloud sets", cause=FailureCause.CAPACITY)
            self._starting[name] = memory
        try:
            yield
        finally:
            with self._turn:
                self._starting.pop(name, None)

    def limit(self) -> UsageLimit:
        """Return how much memory guests have, and how much they may have.

        Raises:
            DriverError: the host does not say.
        """
        running = [domain for domain in self.client.running() if domain.name not in self._starting]
        used = sum(self._starting.values())
        for domain, size in zip(running, self.client.sizes(running), strict=True):
            if not isinstance(size, LibvirtError):
                used += size
            elif size.code != Fault.NO_DOMAIN:
                raise size.failure(f"{self.about}: {domain.name}")
        most = self.client.memory() * self.share
        return UsageLimit(what="MiB of memory", used=round(used / MIB), most=int(most / MIB))
