"""The file that a person applied for all daemons over one store, as a port."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from config.units import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedFile:
    """A declaration that every daemon over the store goes by, in place of its own machine's file."""

    revision: int
    """Grows by one with each file that is applied, from 1."""
    at: Instant
    by: str
    source: str
    """What the file was called where it was applied."""
    sealed: str = field(repr=False)
    """Its text, encrypted for this revision (`handler.sealing`): commands and environments in it may hold secrets."""


class AppliedStore(Protocol):
    """The file that was applied last. A new one is written by `Store.declare`, with the groups that it declares."""

    def applied_file(self) -> AppliedFile | None:
        """Return it; ``None``: each daemon goes by its own machine's file."""
        ...

    def last_applied(self) -> int:
        """Return the newest revision that was ever given out; 0: none was."""
        ...

    def save_applied_file(self, applied: AppliedFile) -> None:
        """Replace the sealed text of the revision that is in force."""
        ...

    def withdraw_applied_file(self) -> None:
        """Have each daemon go by its own machine's file again; the next file that is applied has a new revision."""
        ...
