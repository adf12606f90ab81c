"""The port to a kind of counter: whoever can answer for it fills its rows of the sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from collector.samples import Sheet
from collector.targets import Target
from config.model.access import SecretRef
from config.model.catalogue import Catalogue
from config.units import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of polling, as every source is given it."""

    catalogue: Catalogue
    targets: Sequence[Target]
    """Every member to ask, with the row of the sheet for each of its counters, of whatever source."""
    sheet: Sheet
    """Where the answers go; its layout is that of the targets' rows."""
    clock: Callable[[], Moment]
    """Read when an answer arrives, to stamp it."""
    read_secret: Callable[[SecretRef], str]
    """Raises `TrimtabError` or `OSError` where the secret is not there."""


class Source(Protocol):
    """Answers for the counters of its own kind and leaves all other rows alone.

    `fetch` writes each answer to the sheet when it arrives: the caller may cancel it at any moment, and keeps what is
    there. What nobody fills stays TIMEOUT. A member or a source that fails is a `Reply`, never an exception. Rounds
    of different groups may run side by side.
    """

    async def fetch(self, asked: Round) -> None:
        """Ask every target for the counters of this source's kind."""
        ...

    async def close(self) -> None:
        """Give back every socket. No round is running, and none follows."""
        ...
