"""Numbers that alerts have brought, for the source of such counters to read.

It is written as alerts come in and read at every poll, both on the event loop, so nothing guards it. It is not kept
over a restart: until the alert is told again its value is absent, and absence decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.units import AlertId, GroupId, Instant, Moment

_AT_MOST = 1000
"""Numbers of one rule for one group; whoever floods us with more costs no more memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A number that one alert brought for one group."""

    group: GroupId
    alert: AlertId
    key: str
    """Of this one alert of the rule (its fingerprint): the same again replaces its number."""
    value: float
    """Before scale; finite."""
    at: Moment
    """When it was told."""
    until: Instant
    """It is over from then on, even if nobody says so."""

    def over(self, now: Moment) -> bool:
        """Whether its time has passed, by the clock that says so first.

        A wall clock that is set back must not let a number stand that nobody has told again; a steady one may stand
        still while the machine is suspended.
        """
        return now.wall >= self.until or now.steady - self.at.steady >= self.until - self.at.wall


class Board:
    """The last number of every alert that fires, of a thousand for each rule and group.

    Where several alerts of one rule fire for a group (one per queue, say), the greatest counts: every one of them
    claims that things are at least so bad, and a sum would grow with how finely they are cut.
    """

    def __init__(self) -> None:
        self._brought: dict[tuple[GroupId, AlertId], dict[str, Brought]] = {}

    def put(self, brought: Brought) -> None:
        """Write a number down. What was told before it does not replace it, though it come later.

        Where there are too many, the one that would be over first is forgotten.
        """
        kept = self._brought.setdefault((brought.group, brought.alert), {})
        before = kept.get(brought.key)
        if before is None or _age(before) < _age(brought):
            kept[brought.key] = brought
        if len(kept) > _AT_MOST:
            del kept[min(kept, key=lambda key: (kept[key].until, kept[key].value))]

    def drop(self, group: GroupId, alert: AlertId, key: str) -> None:
        """Take a number away: its alert is resolved."""
        kept = self._brought.get((group, alert), {})
        kept.pop(key, None)
        if not kept:
            self._brought.pop((group, alert), None)

    def value(self, group: GroupId, alert: AlertId, now: Moment) -> float | None:
        """The greatest number that is not over; ``None``: there is none. What is over is forgotten."""
        kept = self._brought.get((group, alert), {})
        for brought in [brought for brought in kept.values() if brought.over(now)]:
            self.drop(group, alert, brought.key)
        return max((brought.value for brought in kept.values()), default=None)


def _age(brought: Brought) -> tuple[float, float]:
    return brought.at.steady, brought.value
