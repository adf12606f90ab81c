"""Members take the servers (slots) of a ``server-template`` of one backend of one HAProxy process.

Note [Who is where]: HAProxy names the slots itself, so a map records each slot's member, ``address:port`` → member,
which HAProxy holds and the driver changes over the runtime API. Its key is the place and not the slot: the slot alone
shows its state (its address, and whether it gets work), and the map only adds the name, which a slot cannot hold. The
same command saves both, and the same start loads both; if one is older than the other, it is still true that the member
is at that place. So the driver keeps no state.

The map entry is added before the slot gets the address and removed after the slot has lost it, so a slot with work
always has a name, even after an interruption. A nameless slot with work (the map was not saved) blocks everything: a
leaving member might still get work there. A slot is free if it is in maintenance and has no address.

Note [From an earlier state]: HAProxy may restart with an old state. If the map is equally old, slots get work for
members that are gone since; convergence, which knows these, calls `HaproxySlots.deregister`. If the map is of another
time, slots are nameless. If the map names most slots with work, it was loaded, and the acting daemon puts the few
others into maintenance (`HaproxySlots.correct`): if one belonged to a member after all, that member is registered again
within a pass. Otherwise the map was lost, and nothing is touched.

Source: HAProxy management guide 2.6, section 9.3, ``set server``, ``add map``; configuration manual, ``init-addr``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address

from config.errors import DriverError, Permanent, Transient
from config.model.balancers import ServerTemplate
from config.units import MemberName
from handler.balancers.haproxy.driver import HaproxyDriver, Steering, registration_of, restore
from handler.balancers.haproxy.parsing import HaproxyServer
from handler.balancers.haproxy.runtime import Runtime, numeric
from handler.balancers.haproxy.template import NOWHERE, TemplateSlots, is_nowhere, look, lost, place, place_of
from handler.balancers.registrations import one_by_one, ours
from handler.planning.world import Registration
from handler.ports.balancer import RegistrationChange

_CHANGED = ("IP changed from", "no need to change the addr")
_log = logging.getLogger(__name__)


class HaproxySlots:
    """The `Balancer` of one process of a `config.model.balancers.HaproxyBalancer` with a template.

    Members that are dynamic servers, from a time without a template, are served on until they leave.

    Args:
        runtime: the process.
        template: its servers and their map.
    """

    def __init__(self, runtime: Runtime, template: ServerTemplate) -> None:
        self._runtime = runtime
        self._template = template
        self._dynamic = HaproxyDriver(runtime)
        self._choosing = threading.RLock()
        """Without it, two concurrent joins would find the same slot free."""

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return the members in slots, with their sessions and health.

        Raises:
            Permanent: a slot gets work, but the map does not name its member.
        """
        loads = self._runtime.loads()
        with self._choosing:
            slots, nameless = self._stood()
        if nameless:
            raise Permanent(lost(self._runtime, self._template, nameless[0]))
        registered = {**slots.dynamic, **slots.taken}
        return {name: registration_of(name, server, loads.get(server.name)) for name, server in registered.items()}

    def correct(self) -> None:
        """Put slots from an earlier state into maintenance. As `handler.ports.balancer.Correcting`."""
        with self._choosing:
            slots, nameless = self._stood()
            if nameless and not slots.is_named:
                raise Permanent(lost(self._runtime, self._template, nameless[0]))
            steering = self._steering(self._runtime)
            for slot in nameless:
                where = place_of(slot) or "no address"
                _log.warning("%s: %s had work from an earlier state, at %s", self._runtime.socket, slot.name, where)
                steering.vacate(slot)

    def _stood(self) -> tuple[TemplateSlots, tuple[HaproxyServer, ...]]:
        """Return slots and map, and the slots without a name in two readings: the two are read one after the other."""
        before = look(self._runtime, self._template)
        if not before.nameless:
            return before, ()
        slots = look(self._runtime, self._template)
        return slots, tuple(slot for slot in slots.nameless if slot in before.nameless)

    def occupants(self) -> Mapping[tuple[str, int], str]:
        """Return every server of the backend that has an address: slots under their name in the map, or their own."""
        slots = look(self._runtime, self._template)
        named = [(slots.names.get(place_of(slot), slot.name), slot) for slot in slots.servers.values()]
        found = [*slots.others.items(), *named]
        return {(str(server.address), server.port): name for name, server in found if not is_nowhere(server)}

    def join(self, member: MemberName, address: str, port: int) -> None:
        """As `SlotSteering.join`."""
        numeric(ours(member), address)
        self._runtime.process()
        with self._choosing:
            self._steering(self._runtime).join(member, address, port)

    def enable(self, member: MemberName) -> None:
        """As `SlotSteering.enable`."""
        self._steering(self._runtime).enable(member)

    def drain(self, member: MemberName) -> None:
        """As `SlotSteering.drain`."""
        self._steering(self._runtime).drain(member)

    def leave(self, member: MemberName) -> None:
        """As `SlotSteering.leave`."""
        with self._choosing:
            self._steering(self._runtime).leave(member)

    def deregister(self, member: MemberName) -> None:
        """As `handler.ports.balancer.Reverting`."""
        self.leave(member)

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        """Make changes on one connection, as `handler.ports.balancer.Batched`."""
        with self._choosing, self._runtime.conversation() as runtime:
            runtime.process()
            return one_by_one(self._steering(runtime), changes)

    def incarnation(self) -> str:
        """Return the worker's process id and start time."""
        return self._dynamic.incarnation()

    def _steering(self, runtime: Runtime) -> SlotSteering:
        return SlotSteering(runtime, self._template)


