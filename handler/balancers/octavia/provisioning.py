"""Load balancers of Octavia that Trimtab creates: found by name, created and deleted part by part.

The pool's driver then registers members. Octavia takes one change of a load balancer's tree at a time, and refuses
others with 409 meanwhile: that is Transient, and the next pass tries again.
"""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence

from collector.clients.circuits import Circuits
from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import NETWORK_KIND, UUID, OpenstackIds, OpenstackKind
from collector.clients.openstack.session import LOAD_BALANCER, NETWORK
from config.errors import DriverError, Permanent, Transient
from config.model.access import SecretRef
from config.model.managed import ManagedBalancer, ManagedPart, made_parts
from config.model.openstack import OctaviaBalancer, OpenstackAccess
from config.units import CloudId, Instant, MemberName
from handler.balancers.octavia.driver import OctaviaDriver
from handler.balancers.octavia.parts import KEYS, PATHS, ListedPart, body_of, listed
from handler.balancers.registrations import mark_of
from handler.planning.launches import LaunchId
from handler.planning.provisioning import PartStatus
from handler.planning.world import Registration
from handler.ports.balancer import RegistrationChange

SUBNET_KIND = OpenstackKind(word="subnet", service=NETWORK, path="/subnets?fields=id&fields=name", key="subnets")
_GONE = frozenset({404})


class OctaviaProvisioner:
    """The `Provisioner` of a `ManagedBalancer` on a cloud of OpenStack. Sends nothing before the first call."""

    def __init__(
        self,
        declared: ManagedBalancer,
        access: OpenstackAccess,
        installation: str,
        read_secret: Callable[[SecretRef], str],
        clock: Callable[[], Instant],
        circuits: Circuits | None = None,
    ) -> None:
        self._declared, self._access = declared, access
        self._read_secret, self._clock, self._circuits = read_secret, clock, circuits
        self._mark = mark_of(installation, declared.id)
        self._connection = OpenstackConnection(CloudId(declared.id), access, read_secret, circuits)
        self._ids = OpenstackIds(self._connection, clock)
        self._turn = threading.Lock()
        self._registered: tuple[str, OctaviaDriver] | None = None

    @property
    def declared(self) -> ManagedBalancer:
        """Return the declaration."""
        return self._declared

    # Parts

    def parts(self) -> Mapping[ManagedPart, PartStatus]:
        """Return the existing parts: each by its name within its parent, or as the file names it."""
        found = dict[ManagedPart, PartStatus]()
        own = made_parts(self._declared)
        for part in ManagedPart:
            above = found.get(ManagedPart.POOL if part is ManagedPart.HEALTHMONITOR else ManagedPart.LOADBALANCER)
            if part is not ManagedPart.LOADBALANCER and above is None:
                continue
            named = self._mark if part in own else self._given(part)
            if named is not None and (status := self._found(part, named, above)) is not None:
                found[part] = status
        return found

    def create(self, part: ManagedPart, found: Mapping[ManagedPart, PartStatus]) -> None:
        """Create a part. It is pending then, and so are its parents."""
        if part in found:
            return
        body = body_of(part, self._declared, self._mark, found, dict(self._places()))
        self._connection.ask(LOAD_BALANCER, "POST", PATHS[part], body=body)

    def delete(self, part: ManagedPart, id: str) -> None:
        """Delete a part."""
        self._connection.ask(LOAD_BALANCER, "DELETE", f"{PATHS[part]}/{id}", but=_GONE)

    def is_gone(self, part: ManagedPart, id: str) -> bool:
        """Return whether the part's own URL answers 404; another project's parts answer 403."""
        return self._connection.ask(LOAD_BALANCER, "GET", f"{PATHS[part]}/{id}", but=_GONE).status in _GONE

    def foreign(self) -> tuple[str, ...]:
        """Return entries of the pool that are not members of any group."""
        driver = self._driver()
        sitting = () if driver is None else driver.occupants().values()
        return tuple(sorted(name for name in sitting if LaunchId.parse(name) is None))

    def _given(self, part: ManagedPart) -> str | None:
        """Return the existing part that the file names: its id, or a load balancer's name."""
        monitor = self._declared.health_monitor
        given = {
            ManagedPart.LOADBALANCER: self._declared.loadbalancer,
            ManagedPart.POOL: self._declared.pool.id,
            ManagedPart.HEALTHMONITOR: None if monitor is None else monitor.id,
        }
        return given.get(part)

    def _found(self, part: ManagedPart, named: str, above: PartStatus | None) -> PartStatus | None:
        key = "id" if UUID.fullmatch(named) else "name"
        query = urllib.parse.urlencode({key: named})
        found = listed(part, self._connection.ask(LOAD_BALANCER, "GET", f"{PATHS[part]}?{query}").body)
        if found is None:
            raise Transient(f"{self._connection.id}: {KEYS[part]}: the answer cannot be read")
        mine = [each for each in found if _is_meant(each, named, above)]
        if len(mine) > 1:
            ids = ", ".join(sorted(each.status.id for each in mine))
            raise Permanent(f"{len(mine)} {KEYS[part]} are called {named}: delete all but one of them: {ids}")
        return mine[0].status if mine else None

    def _places(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of the VIP's subnet and network."""
        vip = self._declared.vip
        if vip is not None and vip.subnet is not None:
            yield "subnet", self._ids.of(SUBNET_KIND, vip.subnet)
        if vip is not None and vip.network is not None:
            yield "network", self._ids.of(NETWORK_KIND, vip.network)

    # Registrations

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return the pool's members under launch ids; empty: there is no pool."""
        driver = self._driver()
        return {} if driver is None else driver.registrations()

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return everything in the pool."""
        driver = self._driver()
        return {} if driver is None else driver.occupants()

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Add a member that is down."""
        self._needed().join(member, address, port)

    def enable(self, member: MemberName) -> None:
        """Put it up."""
        self._needed().enable(member)

    def drain(self, member: MemberName) -> None:
        """Let it finish its current work."""
        if (driver := self._driver()) is not None:
            driver.drain(member)

    def leave(self, member: MemberName) -> None:
        """Delete it."""
        if (driver := self._driver()) is not None:
            driver.leave(member)

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make changes of many members in one batch."""
        return self._needed().apply(changes)

    def incarnation(self) -> str:
        """Return the pool's id; empty: there is none."""
        found = self.parts().get(ManagedPart.POOL)
        return "" if found is None else found.id

    def _needed(self) -> OctaviaDriver:
        if (driver := self._driver()) is None:
            raise Transient(f"balancer {self._declared.id} has no pool yet")
        return driver

    def _driver(self) -> OctaviaDriver | None:
        """Return the driver of the present pool: one for all calls, since it combines the changes of many."""
        pool = self.parts().get(ManagedPart.POOL)
        with self._turn:
            if pool is None:
                self._registered = None
            elif self._registered is None or self._registered[0] != pool.id:
                self._registered = (pool.id, self._made(pool.id))
            return None if self._registered is None else self._registered[1]

    def _made(self, pool: str) -> OctaviaDriver:
        subnet = self._declared.pool.subnet
        registrations = OctaviaBalancer(
            id=self._declared.id,
            cloud=self._declared.on,
            access=self._access,
            pool=pool,
            subnet=None if subnet is None else self._ids.of(SUBNET_KIND, subnet),
        )
        return OctaviaDriver(registrations, self._read_secret, self._clock, circuits=self._circuits)


def _is_meant(found: ListedPart, named: str, above: PartStatus | None) -> bool:
    """Return whether a listed part is the right one: listings may show more than was requested."""
    within = above is None or above.id in found.within
    return within and named in {found.status.id, found.name}
