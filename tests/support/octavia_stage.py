"""An Octavia of our own as a balancer, for tests of what all balancers promise."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collector.clients.circuits import Circuits
from config.model.access import SecretRef
from config.model.openstack import OctaviaBalancer
from config.units import BalancerId, CloudId, MemberName
from handler.balancers.exchange import Address
from handler.balancers.octavia.driver import OctaviaDriver
from tests.support.openstack import an_access
from tests.support.openstack_octavia_wire import Octavia, PoolWire
from tests.support.openstack_wire import SECRET, OpenstackWire
from tests.support.orchestrators import Clock
from tests.support.waiting import scaled


@dataclass
class OctaviaStage:
    """A load balancer with one pool, and no server behind it: traffic is not played."""

    wire: OpenstackWire
    octavia: Octavia
    pool: PoolWire
    auth_url: str
    clock: Clock = field(default_factory=Clock)
    waited: list[float] = field(default_factory=list)
    port: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        host, _, port = self.wire.url.removeprefix("http://").partition(":")
        self.address: Address = (host, int(port))
        self.balancer = self.driver()

    def driver(self, circuits: Circuits | None = None, *, timeout: float = 10.0, **fields: Any) -> OctaviaDriver:
        access = an_access(self.auth_url, timeout=timeout)
        given = {"id": BalancerId("lb"), "cloud": CloudId("prod"), "access": access, "pool": "web"}
        declared = OctaviaBalancer(**{**given, **fields})
        return OctaviaDriver(declared, self._secret, self.clock, self.waited.append, circuits)

    def driver_at(self, address: Address, circuits: Circuits | None = None) -> OctaviaDriver:
        """One that finds this address in the catalogue, whichever way it is found."""
        assert not isinstance(address, Path)
        self.wire.url = f"http://{address[0]}:{address[1]}"
        return self.driver(circuits, access=an_access(f"{self.wire.url}/identity/v3", timeout=scaled(1.5)))

    def _secret(self, ref: SecretRef) -> str:
        assert ref.env == "SECRET"
        return SECRET

    def names(self) -> list[str]:
        return sorted(member["name"] for member in self.pool.members.values())

    def member(self, name: MemberName) -> tuple[str, int]:
        return "127.0.0.1", next(self._numbers)

    def kill(self, name: MemberName) -> None:
        """Do nothing: no member program runs."""

    def release(self) -> None:
        """Do nothing: no answer is held back."""

    def register_foreign(self) -> str:
        self.octavia.registration(self.pool, "database", "10.9.9.9", weight=3)
        return "database"

    def foreign_member(self, name: str) -> str | None:
        return next((repr(member) for member in self.pool.members.values() if member["name"] == name), None)

    def restart(self) -> None:
        """It never forgets a member, unless the pool is made anew."""
        del self.octavia.pools[self.pool.id]
        self.pool = self.octavia.tree(name=f"front {next(self._numbers)}")

    def clear(self) -> None:
        self.pool.members.clear()


@contextlib.contextmanager
def octavia_stage(_: Path | None = None) -> Iterator[OctaviaStage]:
    octavia = Octavia()
    pool = octavia.tree()
    wire = OpenstackWire(services=(octavia,))
    with wire.serving() as auth_url:
        yield OctaviaStage(wire, octavia, pool, auth_url)
