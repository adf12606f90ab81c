"""How a pause is written down in history, and read again from there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trigger.requests import Pause

_TOLD: Mapping[Pause, str] = MappingProxyType(
    {Pause.ALL: "", Pause.DECISIONS: "decisions only", Pause.OUT: "scale-out only", Pause.IN: "scale-in only"}
)


def told_of(pause: Pause) -> str:
    """The message of an event that begins, or ends, this pause; a resume of everything says nothing, too.

    >>> told_of(Pause.DECISIONS)
    'decisions only'
    """
    return _TOLD.get(pause, "")


def pause_of(message: str) -> Pause:
    """Which pause an event tells of; of a message that says nothing of it, that of everything."""
    return next((pause for pause, told in _TOLD.items() if told == message), Pause.ALL)
