"""The first program of every member: it limits itself, and then becomes the member's own program.

It runs by its path, as ``confinement.py DESCRIPTOR LIMITS COMMAND...``, and imports nothing of Trimtab. It sets limits
in a process of one thread, before the member's first instruction: between fork and exec of a daemon with many threads
no Python may run, and prlimit(2) from outside is too late for a program that forks at once.

``LIMITS`` are ``WHAT:NUMBER:SOFT:HARD``, separated by commas: a resource of setrlimit(2) by its number, or another
bound by its name. ``DESCRIPTOR`` is one end of a socket pair. The process waits there for a byte, which says that its
member's line is written, and ends without it: a program that runs is always in the registry. It then reports an error
as ``WHAT ERRNO``, without ``WHAT`` if the program itself fails; the descriptor closes unused when the program begins.

Source: setrlimit(2), prctl(2) ``PR_SET_NO_NEW_PRIVS``, execve(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence

_NO_NEW_PRIVILEGES = 38


class ConfinementRefusal(Exception):
    """The kernel refuses a limit or the program."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what} {number}")


def _given() -> Mapping[bytes, bytes]:
    """Return the original environment: Python adds a locale to its own (PEP 538)."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 pathlib takes longer to import than all the rest
        pairs = (entry.partition(b"=") for entry in file.read().split(b"\0"))
        return {name: value for name, equals, value in pairs if equals}


def _confine(limits: str) -> None:
    for limit in limits.split(",") if limits else ():
        what, number, soft, hard = limit.split(":")
        try:
            _bound(what, int(number), int(soft), int(hard))
        except (OSError, ValueError) as error:  # a limit that may not be raised is a ValueError
            raise ConfinementRefusal(what, getattr(error, "errno", None) or errno.EPERM) from error


def _bound(what: str, number: int, soft: int, hard: int) -> None:
    if what == "nice":
        os.setpriority(os.PRIO_PROCESS, 0, soft)
    elif what == "new_privileges":
        if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    else:
        resource.setrlimit(number, (soft, hard))


def _become(command: Sequence[str]) -> None:
    for number in signal.valid_signals():  # Python ignores some, ``nohup`` another; exec keeps ignored signals ignored
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(command[0], list(command), _given())  # noqa: S606 a shell is not needed
    except OSError as error:
        raise ConfinementRefusal("", error.errno or errno.EINVAL) from error


def main(report: int, limits: str, command: Sequence[str]) -> None:
    """Become the command once the daemon allows it, or report why not; end if the daemon has ended."""
    os.set_inheritable(report, False)
    if not os.read(report, 1):
        return
    try:
        _confine(limits)
        _become(command)
    except ConfinementRefusal as refusal:
        os.write(report, str(refusal).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
