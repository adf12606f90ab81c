"""What befalls fleets and their workers, drawn at random: values, so that a failure can be told and played again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

MOST = 10
"""Members of a fleet."""
_DOUBLE = 0.25
"""How many rounds have two faults."""
_LONGEST = 8.0
"""Seconds that a round waits before it begins: an interval of the slowest group."""


class Act(StrEnum):
    """What a fleet does meanwhile."""

    GROW = "grows to"
    SHRINK = "shrinks to"
    ROLL = "is replaced at"


class Fault(StrEnum):
    """What befalls its worker, or the database of all."""

    KILLED = "holder killed"
    STOPPED = "holder stopped"
    CUT_OFF = "holder cut off from the database"
    CLOCK_SET = "clock set"
    HANDED_OVER = "handed over"
    DATABASE_KILLED = "database killed"
    PROMOTED = "standby promoted"
    DISK_FULL = "disk full"


OF_ROOT = frozenset({Fault.CUT_OFF, Fault.DISK_FULL})
"""Only root may cut a network, and make a small disk, and only where no container forbids it."""
OF_ALL = frozenset({Fault.DATABASE_KILLED, Fault.PROMOTED, Fault.DISK_FULL})
"""They befall both fleets."""
FLEETS = ("cloud", "machine")


@dataclass(frozen=True, slots=True)
class Blow:
    """One fault."""

    fault: Fault
    fleet: str
    """Whose worker it befalls."""
    chance: float
    """From 0 to 1: what else a fault needs."""

    def hits(self, fleet: str) -> bool:
        """Whether it befalls a fleet."""
        return self.fault in OF_ALL or fleet == self.fleet

    def __str__(self) -> str:
        return f"{self.fault} ({'all' if self.fault in OF_ALL else self.fleet}, {self.chance:.2f})"


@dataclass(frozen=True, slots=True)
class Round:
    """A fault in the middle of an act, or two, of which the second one comes while workers recover from the first."""

    act: Act
    size: int
    blows: tuple[Blow, ...]
    after: int
    """They begin once so many members have come or gone."""
    pause: float
    """Seconds before it begins: rounds would keep step with the groups' ticks."""

    def __str__(self) -> str:
        blows = ", then ".join(map(str, self.blows))
        return f"{self.pause:.1f} s, {self.act} {self.size}, {self.after} on: {blows}"


def rounds(seed: int, faults: int, kinds: Sequence[Fault]) -> Iterator[Round]:
    """Draw rounds with so many faults in all; each kind comes as often as any other, on either fleet."""
    chance = random.Random(seed)  # noqa: S311 - it decides when to fail
    blows, size = islice(_blows(chance, kinds), faults), 1
    for first in blows:
        both = (first, *islice(blows, int(chance.random() < _DOUBLE)))
        acts = [Act.ROLL, *([Act.GROW] * (size < MOST)), *([Act.SHRINK] * (size > 1))]
        act, before = chance.choice(acts), size
        if act is Act.GROW:
            size = chance.randint(size + 1, MOST)
        elif act is Act.SHRINK:
            size = chance.randint(1, size - 1)
        moves = size if act is Act.ROLL else abs(size - before)
        yield Round(act, size, both, chance.randint(0, moves), chance.uniform(0, _LONGEST))


def needed(played: Iterable[Round]) -> int:
    """Return how many members a fleet of one makes in all, from its first, if it loses none and makes none in vain."""
    size, made = 1, 1
    for drawn in played:
        made += drawn.size if drawn.act is Act.ROLL else max(drawn.size - size, 0)
        size = drawn.size
    return made


def _blows(chance: random.Random, kinds: Sequence[Fault]) -> Iterator[Blow]:
    while True:
        deck = [(kind, fleet) for kind in kinds for fleet in FLEETS]
        chance.shuffle(deck)
        for kind, fleet in deck:
            yield Blow(kind, fleet, chance.random())