class SlotSteering:
    """Changes of the members in slots. Reads the slots once, and then follows the answers."""

    def __init__(self, runtime: Runtime, template: ServerTemplate) -> None:
        self._runtime = runtime
        self._template = template
        self._dynamic = Steering(runtime)
        self._known: TemplateSlots | None = None

    @property
    def slots(self) -> TemplateSlots:
        """Return the present slots."""
        if self._known is None:
            self._known = look(self._runtime, self._template)
        return self._known

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Put the member into a free slot, in maintenance. It is health-checked if the template says so.

        The member's slot with another address is freed first, and so is another member's slot with this address.

        Raises:
            Transient: no slot is free.
            Permanent: a foreign server has the place.
        """
        target = numeric(ours(member), address)
        there = place(target, port)
        registered = self.slots.taken.get(member, self.slots.dynamic.get(member))
        if registered is not None and place_of(registered) == there:
            return
        if member in self.slots.dynamic:
            self._dynamic.leave(member)
            self._known = None
        stale = self.slots.names.get(there)
        for other in (member, stale):
            if other is not None and other in self.slots.taken:
                self.vacate(self.slots.taken[MemberName(other)])
        if there in map(place_of, self.slots.servers.values()):
            raise Permanent(f"{self._runtime.backend}: {there} is the place of {stale or 'an unnamed server'} already")
        self._take(member, target, port)

    def enable(self, member: MemberName) -> None:
        """Make the slot ready."""
        slot = self._slot_of(ours(member))
        if slot is None:
            self._dynamic.enable(member)
        else:
            restore(self._runtime, slot)
            self._runtime.must_be_silent(f"set server {self._named(slot)} state ready")

    def drain(self, member: MemberName) -> None:
        """Let the slot finish its current work.

        Raises:
            Permanent: the member has no slot, but a slot without a name gets work, which may be the member's.
        """
        slot = self._slot_of(ours(member))
        if slot is None:
            self._check_that_all_are_named(member)
            self._dynamic.drain(member)
        else:
            self._runtime.must_be_silent(f"set server {self._named(slot)} state drain")

    def leave(self, member: MemberName) -> None:
        """End the slot's remaining sessions, and free it. Raises as `drain`."""
        slot = self._slot_of(ours(member))
        if slot is None:
            self._check_that_all_are_named(member)
            self._dynamic.leave(member)
        else:
            self.vacate(slot)

    def vacate(self, slot: HaproxyServer) -> None:
        """Put a slot into maintenance, end its sessions, and remove its address and then its name."""
        server = self._named(slot)
        self._runtime.must_be_silent(f"set server {server} state maint")
        self._runtime.run(f"shutdown sessions server {server}")
        self._move(slot, NOWHERE)
        if not is_nowhere(slot):
            command = f"del map {self._template.map} {place_of(slot)}"
            if (text := self._runtime.run(command)) not in ("", "Key not found."):
                raise self._runtime.unexpected(command, text)
        self._known = self.slots.without(slot)

    def _take(self, member: MemberName, target: IPv4Address | IPv6Address, port: int) -> None:
        if not self.slots.free:
            raise Transient(
                f"all {len(self.slots.servers)} servers of the template {self._template.prefix} in backend "
                f"{self._runtime.backend} are taken: declare more of them, above the group's max"
            )
        slot, there = self.slots.free[0], place(target, port)
        verb = "set" if there in self.slots.names else "add"
        self._runtime.must_be_silent(f"{verb} map {self._template.map} {there} {member}")
        self._move(slot, f"{target} port {port}")
        if slot.is_reweighted:  # for the member before this one; haproxy, Note [Weights]
            self._runtime.must_be_silent(f"set server {self._named(slot)} weight 100%")
            slot = replace(slot, weight=slot.configured)
        self._known = self.slots.taking(slot, member, target, port)

    def _check_that_all_are_named(self, member: MemberName) -> None:
        """Raise if a slot without a name gets work: a member without a slot may be there. See Note [Who is where]."""
        if member in self.slots.dynamic or not self.slots.nameless:
            return
        self._known = None  # the map is read after the servers: by now both may agree
        if nameless := self.slots.nameless:
            raise Permanent(lost(self._runtime, self._template, nameless[0]))

    def _move(self, slot: HaproxyServer, where: str) -> None:
        command = f"set server {self._named(slot)} addr {where}"
        if not (text := self._runtime.run(command)).startswith(_CHANGED):
            raise self._runtime.unexpected(command, text)

    def _slot_of(self, member: MemberName) -> HaproxyServer | None:
        return self.slots.taken.get(member)

    def _named(self, slot: HaproxyServer) -> str:
        return f"{self._runtime.named()}/{slot.name}"
