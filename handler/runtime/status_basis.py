"""What the status of a group was made of, so that it need not be made again while all of that stays. Pure.

What a runtime holds is replaced and never changed in place, so a status stands for as long as every part of the runtime
is the very same object: whatever a status comes to be made of counts without being named here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from operator import attrgetter, is_

from config.units import Instant, Seconds
from handler.runtime.group_runtime import GroupRuntime

_ROUNDING: Seconds = 1e-3
"""A status that was made at the very end of a span is made again this much later, whichever side it was taken for."""

_parts_of: Callable[[GroupRuntime], tuple[object, ...]] = attrgetter(*(each.name for each in fields(GroupRuntime)))


@dataclass(frozen=True, slots=True)
class StatusBasis:
    """The parts of a runtime at one moment, and how long they mean the same."""

    parts: tuple[object, ...]
    since: Instant
    until: Instant
    """When time alone changes the status next."""

    def stands(self, runtime: GroupRuntime, now: Instant) -> bool:
        """Tell whether the status would be the same now."""
        return self.since <= now < self.until and all(map(is_, self.parts, _parts_of(runtime)))


def basis_of(runtime: GroupRuntime, now: Instant) -> StatusBasis:
    """Return what a status that is made now is made of."""
    until = now  # the bounds of a group with schedules follow the calendar: none of its statuses stands
    if not runtime.definition.group.schedules:
        turns = (Instant(at + _ROUNDING) for at in _turns(runtime))
        until = min((at for at in turns if at > now), default=Instant(math.inf))
    return StatusBasis(_parts_of(runtime), now, until)


def _turns(runtime: GroupRuntime) -> Iterator[Instant]:
    """Yield the ends of quiet times, freezes, a back-off and warm-ups: by them time alone changes a status."""
    yield from (quiet.until for quiet in runtime.state.quiets)
    yield from (signal.until for signal in runtime.state.signals)
    if runtime.builds.back_off_until is not None:
        yield runtime.builds.back_off_until
    for member in () if runtime.seen is None else runtime.seen.world.members:
        if member.record is not None and member.record.in_service_at is not None:
            yield Instant(member.record.in_service_at + runtime.definition.group.warm_up)
