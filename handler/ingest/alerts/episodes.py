"""Notifications out of order: which of them are late.

Two senders of one highly available pair, or a retry, may report that an alert is resolved before they report
that it fires, or after it fires again. Each notification says when its episode began, and "resolved" when it ended:

* a "firing" that began no later than the last end is late, if it comes within `LATE` of the notification of that end.
  Later than that it counts again: Alertmanager resolves an alert that is no longer reported to it, and once it is
  reported again, sends the same start as before;
* a "resolved" that ended before the latest start is late: it is of an earlier episode.

Kept in memory for as many alerts as fit. What is forgotten, also by a restart, costs at most one time to live.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from config.units import AlertId, Instant, Seconds
from handler.ingest.alerts.notifications import ReceivedAlert

LATE: Seconds = 300.0
_KEPT = 20_000


@dataclass(slots=True, kw_only=True)
class _Known:
    started: Instant | None = None
    """The latest start in a delivery."""
    ended: Instant | None = None
    """The latest end in a delivery."""
    end_received: Instant | None = None


class Episodes:
    """The last delivery of each alert, the oldest delivery first."""

    def __init__(self, *, kept: int = _KEPT) -> None:
        self._kept = kept
        self._known: OrderedDict[tuple[AlertId, str], _Known] = OrderedDict()

    def fires(self, alert: AlertId, received: ReceivedAlert, now: Instant) -> bool:
        """Take a "firing"; whether it counts."""
        known, start = self._of(alert, received), received.starts_at
        if start is None:
            return True
        late = _recent(known, now) and known.ended is not None and start <= known.ended
        if not late:
            known.started = max(start, known.started or start)
        return not late

    def resolves(self, alert: AlertId, received: ReceivedAlert, now: Instant) -> bool:
        """Take a "resolved"; whether it counts."""
        known = self._of(alert, received)
        end = received.ends_at if received.ends_at is not None else received.starts_at
        if end is None:
            return True
        if known.started is not None and end < known.started:
            return False
        known.ended = max(end, known.ended or end)
        known.end_received = now
        return True

    def follow(self, step: Seconds) -> None:
        """Keep how long ago each end was received: our clock was set by ``step``."""
        for known in self._known.values():
            if known.end_received is not None:
                known.end_received = Instant(known.end_received + step)

    def _of(self, alert: AlertId, received: ReceivedAlert) -> _Known:
        key = (alert, received.fingerprint)
        known = self._known.setdefault(key, _Known())
        self._known.move_to_end(key)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return known


def _recent(known: _Known, now: Instant) -> bool:
    return known.end_received is not None and now - known.end_received < LATE
