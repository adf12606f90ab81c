"""The one exception tree.

::

    TrimtabError
    ├── DeclarationError      the YAML cannot be read as a catalogue; carries every Problem
    ├── DriverError           a cloud or a balancer did not do what was asked
    │   ├── Transient         try again, after `retry_after`; also everything unknown
    │   │   ├── Unsent        its endpoint does not answer, so nothing was sent now
    │   │   └── Engaged       what it would change is at something else, and will be free by itself
    │   └── Permanent         trying again cannot help until a person changes something
    │       ├── Full          no room for another machine now: a quota, which a removal or a person raises
    │       └── NotFound      a balancer's own object is missing, beside a complete list of its siblings
    ├── StoreError            the state cannot be read or written: no cloud call may follow
    └── Refused               the daemon will not start or do this, and says why

What does *not hold* is a value with a reason (`trigger.reasons.Reason`), never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.bounds import MOST_SHOWN

if TYPE_CHECKING:
    from config.causes import FailureCause
    from config.units import Seconds


class TrimtabError(Exception):
    """Anything that Trimtab raises on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One cause of a refused declaration. ``str(problem)`` is ``FILE:LINE: message``."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def by_place(problem: Problem) -> tuple[str, int, int, str]:
    """Return the sort key of problems: their order, found with fewer calls than their comparison takes."""
    return problem.file, problem.line, problem.column, problem.message


class DeclarationError(TrimtabError):
    """The declared model is refused as a whole; ``problems`` has one entry per cause, in file order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(first_lines([str(problem) for problem in problems], "problem")))
        self.problems = problems


def first_lines(lines: Sequence[str], kind: str) -> tuple[str, ...]:
    """Keep as many lines as a person reads; the last line then counts the others.

    >>> first_lines(["a", "b"], "warning")
    ('a', 'b')
    >>> first_lines(["a"] * 102, "warning")[-1]
    'and 2 more warnings'
    """
    more = len(lines) - MOST_SHOWN
    if more <= 0:
        return tuple(lines)
    return (*lines[:MOST_SHOWN], f"and {more:,} more {kind}{'' if more == 1 else 's'}")


class DriverError(TrimtabError):
    """A cloud or a balancer did not do what was asked. Drivers raise exactly its two subclasses.

    A driver that knows the ``cause`` gives it, and what to do in its message; otherwise the cause is looked for in the
    message. Where a better remedy than the one in `config.causes.REMEDIES` is known, the message ends with ``remedy``.
    """

    def __init__(self, message: str = "", *, cause: FailureCause | None = None, remedy: str = "") -> None:
        super().__init__(f"{message}: {remedy}" if remedy else message)
        self.cause = cause
        self.remedy = remedy


class Transient(DriverError):
    """It may work later. ``retry_after`` is what the other side asks for, in seconds, if it does."""

    def __init__(
        self, message: str, *, retry_after: Seconds | None = None, cause: FailureCause | None = None, remedy: str = ""
    ) -> None:
        super().__init__(message, cause=cause, remedy=remedy)
        self.retry_after = retry_after


class Unsent(Transient):
    """A call was not sent: its endpoint does not answer, and is tried again after ``retry_after`` (`clients.circuit`).

    What a driver did before that call stands: of a change that takes several calls, some may have been made.
    """


class Unanswered(Transient):
    """A call that the other side may have received has no answer: it may have been carried out, or still be."""


class Engaged(Transient):
    """The object of a call is busy with an operation that ends by itself, however long that takes: no failure.

    It is asked for again after ``retry_after``. Whatever else the same cloud has is served meanwhile.
    """


class Permanent(DriverError):
    """It cannot work until a person changes something; the message says what."""


class Full(Permanent):
    """Nothing was made: the cloud has no room for another machine. Removals make room, or a person does."""


class NotFound(Permanent):
    """A balancer's own object (a backend, a pool, a service group, a rule) does not exist.

    A driver raises this with proof alone: the same endpoint answers the same credential with a complete list of the
    object's siblings, the list is not empty, and the object is not on it. An object that is missing without that proof
    is unreadable, and the driver raises `Permanent` or `Transient`.
    """


class StoreError(TrimtabError):
    """State cannot be read or written (disk full, locked, damaged): no cloud call may follow."""


class Refused(TrimtabError):
    """The daemon or the command line will not do this; the message says why and what to do."""
