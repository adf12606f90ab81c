"""Make a member on one host, and remove it; see Note [The definition is the record] in `marks`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from collector.clients.libvirt.client import LibvirtClient
from collector.clients.libvirt.messages import (
    DomainRef,
    Fault,
    LibvirtError,
    LibvirtFailed,
    LibvirtMissing,
    LibvirtRefused,
    VolumeRef,
)
from collector.clients.quoting import shown
from config.causes import FailureCause
from config.errors import DriverError, Engaged, Full, Permanent, Transient
from config.model.catalogue import Profile
from config.model.libvirt import LibvirtRecipe
from config.units import Instant, Seconds
from handler.orchestrators.accepted import after_acceptance
from handler.orchestrators.libvirt.definition import disk_name, domain_xml, overlay_xml, raw_xml, seed_name
from handler.orchestrators.libvirt.machines import LibvirtMachine
from handler.orchestrators.libvirt.marks import KEY, NAMESPACE, DomainMark
from handler.orchestrators.libvirt.room import HostRoom
from handler.orchestrators.libvirt.seed import seed_image
from handler.orchestrators.libvirt.states import ACTIVE, OFF
from handler.ports.orchestrator import Launch

_FORGET = 1 | 2 | 4 | 16
"""Undefine also a domain with saved memory, snapshots, variables of its firmware, and checkpoints."""
_FORGET_LESS = 1 | 2
_OFF = (OFF, 0)
_STARTING: Seconds = 60.0
"""How long a start may take. libvirt waits for QEMU for half of that."""
_SPENT = ("Cannot allocate memory", "cannot set up guest memory", "No space left on device", "Disk quota exceeded")
"""Words of QEMU and of the kernel for a host without room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtMaker:
    """Makes and removes the domains of one host."""

    host: str
    client: LibvirtClient
    room: HostRoom
    about: str
    """Cloud and host, for messages."""

    def made(self, launch: Launch, recipe: LibvirtRecipe, now: Instant) -> LibvirtMachine:
        """Define a domain, make its volumes, and start it.

        Raises:
            Full: the host has no room; nothing is left of it.
            Permanent: refused; nothing is left of it.
            Transient: any other failure. What is left of it is listed.
        """
        base = self._base(recipe)
        for network in recipe.networks:
            self.client.has_network(network)
        mark = DomainMark(
            launch=launch.id,
            made=now,
            claim=launch.claim,
            unfinished=True,
            pool=recipe.pool or recipe.base_pool,
        )
        seed = (seed_name(mark),) if recipe.user_data else ()
        mark = replace(mark, volumes=(disk_name(mark), *seed))
        overlay = self._overlay(mark, base, recipe)
        with self.room.taken(launch.id.name, recipe.memory):
            domain = self.client.define(domain_xml(recipe, mark))
            machine = LibvirtMachine(host=self.host, domain=domain, mark=mark, state=_OFF)
            with self._undone_if_refused(machine):
                self._start(machine, recipe, overlay)
            return self._started(machine)

    def finished(self, machine: LibvirtMachine, recipe: LibvirtRecipe, now: Instant) -> LibvirtMachine:
        """Make the volumes of a domain that was defined and not started, and start it. Raises as `made`.

        Raises:
            Engaged: it was defined a moment ago: the call that starts it may be under way, and has its volumes open.
        """
        if not machine.runs:
            left = machine.mark.made + _STARTING - now
            if left > 0:
                raise Engaged(f"{self.about}: {machine.domain.name} is being made", retry_after=left)
            with self._undone_if_refused(machine), self.room.taken(machine.mark.launch.name, recipe.memory):
                self._start(machine, recipe, self._overlay(machine.mark, self._base(recipe), recipe))
        return self._started(machine)

    def write(self, machine: LibvirtMachine, mark: DomainMark | None) -> None:
        """Write a mark on a domain, or take it off."""
        element = None if mark is None else mark.element
        with _gone():
            self.client.write(machine.domain, element, KEY, NAMESPACE, running=machine.runs)

    def ask_to_stop(self, machine: LibvirtMachine) -> LibvirtMachine:
        """Ask the guest to shut down, and return the domain as it is then. A guest may not listen."""
        with contextlib.suppress(LibvirtFailed, LibvirtRefused):
            self.client.shut_down(machine.domain)
        return replace(machine, state=self.state(machine.domain))

    def switch_off(self, machine: LibvirtMachine) -> LibvirtMachine:
        """End the domain at once."""
        try:
            self.client.switch_off(machine.domain)
        except LibvirtFailed as error:
            if error.code != Fault.OPERATION_INVALID:  # it is off already
                raise
        return replace(machine, state=self.state(machine.domain))

    def remove(self, machine: LibvirtMachine) -> None:
        """Delete the volumes that Trimtab made for a domain that is off, and then forget the domain."""
        for name in machine.mark.volumes:
            self._delete_volume(machine.mark.pool, name)
        with _gone():
            self._undefine(machine.domain)

    def state(self, domain: DomainRef) -> tuple[int, int]:
        """Return libvirt's state of a domain, and the reason of it."""
        (state,) = self.client.states([domain])
        if isinstance(state, LibvirtError):
            raise state.failure(f"{self.about}: {domain.name}")
        return state

    # Inside.

    def _undefine(self, domain: DomainRef) -> None:
        try:
            self.client.undefine(domain, _FORGET)
        except LibvirtRefused:  # a hypervisor without firmware or checkpoints refuses to forget them
            self.client.undefine(domain, _FORGET_LESS)

    @contextlib.contextmanager
    def _undone_if_refused(self, machine: LibvirtMachine) -> Iterator[None]:
        try:
            yield
        except (Permanent, LibvirtFailed) as error:
            self._undo(machine)
            raise _meaning(error) from error

    def _start(self, machine: LibvirtMachine, recipe: LibvirtRecipe, overlay: str) -> None:
        self._fill(machine, recipe, overlay)
        self.client.start(machine.domain)

    def _started(self, machine: LibvirtMachine) -> LibvirtMachine:
        """Write down that it was started; what fails now fails with a member that is there."""
        with after_acceptance():
            mark = replace(machine.mark, unfinished=False, of=machine.domain.uuid)
            started = replace(machine, mark=mark, state=self.state(machine.domain))
            self.write(started, mark)
        return started

    def _base(self, recipe: LibvirtRecipe) -> str:
        volume = self.client.volume(self.client.pool(recipe.base_pool), recipe.base)
        return self.client.volume_xml(volume)

    def _overlay(self, mark: DomainMark, base: str, recipe: LibvirtRecipe) -> str:
        try:
            return overlay_xml(disk_name(mark), base, recipe.disk)
        except ValueError as error:
            message = f"{self.about}: volume {recipe.base} of pool {recipe.base_pool}: {error}"
            raise Permanent(message, cause=FailureCause.IMAGE) from None

    def _fill(self, machine: LibvirtMachine, recipe: LibvirtRecipe, overlay: str) -> None:
        """Make the volumes anew: what an interrupted creation left of them may be half of one."""
        mark = machine.mark
        pool = self.client.pool(mark.pool)
        for name in mark.volumes:
            self._delete_volume(mark.pool, name)
        self.client.create_volume(pool, overlay)
        if seed_name(mark) in mark.volumes:
            image = seed_image(mark.launch.name, machine.domain.uuid, recipe.user_data)
            self.client.upload(self.client.create_volume(pool, raw_xml(seed_name(mark), len(image))), image)

    def _delete_volume(self, pool: str, name: str) -> None:
        with contextlib.suppress(LibvirtMissing):
            self.client.delete_volume(self._volume(pool, name))

    def _volume(self, pool: str, name: str) -> VolumeRef:
        return self.client.volume(self.client.pool(pool), name)

    def _undo(self, machine: LibvirtMachine) -> None:
        """Remove what a refused creation made.

        Raises:
            Transient: that is not possible, or the domain runs all the same: it is there, and listed.
        """
        try:
            runs = self.state(machine.domain)[0] in ACTIVE
            if not runs:
                self.remove(machine)
        except DriverError as error:
            words = f"{machine.domain.name} was not started, and could not be removed again"
            raise Transient(f"{self.about}: {words}: {error}") from error
        if runs:
            raise Transient(f"{self.about}: {machine.domain.name} was started, and libvirt reports an error")


def _meaning(error: DriverError) -> DriverError:
    """Return what a refused creation means: some errors of libvirt say in words that the host has no room.

    >>> type(_meaning(LibvirtFailed("kvm: h1: internal error: cannot set up guest memory"))).__name__
    'Full'
    """
    if any(words in str(error) for words in _SPENT):
        return Full(shown(str(error)), cause=FailureCause.CAPACITY)
    return error


@contextlib.contextmanager
def _gone() -> Iterator[None]:
    """Take a domain that is not there for success."""
    with contextlib.suppress(LibvirtMissing):
        yield


def recipe_of(profile: Profile) -> LibvirtRecipe:
    """Return what a member is made of.

    Raises:
        Permanent: the profile is not one for libvirt.
    """
    if not isinstance(profile.recipe, LibvirtRecipe):
        message = f"profile {profile.id} has no base volume for libvirt"
        raise Permanent(message, cause=FailureCause.LAUNCH_CONFIGURATION)
    return profile.recipe
