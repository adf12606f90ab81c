"""How long the members of a group take to serve and to leave, and how far ahead a forecast looks by that.

# Note [Learned times]

Evidence is the newest hundred members that came into service. Those of the profile that new members are made of count
alone once there are five of them, since another image boots otherwise; until then all count. Fewer than five members
are no evidence: the forecast looks as far ahead as before. A forecast goes by the time within which nine of ten members
served, up to an hour. It looks farther ahead as soon as these took longer by a step, and less far only once they take
one and a half steps less: each change has weeks of load learned again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from config.units import Seconds
from trigger.forecast.horizons import STEP

NEWEST = 100
"""Members that are looked at."""
LEAST_MEMBERS = 5
"""Fewer are no evidence."""
FIRST_BOOT: Seconds = 120.0
"""What a forecast assumes until there is any."""
LONGEST_BOOT: Seconds = 3600.0
"""As far as a forecast may look ahead."""
_FORGET = 0.5
"""Of a step: beyond a whole one, for looking less far ahead."""


class Took(NamedTuple):
    """How long one member took."""

    profile: str | None
    """Digest of the profile that it was made of; ``None``: not known."""
    span: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedTime:
    """How long members took."""

    half: Seconds
    """Half of them were as fast."""
    most: Seconds
    """Nine of ten were."""
    members: int
    """That it was learned from; at least one."""
    of_profile: bool
    """All of them were made of the profile of new members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTimes:
    """How long the members of a group took; ``None``: no member is known."""

    boot: LearnedTime | None = None
    """From the intent of a member until it was in service."""
    drain: LearnedTime | None = None
    """From the beginning of its draining until it was gone."""


def learned_time(took: Sequence[Took], profile: str | None) -> LearnedTime | None:
    """Return how long members take. See Note [Learned times].

    Args:
        took: of the newest members.
        profile: digest of what new members are made of; ``None``: it is not known.

    >>> learned_time([Took("web", span) for span in (90.0, 60.0, 70.0, 80.0, 300.0)], "web")
    LearnedTime(half=80.0, most=300.0, members=5, of_profile=True)
    """
    same = [each.span for each in took if each.profile is not None and each.profile == profile]
    if len(same) >= LEAST_MEMBERS:
        return time_of(same, of_profile=True)
    return time_of([each.span for each in took], of_profile=len(same) == len(took)) if took else None


def time_of(spans: Sequence[Seconds], *, of_profile: bool) -> LearnedTime:
    """Return what these spans come to; there is at least one."""
    ordered = sorted(spans)
    return LearnedTime(
        half=_within(ordered, 0.5), most=_within(ordered, 0.9), members=len(ordered), of_profile=of_profile
    )


def lead_of(learned: LearnedTime | None, before: Seconds | None) -> Seconds:
    """Return for how long a boot a forecast looks ahead, in whole steps. See Note [Learned times].

    Args:
        learned: from the group's members.
        before: what it was so far; ``None``: nothing yet.
    """
    before = FIRST_BOOT if before is None else before
    if learned is None or learned.members < LEAST_MEMBERS:
        return before
    lead = min(max(math.ceil(learned.most / STEP - 1e-9), 1) * STEP, LONGEST_BOOT)
    return before if before - (1.0 + _FORGET) * STEP < learned.most <= before else lead


def _within(spans: Sequence[Seconds], share: float) -> Seconds:
    """Return the least span that this share of them does not exceed; they are sorted."""
    return spans[max(math.ceil(share * len(spans) - 1e-9), 1) - 1]
