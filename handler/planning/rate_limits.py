"""Leave out of a plan what has to wait: calls that failed recently, and more calls than one pass may make. Pure.

A step that has to wait delays what must not come before it: the later steps at the same balancer, and those that
concern the member itself. Steps at its other balancers go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping

from config.units import BalancerId, Instant, MemberName
from handler.planning.attempts import held
from handler.planning.desired import Limits
from handler.planning.membership import Moves
from handler.planning.roles import MemberRole, Role
from handler.planning.steps import Destroy, Join, Step, Unmark, Wait
from handler.planning.world import Attempts, Record

_LIMITED = frozenset({Destroy, Unmark, Join})
"""Calls that may have to wait though they have not failed: one plan contains only so many of them."""


class RateLimiter:
    """Count down what one plan may still contain; ``held`` are the recent failures that delay calls."""

    def __init__(self, limits: Limits, now: Instant) -> None:
        self._now = now
        self._all_ordered, self._ordered = limits.accept_vanished, limits.accept_members
        self._destroys, self._joins, self._calls = limits.destroys, limits.joins, limits.calls
        self.held: list[Attempts] = []

    def limited(self, moves: Moves, record: Record) -> Moves:
        """Return one member's moves without those that have to wait; convergence by a person ignores back-offs."""
        if not record.attempts and _LIMITED.isdisjoint(map(type, moves.steps)):
            return moves
        waits: set[Wait] = set()
        steps = tuple(self._let_through(moves.steps, record, waits))
        return moves if not waits else Moves(steps, moves.waits | waits)

    def creations(
        self, steps: Iterable[Step], roles: Iterable[MemberRole], waits: MutableMapping[Wait, int]
    ) -> Iterator[Step]:
        """Yield the creations without those that failed recently, and without those above the cloud's rate."""
        coming = [member.record for member, seen in roles if seen is Role.DISPROVED and member.record is not None]
        failed = {record.name: record for record in coming if record.attempts}
        made: set[MemberName] = set()
        for step in steps:
            record = None if step.member is None else failed.get(step.member)
            if record is not None and not self._is_ordered(record) and held(step, record, self._now) is not None:
                waits[Wait.BACK_OFF] += 1
            elif not self._may_call():
                waits[Wait.RATE_LIMIT] += 1
            else:
                made.update({record.name} if record is not None else ())
                yield step
        self.held += (one for name, record in failed.items() if name not in made for one in record.attempts)

    def _let_through(self, steps: Iterable[Step], record: Record, waits: set[Wait]) -> Iterator[Step]:
        closed: set[BalancerId | None] = set()
        for step in steps:
            where = _place(step)
            if where in closed or (where is None and closed):
                continue
            wait = self._wait(step, record)
            if wait is None:
                yield step
            else:
                closed.add(where)
                waits.add(wait)

    def _wait(self, step: Step, record: Record) -> Wait | None:
        one = held(step, record, self._now)
        if one is not None and one.count == 0 and not one.because:
            return Wait.DELETING
        if one is not None and not self._is_ordered(record):
            self.held.append(one)
            return Wait.BACK_OFF
        match step:
            case Destroy() | Unmark():
                self._destroys -= 1
                if self._destroys < 0:
                    return Wait.ENOUGH
                return None if self._may_call() else Wait.RATE_LIMIT
            case Join():
                self._joins -= 1
                return Wait.ENOUGH if self._joins < 0 else None
            case _:
                return None

    def _is_ordered(self, record: Record) -> bool:
        return self._all_ordered or record.name in self._ordered

    def _may_call(self) -> bool:
        if self._calls is not None:
            self._calls -= 1
        return self._calls is None or self._calls >= 0


def _place(step: Step) -> BalancerId | None:
    place: BalancerId | None = getattr(step, "balancer", None)
    return place
