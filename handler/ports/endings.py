"""How machines ended, where a cloud can tell."""

from __future__ import annotations

import signal
from typing import Protocol, runtime_checkable

from config.units import MemberName

_MEANING = {
    signal.SIGXCPU: "its limit cpu_time",
    signal.SIGXFSZ: "its limit file_size",
    signal.SIGKILL: "from outside, for want of memory, or at the end of its grace",
}


@runtime_checkable
class Endings(Protocol):
    """A cloud that may know how a machine ended which it does not list any more."""

    def ending(self, name: MemberName) -> str:
        """How the last of this name ended, in words; empty: nobody saw it."""
        ...


def ending_of(status: int) -> str:
    """Say how a process ended.

    >>> ending_of(3), ending_of(-24)
    ('ended by itself with status 3', 'ended by signal 24 (SIGXCPU): its limit cpu_time')

    Args:
        status: its exit status; negative: the signal that ended it.
    """
    if status >= 0:
        return f"ended by itself with status {status}"
    try:
        number = signal.Signals(-status)
    except ValueError:
        return f"ended by signal {-status}"
    meaning = f": {_MEANING[number]}" if number in _MEANING else ""
    return f"ended by signal {-status} ({number.name}){meaning}"
