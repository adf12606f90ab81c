"""Keep the numbers that alerts have brought until the source of such counters reads them.

Alerts write and polls read, both on the event loop, so no lock is needed. Nothing survives a restart: until an alert is
repeated its value is absent, and an absent value decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from config.units import AlertId, GroupId, Instant, Moment, Seconds

_AT_MOST = 1000
"""Numbers of one rule for one group; a flood of alerts costs no more memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A number that one alert brought for one group."""

    group: GroupId
    alert: AlertId
    key: str
    """The fingerprint of this one alert of the rule: a repeated alert replaces its number."""
    value: float
    """Before scale; finite."""
    at: Moment
    """When the alert arrived."""
    until: Instant
    """The number is over from then on, even if no message says so."""

    def over(self, now: Moment) -> bool:
        """Return whether its time is over, by the wall clock or the steady clock, whichever is first.

        A wall clock that is set back must not keep a number that no alert has repeated; a steady clock may stand still
        while the machine is suspended.
        """
        return now.wall >= self.until or now.steady - self.at.steady >= self.until - self.at.wall

    def moved(self, step: Seconds) -> Brought:
        """Return the same number by a wall clock that was set by ``step``."""
        at = replace(self.at, wall=Instant(self.at.wall + step))
        return replace(self, at=at, until=Instant(self.until + step))


class Board:
    """The last number of every alert that fires, of a thousand for each rule and group.

    If several alerts of one rule fire for a group (one per queue, say), the greatest counts: each alert claims that the
    load is at least this high, and a sum would depend on how finely the alerts are split.
    """

    def __init__(self) -> None:
        self._brought: dict[tuple[GroupId, AlertId], dict[str, Brought]] = {}

    def put(self, brought: Brought) -> None:
        """Record a number. An older number that arrives later does not replace it.

        If there are too many, the number that ends first is forgotten.
        """
        kept = self._brought.setdefault((brought.group, brought.alert), {})
        before = kept.get(brought.key)
        if before is None or _age(before) < _age(brought):
            kept[brought.key] = brought
        if len(kept) > _AT_MOST:
            del kept[min(kept, key=lambda key: (kept[key].until, kept[key].value))]

    def drop(self, group: GroupId, alert: AlertId, key: str) -> None:
        """Remove a number: its alert is resolved."""
        kept = self._brought.get((group, alert), {})
        kept.pop(key, None)
        if not kept:
            self._brought.pop((group, alert), None)

    def follow(self, step: Seconds) -> None:
        """Keep what is left of each number's time: the wall clock was set by ``step``."""
        self._brought = {
            rule: {key: brought.moved(step) for key, brought in kept.items()} for rule, kept in self._brought.items()
        }

    def value(self, group: GroupId, alert: AlertId, now: Moment) -> float | None:
        """Return the greatest number that is not over; ``None``: there is none. Numbers that are over are forgotten."""
        kept = self._brought.get((group, alert), {})
        for brought in [brought for brought in kept.values() if brought.over(now)]:
            self.drop(group, alert, brought.key)
        return max((brought.value for brought in kept.values()), default=None)


def _age(brought: Brought) -> tuple[float, float]:
    return brought.at.steady, brought.value
