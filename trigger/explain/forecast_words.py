"""Write in words what a forecast says: first what it means for the size, then how sure it is and why.

For example ``at most 16.2 members needed in 3m, ± 4 %; 17 members needed now, 21 enough for a while; of 63 headrooms
the cheapest of the last 5 days within its promise: 0.012 % of the load missed``.
"""

from __future__ import annotations

from collections.abc import Iterator

from trigger.explain.measure_words import say_number
from trigger.explain.time_words import say_span
from trigger.forecast.horizons import STEP
from trigger.forecast.leads import LearnedTime
from trigger.forecast.shadows import FLEETS
from trigger.verdicts import Foreseen, ReserveCause

_RESERVES = {
    ReserveCause.GAPS: "data was missing again, for five minutes or more",
    ReserveCause.LEARNING: "what a member carries is learned anew",
}
_FIRST_DAYS = 0.25
"""Before, what virtual fleets missed says little."""


def say_foreseen(foreseen: Foreseen | None, *, measured: bool = False) -> Iterator[str]:
    """Say what is needed, what is enough, and by which headroom.

    Args:
        foreseen: ``None``: nothing yet.
        measured: whether the load is known; if nothing is foreseen all the same, members have yet to show what they
            carry.
    """
    if foreseen is None:
        lacks = "it is not known yet what a member carries" if measured else "its load was not measured yet"
        yield f"{lacks}, so nothing is foreseen"
        return
    if foreseen.needed:
        yield (
            f"at most {_members(foreseen.at_most)} needed in {say_span(foreseen.within)}, "
            f"± {say_number(100.0 * foreseen.spread)} %"
        )
    yield from _range(foreseen)
    if foreseen.carries is not None:
        learned = say_span(foreseen.carries_steps * STEP)
        yield f"a member carries {say_number(foreseen.carries)}, learned from what members showed for {learned}"
    if foreseen.reserve is not None:
        yield f"{_RESERVES[foreseen.reserve]}, so a third more than the load is kept"
    yield _headroom(foreseen)


def _range(foreseen: Foreseen) -> Iterator[str]:
    if foreseen.may_shrink_to is None:
        known = "what is needed is not known"
        if foreseen.needed:
            known = f"at least {_members(foreseen.needed)} needed by how it usually goes on"
        yield f"there is no data now, so no member leaves; {known}"
        return
    yield f"{_members(foreseen.needed)} needed now, {foreseen.may_shrink_to} enough for a while"


def _headroom(foreseen: Foreseen) -> str:
    if foreseen.days < _FIRST_DAYS:
        return "little is known yet, so a quarter is added to what is measured"
    days = f"{foreseen.days:.0f} days" if foreseen.days >= 1.5 else f"{24 * foreseen.days:.0f} hours"  # noqa: PLR2004
    missed = f"{foreseen.missed:.3f} % of the load missed"
    return f"of {FLEETS} headrooms the cheapest of the last {days} within its promise: {missed}"


def say_learned(learned: LearnedTime) -> str:
    """Say how long members take, and how that is known.

    >>> say_learned(LearnedTime(half=70.0, most=95.0, members=23, of_profile=True))
    'half of 23 members within 70 s, nine of ten within 95 s'
    """
    of = f"{learned.members} {'member' if learned.members == 1 else 'members'}"
    others = "" if learned.of_profile else ", those of earlier profiles included"
    return f"half of {of}{others} within {say_span(learned.half)}, nine of ten within {say_span(learned.most)}"


def _members(count: float) -> str:
    return f"{say_number(count)} {'member' if count == 1 else 'members'}"
