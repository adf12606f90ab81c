"""Keep what members carry by the profile that they are made of, for when a group goes back to it.

# Note [Profiles that come back]

What is learned (`trigger.forecast.carrying`) counts for the profile that all members in service are made of. Once some
are of another one, it is set aside; that of the last four profiles is kept. When all members are of such a profile
again, after a rollback or a roll that was undone, it counts again in place of what was learned meanwhile:

* With the evidence of then, which is what the mean is of, and no more than the steps that were learned while all
  members were of the profile. Ten steps are the least that is set aside.
* Not if the newest four estimates are all clearly below it: then the members show a change like any other.
* The most that was seen to be carried is forgotten over the time away as over any other.

For a profile of which nothing is kept, what was learned before counts until its members show otherwise. While members
are of several profiles, as during a roll, they are learned as one, and nothing is set aside for any of these.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from collector.samples import Floats
from trigger.forecast.carrying import (
    FIRST_STEPS,
    FORGETS,
    LOWER,
    NO_PROFILE,
    Carried,
    ProfileFigures,
    all_off,
    band_of,
)

UNKNOWN, SEVERAL = NO_PROFILE, -1.0
"""Numbers of no profile: it is not known what members are made of, or they are of several."""
SETTLED = LOWER
"""Steps of one profile alone, before what is kept of it may count."""
_DIGITS = 12
"""Hexadecimal ones of a digest, 48 bits: a float has them exactly."""


def number_of(digest: str) -> float:
    """Return the number of a profile; empty: `SEVERAL`.

    >>> number_of("00000000002a" + "7" * 52)
    42.0
    """
    return float(int(digest[:_DIGITS], 16)) if digest else SEVERAL


def digits_of(number: float) -> str:
    """Return the first digits of the digest of a profile.

    >>> digits_of(number_of("3f9a00c27b11" + "7" * 52))
    '3f9a00c27b11'
    """
    return f"{int(number):0{_DIGITS}x}"


def with_profile(before: Carried, profile: Floats | float, step: int) -> Carried:
    """Return what counts for the profiles that members are of now. See Note [Profiles that come back].

    Args:
        before: after the step before.
        profile: (group,) their numbers, once the newest four estimates are of that profile alone; until then `SEVERAL`.
        step: the number of this step.
    """
    now = np.where(profile == UNKNOWN, before.profile, np.maximum(profile, NO_PROFILE))
    changed = np.flatnonzero(now != before.profile).tolist()
    if not changed:
        return before
    after = Carried(**{each.name: getattr(before, each.name).copy() for each in fields(before)})
    for place in changed:
        _set_aside(after, place, step)
        after.profile[place], after.own[place] = now[place], 0.0
        _take_up(after, place, step)
    return after


def kept_of(carried: Carried, place: int) -> tuple[ProfileFigures, ...]:
    """Return what is kept of the earlier profiles of a group, the newest first."""
    kept = [each for each in _places(carried, place) if each.profile not in {NO_PROFILE, carried.profile[place]}]
    return tuple(sorted(kept, key=lambda each: each.left, reverse=True))


def _set_aside(carried: Carried, place: int, step: int) -> None:
    """Keep what counts for a profile, in place of what was kept of it, or of the one that was left the longest ago."""
    number, steps = carried.profile[place], min(carried.steps[place], carried.own[place])
    if number == NO_PROFILE or steps < FIRST_STEPS:
        return
    kept = _places(carried, place)
    at = min(range(len(kept)), key=lambda at: (kept[at].profile != number, kept[at].left))
    carried.kept[:, at, place] = ProfileFigures(
        profile=number,
        mean=carried.mean[place],
        spread=carried.spread[place],
        steps=steps,
        seen=carried.seen[place],
        left=step,
    )


def _take_up(carried: Carried, place: int, step: int) -> None:
    """Have what is kept of a group's profile count again."""
    number = carried.profile[place]
    kept = next((each for each in _places(carried, place) if each.profile == number != NO_PROFILE), None)
    if kept is None or all_off(kept.mean - carried.recent[:, place], band_of(kept.spread), LOWER):
        return
    carried.mean[place], carried.spread[place] = kept.mean, kept.spread
    carried.steps[place] = carried.own[place] = kept.steps
    carried.seen[place] = kept.seen - FORGETS * (step - kept.left)
    carried.recent[:, place] = np.nan


def _places(carried: Carried, place: int) -> list[ProfileFigures]:
    return [ProfileFigures(*figures) for figures in carried.kept[:, :, place].T.tolist()]
