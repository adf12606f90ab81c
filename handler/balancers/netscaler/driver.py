"""Members are members of one service group of a NetScaler, changed over NITRO.

A member is bound by the name of a server object, and that name is its launch id: so the appliance itself shows the
members. A member is bound DISABLED, enabled when it is ready, disabled gracefully (`GOING OUT OF SERVICE` while it has
work), and unbound; the server object is removed once nothing else is bound to it, since its removal would unbind all.

Source: NITRO REST API reference, servicegroup, servicegroup_servicegroupmember_binding, server, nsconfig.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from collector.clients.circuits import Circuits
from collector.clients.nitro.client import GROUPS, NitroClient
from collector.clients.nitro.parsing import (
    ALREADY_THERE,
    MISSING,
    NO_SUCH_RESOURCE,
    NitroFailure,
    is_legible,
    plain,
    text,
    things,
)
from collector.clients.nitro.session import NitroCall
from config.causes import FailureCause
from config.errors import DriverError, NotFound, Permanent, Transient
from config.model.access import SecretRef
from config.model.balancers import NetscalerBalancer
from config.units import Instant, MemberName
from handler.balancers.netscaler.doctor import checks_of
from handler.balancers.netscaler.parsing import Binding, Unreadable, bindings, connections, members
from handler.balancers.registrations import ours
from handler.planning.world import Health, Registration, RegistrationState
from handler.ports.examination import Check

_BOUND = "servicegroup_servicegroupmember_binding"
_STATES = (RegistrationState.SERVING, RegistrationState.DRAINING, RegistrationState.PARKED)
"""If a member is bound twice, the most active binding counts."""


class NetscalerDriver:
    """The `Balancer` of a `NetscalerBalancer`."""

    def __init__(
        self,
        declaration: NetscalerBalancer,
        read_secret: Callable[[SecretRef], str],
        clock: Callable[[], Instant],
        circuits: Circuits | None = None,
    ) -> None:
        self._there = declaration
        self._client = NitroClient(declaration, read_secret, clock, circuits)
        self._clock = clock
        self._group = quote(declaration.service_group, safe="")
        self._unsaved = threading.Event()

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return members bound under launch ids, with their connections to the server and their health.

        If declared, changes since the last read are saved first: once for many changes.
        """
        self._save()
        checked = self._is_checked()
        found = members(self._bindings())
        counts = self._connections() if found else {}
        return {name: _registration(name, places, counts, checked=checked) for name, places in found.items()}

    def checks(self, name: str) -> Sequence[Check]:
        """As `handler.ports.examination.Inspected`."""
        return checks_of(name, self._client, self._clock)

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return all bindings, foreign ones included."""
        return {(binding.address, binding.port): binding.server for binding in self._bindings()}

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Bind the member, disabled. A binding with another address or port is removed first."""
        wanted_place, places = (plain(address), port), self._places(member)
        if [place.at for place in places] == [wanted_place]:
            return
        if places:
            self.leave(member)
        self._make_server(member, address)
        wanted = {"servicegroupname": self._there.service_group, "servername": member, "port": port}
        call = NitroCall(path=f"config/{_BOUND}", method="PUT", body={_BOUND: {**wanted, "state": "DISABLED"}})
        self._change(call, lambda: wanted_place in [place.at for place in self._places(member)])

    def enable(self, member: MemberName) -> None:
        """Give the member work."""
        places = self._places(member)
        if not places:
            raise Transient(f"{self._about(member)} is not bound: it must join first")
        for place in places:
            if place.state is not RegistrationState.SERVING:
                self._act("enable", place, {})

    def drain(self, member: MemberName) -> None:
        """Disable the member gracefully: it finishes its current work."""
        delay = {} if self._there.delay is None else {"delay": max(1, round(self._there.delay))}
        for place in self._places(member):
            if place.state is RegistrationState.SERVING:
                self._act("disable", place, {"graceful": "YES", **delay})

    def leave(self, member: MemberName) -> None:
        """Unbind the member, even with open work, and remove its server object if nothing else uses it."""
        for place in self._places(member):
            arguments = {"args": f"servername:{place.server},port:{place.port}"}
            call = NitroCall(path=f"config/{_BOUND}/{self._group}", method="DELETE", query=arguments)
            self._change(call, lambda: not self._places(member))
        self._remove_server(member)

    def incarnation(self) -> str:
        """Return the start of the answering node: a restart may have lost unsaved changes."""
        started = [text(system, "starttime") for system in things(self._read("stat/system"), "system")]
        if not any(started):
            raise Transient(f"{self._there.id}: NetScaler does not report its start time")
        return started[0]

    # Looking.

    def _is_checked(self) -> bool:
        """Return whether monitors check members. Raises if the appliance itself decides the group's members."""
        call = NitroCall(path=f"config/servicegroup/{self._group}")
        answer = self._client.ask(call)
        if isinstance(answer, NitroFailure) and answer.code in MISSING:
            raise self._missing(answer)
        for group in things(self._client.whole_of(answer), "servicegroup"):
            if text(group, "autoscale") not in {"", "DISABLED"}:
                raise Permanent(
                    f"{self._there.id}: the members of service group {self._there.service_group} are decided by "
                    f"autoscale {text(group, 'autoscale')}: use a group without"
                )
            return text(group, "healthmonitor") != "NO"
        raise Transient(f"{self._there.id}: the answer about {self._there.service_group} cannot be read")

    def _missing(self, failure: NitroFailure) -> Permanent:
        """Return the error for a missing service group: `NotFound` if the appliance lists others and not this one."""
        message, wanted = f"{self._there.id}: NetScaler: {failure.detail}", self._there.service_group
        listed = self._read("config/servicegroup")
        names = [text(group, "servicegroupname") for group in things(listed, "servicegroup")]
        if not all(names) or not is_legible(listed, "servicegroup"):
            raise Transient(f"{self._there.id}: the list of service groups cannot be read")
        if not names or wanted in names:
            why = f"lists {wanted} all the same" if names else "lists no other service group either"
            return Permanent(f"{message}; it {why}", cause=FailureCause.POOL, remedy=GROUPS)
        return NotFound(f"{message}; it lists {len(names)} without {wanted}", cause=FailureCause.POOL, remedy=GROUPS)

    def _bindings(self) -> tuple[Binding, ...]:
        try:
            return bindings(self._read(f"config/{_BOUND}/{self._group}"))
        except Unreadable as problem:
            raise Transient(f"{self._there.id}: NetScaler: {problem}") from None

    def _connections(self) -> Mapping[tuple[str, int], int]:
        call = NitroCall(path=f"stat/servicegroup/{self._group}", query={"statbindings": "yes"})
        return connections(self._client.must(call).document)

    def _places(self, member: MemberName) -> Sequence[Binding]:
        return members(self._bindings()).get(ours(member), ())

    def _read(self, path: str) -> Mapping[str, object]:
        return self._client.whole(NitroCall(path=path))

    # Changing.

    def _act(self, action: str, place: Binding, more: Mapping[str, object]) -> None:
        named = {"servicegroupname": self._there.service_group, "servername": place.server, "port": place.port}
        body = {"servicegroup": {**named, **more}}
        call = NitroCall(path="config/servicegroup", method="POST", query={"action": action}, body=body)
        is_so = (
            (lambda state: state is RegistrationState.SERVING)
            if action == "enable"
            else RegistrationState.SERVING.__ne__
        )
        self._change(call, lambda: all(is_so(now.state) for now in self._places(MemberName(place.server))))

    def _change(self, call: NitroCall, is_so: Callable[[], bool]) -> None:
        """Make a change. A failure counts as success if the change is already in place."""
        failure = self._client.ask(call)
        self._unsaved.set()
        if isinstance(failure, NitroFailure):
            error = self._client.error(failure)
            if not is_so():
                raise error

    def _make_server(self, member: MemberName, address: str) -> None:
        """Create a server object with the member's name and address. One with another address is removed first.

        Raises:
            Permanent: something else uses the object with another address, or another object has the address.
        """
        known = self._server(member)
        if known is not None and plain(known) == plain(address):
            return
        if known is not None:
            self._remove_server(member)
        server = {"name": member, "ipaddress": address, "comment": "member of a group of Trimtab"}
        failure = self._client.ask(NitroCall(path="config/server", method="POST", body={"server": server}))
        if not isinstance(failure, NitroFailure):
            return
        known = self._server(member)
        if known is not None and plain(known) == plain(address):
            return
        if known is not None:
            raise Permanent(
                f"{self._about(member)}: its server object has the address {known or 'of a domain'} and is used "
                f"elsewhere, and the member has {address}: unbind or remove that object by hand"
            )
        if failure.code == ALREADY_THERE:
            raise Permanent(
                f"{self._about(member)}: its address {address} belongs to another server object already: "
                f"{failure.detail}: remove that one, or bind it by hand"
            )
        raise self._client.error(failure)

    def _server(self, member: MemberName) -> str | None:
        """Return the address of the member's server object; ``None``: there is none."""
        found = self._client.ask(NitroCall(path=f"config/server/{quote(member, safe='')}"))
        if isinstance(found, NitroFailure):
            if found.code == NO_SUCH_RESOURCE:
                return None
            raise self._client.error(found)
        addresses = [text(server, "ipaddress") for server in things(found.document, "server")]
        if not addresses:
            raise Transient(f"{self._about(member)}: the answer about its server object cannot be read")
        return addresses[0]

    def _remove_server(self, member: MemberName) -> None:
        if self._server(ours(member)) is None:
            return
        used = self._read(f"config/server_binding/{quote(member, safe='')}")
        entries = tuple(things(used, "server_binding"))
        if not entries:
            raise Transient(f"{self._about(member)}: what uses its server object cannot be read")
        kinds = [value for entry in entries for value in entry.values()]
        if any(isinstance(kind, list) and kind for kind in kinds):
            return  # removing the object would unbind it everywhere
        path = f"config/server/{quote(member, safe='')}"
        self._change(NitroCall(path=path, method="DELETE"), lambda: self._server(member) is None)

    def _save(self) -> None:
        """Save changes; if that fails, they are saved at the next read."""
        if not (self._there.save and self._unsaved.is_set()):
            return
        self._unsaved.clear()
        save = NitroCall(path="config/nsconfig", method="POST", query={"action": "save"}, body={"nsconfig": {}})
        try:
            self._client.must(save)
        except DriverError:
            self._unsaved.set()

    def _about(self, member: MemberName) -> str:
        return f"{self._there.id}: {member} in service group {self._there.service_group}"


def _registration(
    member: MemberName, places: Sequence[Binding], counts: Mapping[tuple[str, int], int], *, checked: bool
) -> Registration:
    known = [counts.get((place.server, place.port)) for place in places]
    main = min(places, key=lambda place: _STATES.index(place.state))
    health: Health | None = main.health if checked else None
    total = None if None in known else sum(count for count in known if count is not None)
    return Registration(member=member, state=main.state, connections=total, health=health)
