"""How the secrets of a vault are: fresh, from before its outage, or missing. Never what they are."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from config.units import Seconds


class SecretState(enum.Enum):
    """How a secret is."""

    FRESH = "fresh"
    STALE = "stale"
    """It could not be read again, and its last value is in use."""
    MISSING = "missing"
    """It has never been read, so what needs it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """The secrets that the file refers to."""

    url: str
    """Of the vault."""
    counts: Mapping[tuple[str, SecretState], int]
    """Section of the file whose entries use them, and state → so many; one that two sections use is in both."""
    failing: Seconds
    """For how long at least one of them could not be read; 0: all can."""
    because: str
    """Why that one cannot be read, in our words; empty: all can."""

    def sections(self, state: SecretState) -> tuple[str, ...]:
        """Return the sections that have a secret in this state."""
        return tuple(sorted(section for (section, one), count in self.counts.items() if one is state and count))
