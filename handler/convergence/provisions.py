"""Create the balancers that a group needs from Trimtab, and delete those that it no longer needs.

This happens before each pass: members join the balancers that are ready, and a balancer that is not ready delays no
repair elsewhere. Every creation is stored first, so that no created part is ever forgotten.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never

from config.errors import DriverError, NotFound, Permanent
from config.model.balancers import Balancer as DeclaredBalancer
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import BalancerId, GroupId, Instant, Seconds
from handler.convergence.lost_balancers import Absence, check_made, missed, remade_words
from handler.planning.provisioning import (
    Act,
    Await,
    BalancerProvision,
    Make,
    PartStatus,
    Provisioned,
    Stuck,
    Unmake,
    bound,
    next_to_make,
    next_to_unmake,
    overdue,
    overdue_words,
)
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Record
from handler.ports.balancer import Balancer, Provisioner
from handler.ports.store import Store
from handler.ports.stored import StoredGroup
from trigger.moving import moved

_SOON: Seconds = 2.0
"""Parts take seconds to a minute."""
_AFTER_FAILURE: Seconds = 30.0
_AT_ONCE = 8
"""Acts in one pass: one for each part, to make or to delete it, and some to spare."""
Absences = dict[tuple[GroupId, BalancerId], Absence]
_NAMED = 3
"""Foreign members that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What became of the balancers of one group."""

    failures: tuple[str, ...] = ()
    """What only a person can put right."""
    retries: tuple[str, ...] = ()
    """What is tried again."""
    next_in: Seconds | None = None
    """When to look again; ``None``: nothing is waited for."""
    bound: bool = False
    """Something that was made for the group is still there, or may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisions:
    """The balancers that are made for groups. Passes of one group come one at a time."""

    store: Store
    balancer_for: Callable[[DeclaredBalancer], Balancer]
    clock: Callable[[], Instant]
    absences: Absences = field(default_factory=dict, init=False, repr=False)
    """For how long balancers that were made have been missing."""

    def follow(self, step: Seconds) -> None:
        """Keep the length of every absence after the clock was set by ``step``."""
        self.absences.update(moved(self.absences, Absences, step))

    def tend(self, stored: StoredGroup) -> Tended:
        """Bring the balancers of one group nearer to what they should be.

        Raises:
            StoreError: what was made cannot be read or written down.
        """
        declared = dict(_managed(stored.definition.balancers))
        if not declared:
            return Tended()
        bindings = {binding.balancer: binding for binding in self.store.bindings(stored.id)}
        records = self.store.members(stored.id)
        needed = _needed(stored, records)
        tended = [
            self._tended(stored, balancer, bindings.get(name), is_needed=name in needed)
            for name, balancer in sorted(declared.items())
            if name in needed or name in bindings
        ]
        return _together(tended)

    def _tended(
        self, stored: StoredGroup, declared: ManagedBalancer, binding: BalancerProvision | None, *, is_needed: bool
    ) -> Tended:
        port = self.balancer_for(declared)
        if not isinstance(port, Provisioner):
            return Tended(failures=(f"balancer {declared.id} cannot be created: this driver cannot create balancers",))
        work = _Work(self.store, stored, port, binding, self.clock, self.absences)
        try:
            return work.make() if is_needed else work.unmake()
        except DriverError as error:
            messages = (f"balancer {declared.id}: {error}",)
            is_final = isinstance(error, Permanent)
            return Tended(
                failures=messages if is_final else (),
                retries=() if is_final else messages,
                next_in=_AFTER_FAILURE,
                bound=True,
            )


