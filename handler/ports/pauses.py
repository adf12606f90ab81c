"""How a pause is written down in history, and read again from there."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trigger.requests import Pause
from trigger.verdicts import Direction

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


def direction_of(message: str) -> Direction | None:
    """Which direction a resume tells of; ``None``: both."""
    pause = pause_of(message)
    return None if pause.halts else Direction(pause.value)


def told_of_fleet(pause: Pause, because: str) -> str:
    """The message of an event that pauses the whole fleet: what is stopped, and why.

    >>> told_of_fleet(Pause.ALL, "storage moves")
    'everything; storage moves'
    """
    return "; ".join(text for text in (told_of(pause) or "everything", because) if text)


def fleet_pause_of(message: str) -> tuple[Pause, str]:
    """What such an event stopped, and why."""
    pause, _, because = message.partition("; ")
    return pause_of(pause), because
