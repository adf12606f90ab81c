"""Write in words what a forecast says (what it means for the size, then how sure it is and why), and what it knows.

For example ``at most 16.2 members needed in 3m, ± 4 %; 17 members needed now, 21 enough for a while; of 63 headrooms
the cheapest of the last 5 days within its promise: 0.012 % of the load missed``.
"""

from __future__ import annotations

from collections.abc import Iterator

from trigger.explain.measure_words import say_number
from trigger.explain.time_words import say_day, say_span
from trigger.forecast.horizons import STEP
from trigger.forecast.leads import LearnedTime
from trigger.forecast.shadows import FLEETS
from trigger.policies.forecast_knowledge import ForecastKnowledge, HeadroomChoice
from trigger.verdicts import Foreseen, ReserveCause

_RESERVES = {
    ReserveCause.GAPS: "data was missing again, for five minutes or more",
    ReserveCause.LEARNING: "what a member carries is learned anew",
}
_MOST_CHOICES = 5
"""That are said: the others are in the answer."""


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


def say_knowledge(known: ForecastKnowledge) -> Iterator[str]:
    """Say what a forecast knows, a sentence each."""
    days = "day is" if known.days_alike == 1 else "days are"
    yield (
        f"history: {say_span(known.at - known.since)}, since {say_day(known.since)}; "
        f"{known.days_alike} of the last seven {days} known and like today"
    )
    yield f"members are taken to boot in {say_span(known.boot)} and to drain in {say_span(known.drain)}"
    for band in known.bands:
        what = "the highest load within" if band.highest else "the load in"
        yield f"{what} {say_span(band.within)}: {say_number(band.load)} members, at most {say_number(band.at_most)}"
    yield f"the virtual fleet that is followed cost {known.cost:.2f} members for each that the load needed"
    yield f"it changed back {known.flaps:.1f} times a day"
    for choice in known.choices[:_MOST_CHOICES]:
        yield _choice(choice)
    for each in known.profiles:
        yield (
            f"a member of the earlier profile {each.profile} carried {say_number(each.each)}, "
            f"learned for {say_span(each.learned)} until {say_day(each.until)}"
        )


def _choice(choice: HeadroomChoice) -> str:
    since = "for more than a day, or from the beginning" if choice.since is None else f"since {say_day(choice.since)}"
    return (
        f"headroom {since}: {say_number(choice.growing)} usual errors for growing, "
        f"{say_number(choice.shrinking)} for shrinking"
    )
