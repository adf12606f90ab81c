"""Tell of which profile the members are that show what they carry, and since when.

# Note [Members of one profile]

For a while after a roll, the windows of counters still have what members of the earlier profile showed. So members are
taken to be of another profile only once that was so for the longest of these windows and four steps more, which bring
four estimates of theirs alone (`trigger.forecast.profiles`). They are no longer taken to be of the one before at once.
"""

from __future__ import annotations

from config.units import Instant, Seconds
from trigger.forecast.cohorts import Lane
from trigger.forecast.horizons import STEP
from trigger.forecast.profiles import SETTLED, SEVERAL, UNKNOWN, number_of


class SettledProfiles:
    """The profiles of the members of some forecasts, from tick to tick."""

    def __init__(self) -> None:
        self._since: dict[Lane, tuple[float, Instant]] = {}
        """The number of the profile at the last tick, and since when it is that."""

    def number(self, lane: Lane, profile: str | None, counted: float, window: Seconds, at: Instant) -> float:
        """Return the number of the profile that counts at a tick. See Note [Members of one profile].

        Args:
            lane: the forecast.
            profile: of the members in service (`trigger.requests.Fleet.profile`).
            counted: the number of the one that counts so far.
            window: the longest of the counters' windows.
            at: the tick.
        """
        if profile is None:
            return UNKNOWN
        number = number_of(profile)
        before, since = self._since.get(lane, (UNKNOWN, at))
        since = since if number == before else at
        self._since[lane] = number, since
        settled = number == counted or at - since >= window + SETTLED * STEP
        return number if settled else SEVERAL
