"""How fast passwords may be tried: the more wrong ones, the longer the wait, for each user's name and each peer. Pure.

A wait is never longer than a minute: a person who mistyped, or whose name someone else tries, is not shut out. With
passwords of twelve characters a guess a minute finds nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from config.units import Seconds

FREE = 5
"""Wrong attempts in a row for a name that cost no wait."""
FREE_OF_PEER = 20
"""The same for a peer: behind one address there may be several persons, on the loopback all of a machine."""
LONGEST: Seconds = 60.0
_FORGOTTEN_AFTER: Seconds = 3600.0
_KEYS_AT_MOST = 20_000
"""Names and peers that are told apart; the one that has waited longest for another attempt is forgotten first."""


@dataclass(slots=True)
class _Tried:
    wrong: int
    at: Seconds


class LoginLimits:
    """Counts wrong attempts in a row. An attempt counts as wrong until it proves right, so that many at once count."""

    def __init__(self) -> None:
        self._tried: dict[Hashable, _Tried] = {}

    def begin(self, user: str | None, peer: Hashable, now: Seconds) -> Seconds:
        """Begin an attempt; returns 0, or the seconds to wait before one may begin, and this one may not.

        Args:
            user: the name that is tried, whether or not there is such a user; ``None``: the attempt names none.
            peer: where the attempt comes from.
            now: by a steady clock.
        """
        keys: dict[Hashable, int] = {("peer", peer): FREE_OF_PEER}
        if user is not None:
            keys["user", user] = FREE
        wait = max(self._wait(key, free, now) for key, free in keys.items())
        if wait > 0:
            return wait
        for key in keys:
            before = self._tried.pop(key, None)  # last again: in the order of their latest attempts
            self._tried[key] = _Tried(1 if before is None or _is_over(before, now) else before.wrong + 1, now)
        while len(self._tried) > _KEYS_AT_MOST:
            del self._tried[next(iter(self._tried))]
        return 0.0

    def proved(self, user: str | None, peer: Hashable) -> None:
        """Tell that an attempt was right: its name begins anew, and for its peer this attempt does not count."""
        self._tried.pop(("user", user), None)
        tried = self._tried.get(("peer", peer))
        if tried is not None:
            tried.wrong -= 1

    def _wait(self, key: Hashable, free: int, now: Seconds) -> Seconds:
        tried = self._tried.get(key)
        if tried is None or _is_over(tried, now) or tried.wrong < free:
            return 0.0
        doublings = min(tried.wrong - free, 10)
        return max(tried.at + min(2.0**doublings, LONGEST) - now, 0.0)


def _is_over(tried: _Tried, now: Seconds) -> bool:
    return now - tried.at >= _FORGOTTEN_AFTER