class _Work:
    """One balancer of one group in hand."""

    def __init__(
        self,
        store: Store,
        stored: StoredGroup,
        port: Provisioner,
        binding: BalancerProvision | None,
        clock: Callable[[], Instant],
        absences: Absences,
    ) -> None:
        self._store, self._group, self._port, self._clock = store, stored.id, port, clock
        self._cloud = stored.definition.cloud.id
        self._written = binding
        self._binding = binding or BalancerProvision(balancer=port.declared.id)
        self._may_make = not stored.deleting
        self._interval = stored.definition.group.interval
        self._absences, self._whose = absences, (stored.id, port.declared.id)

    def make(self) -> Tended:
        """Create all missing parts; in a group that is being deleted, none.

        A part that was created and no longer exists is created again after three intervals of the group.
        """
        if self._may_make:
            found = self._port.parts()
            try:
                check_made(self._port, self._written, found)
            except NotFound as error:
                absence = self._missing()
                words = remade_words(self._port.declared, error, found)
                if not absence.is_proved(self._interval):
                    again = min(self._interval, _AFTER_FAILURE)
                    wait = f"{words}, once it has been missing for three intervals"
                    return Tended(failures=(wait,), next_in=again, bound=True)
                self._store.note(self._group, "balancer_remade", "convergence", words, self._clock())
        self._absences.pop(self._whose, None)
        return self._done(self._acted(lambda found: next_to_make(self._port.declared, found)))

    def _missing(self) -> Absence:
        """Count one more look that found a part missing."""
        absence = missed(self._absences.get(self._whose), self._clock(), self._interval)
        self._absences[self._whose] = absence
        return absence

    def unmake(self) -> Tended:
        """Delete all parts that Trimtab created, unless something else uses them.

        Raises:
            DriverError: also where a part is not listed, and the cloud does not confirm that it is gone.
        """
        with contextlib.suppress(NotFound):
            check_made(self._port, self._written, self._port.parts())
        if foreign := self._port.foreign():
            named = ", ".join(foreign[:_NAMED]) + (" …" if len(foreign) > _NAMED else "")
            why = f"balancer {self._port.declared.id} is not deleted: {named} sits in it, and is none of ours"
            return Tended(failures=(why,), bound=True)
        last = self._acted(lambda found: next_to_unmake(self._port.declared, found))
        if isinstance(last, Provisioned):
            self._store.unbind(self._group, self._binding.balancer)
            return Tended()
        return self._done(last)

    def _acted(self, next_act: Callable[[Mapping[ManagedPart, PartStatus]], Act]) -> Act:
        """Act until nothing more can be done now; the last act is the one that could not be."""
        act: Act = Provisioned()
        for _ in range(_AT_ONCE):
            found = self._port.parts()
            act = next_act(found)
            self._bind(found)
            match act:
                case Make(part=part) if self._may_make:
                    self._called("make_part", part, partial(self._port.create, part, found))
                case Unmake(part=part, id=id):
                    self._called("unmake_part", part, partial(self._port.delete, part, id))
                case _:
                    return act
        return act

    def _called(self, name: str, part: ManagedPart, call: Callable[[], None]) -> None:
        """Make a call between two lines of the journal."""
        line = self._store.begin_step(self._group, name, None, self._clock(), (), self._cloud)
        about = f"{self._binding.balancer}: {part.value}"
        try:
            call()
        except DriverError as error:
            result = StepResult.FAILED if isinstance(error, Permanent) else StepResult.RETRY
            self._store.end_step(line, result, f"{about}: {error}", self._clock(), (), self._cloud)
            raise
        self._store.end_step(line, StepResult.DONE, about, self._clock(), (), self._cloud)

    def _bind(self, found: Mapping[ManagedPart, PartStatus]) -> None:
        """Write down what there is, before anything is added to it or taken from it."""
        self._binding = bound(self._binding, found, self._clock())
        if self._binding != self._written:
            self._store.bind(self._group, self._binding)
            self._written = self._binding

    def _done(self, last: Act) -> Tended:
        match last:
            case Provisioned():
                return Tended(bound=True)
            case Stuck(why=why):
                return Tended(failures=(why,), next_in=None, bound=True)
            case Await(why=why):
                late = overdue(self._port.declared, self._binding, self._clock())
                failures = () if late is None else (overdue_words(why, late),)
                return Tended(failures=failures, next_in=_SOON, bound=True)
            case Make() | Unmake():
                return Tended(next_in=_SOON, bound=True)
            case _:
                assert_never(last)


def _managed(balancers: Mapping[BalancerId, DeclaredBalancer]) -> Iterator[tuple[BalancerId, ManagedBalancer]]:
    return ((name, declared) for name, declared in balancers.items() if isinstance(declared, ManagedBalancer))


def _needed(stored: StoredGroup, records: tuple[Record, ...]) -> frozenset[BalancerId]:
    """Which balancers members are behind, or, unless the group is being deleted, will be."""
    behind = {balancer for record in records for balancer, _ in record.balancers}
    uses = () if stored.deleting else stored.definition.group.balancers
    return frozenset(behind | {use.balancer for use in uses})


def _together(tended: list[Tended]) -> Tended:
    paces = [each.next_in for each in tended if each.next_in is not None]
    return replace(
        Tended(),
        failures=tuple(why for each in tended for why in each.failures),
        retries=tuple(why for each in tended for why in each.retries),
        next_in=min(paces, default=None),
        bound=any(each.bound for each in tended),
    )
