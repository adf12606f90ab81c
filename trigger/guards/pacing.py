"""Limit how fast a group changes, from its recent moves.

A *move* is a change of desired size by a policy or an alarm. Changes by persons, and changes without a request, are no
moves: pacing limits automatic requests only. Source: Kubernetes' HorizontalPodAutoscaler ``behavior`` (policies with
``periodSeconds``, ``selectPolicy``), which also counts from the size at the beginning of the period.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from config.model.catalogue import Group
from config.model.pacing import FlapDamping, Pace, Select
from config.units import Instant
from trigger.requests import SizeChange
from trigger.verdicts import Direction

_REMEMBERED = 500
"""The most moves kept: enough for days with one move per quiet time."""


def allowance(pace: Pace, moves: Sequence[SizeChange], base: int, direction: Direction, now: Instant) -> int:
    """Return how many members may still be added, or removed.

    Args:
        pace: the limit.
        moves: of both directions, oldest first.
        base: the desired size now.
        direction: of the change.
        now: the wall clock.

    >>> from config.units import Instant
    >>> grown = [SizeChange(at=Instant(100.0), before=10, after=13)]
    >>> allowance(Pace(count=4, per=60.0), grown, 13, Direction.OUT, Instant(120.0))
    1
    >>> allowance(Pace(count=4, per=60.0), grown, 13, Direction.OUT, Instant(160.0))
    4
    """
    spent = sum(abs(move.after - move.before) for move in _recent(moves, direction, pace.per, now))
    before = base - spent if direction is Direction.OUT else base + spent
    return max(0, _most(pace, before) - spent)


def free_at(pace: Pace, moves: Sequence[SizeChange], direction: Direction, now: Instant) -> Instant:
    """Return when the oldest move that counts leaves the period."""
    return Instant(min((move.at + pace.per for move in _recent(moves, direction, pace.per, now)), default=now))


def held_high_until(damping: FlapDamping, moves: Sequence[SizeChange]) -> Instant | None:
    """Return until when scale-in waits because the size changed direction too often; ``None``: it did not.

    >>> from config.units import Instant
    >>> there, back = (0, 1), (1, 0)
    >>> pairs = enumerate((there, back) * 2)
    >>> turns = [SizeChange(at=Instant(60.0 * n), before=pair[0], after=pair[1]) for n, pair in pairs]
    >>> held_high_until(FlapDamping(reversals=3, within=600.0, hold=1800.0), turns)
    1980.0
    """
    turned = [later.at for earlier, later in itertools.pairwise(moves) if direction_of(earlier) != direction_of(later)]
    ends = [
        Instant(last + damping.hold)
        for first, last in zip(turned, turned[damping.reversals - 1 :], strict=False)
        if last - first <= damping.within
    ]
    return max(ends, default=None)


def remembered(moves: Sequence[SizeChange], group: Group, now: Instant) -> tuple[SizeChange, ...]:
    """Drop moves that are too old for every limit of the group, and the oldest beyond the maximum number.

    With flap damping, the newest of those stays as long as a younger one does: whether that one is a reversal shows
    only beside the move before it.
    """
    spans = [pace.per for pace in (group.max_growth, group.max_shrinkage) if pace is not None]
    if group.flap_damping is not None:
        spans.append(group.flap_damping.within + group.flap_damping.hold)
    longest = max(spans, default=0.0)
    first = sum(now - move.at >= longest for move in moves)
    if group.flap_damping is not None and 0 < first < len(moves):
        first -= 1
    return tuple(moves[first:])[-_REMEMBERED:]


def direction_of(move: SizeChange) -> Direction:
    """Return the direction of a move."""
    return Direction.OUT if move.after > move.before else Direction.IN


def _recent(moves: Sequence[SizeChange], direction: Direction, span: float, now: Instant) -> list[SizeChange]:
    return [move for move in moves if direction_of(move) is direction and now - move.at < span]


def _most(pace: Pace, before: int) -> int:
    limits = [] if pace.count is None else [pace.count]
    if pace.percent is not None:
        limits.append(max(1, math.ceil(Fraction(str(pace.percent)) * before / 100)))
    match pace.select:
        case Select.MAX:
            return max(limits)
        case Select.MIN:
            return min(limits)
        case _:
            assert_never(pace.select)
