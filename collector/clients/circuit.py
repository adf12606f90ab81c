"""Decide when calls to an unresponsive endpoint stop, and when the endpoint is tried again. Pure.

::

    CLOSED ── `FAILURES` calls in a row fail ──▶ OPEN ── its pause is over ──▶ PROBING ── answered ──▶ CLOSED
                                                  ▲                              │
                                                  └── failed: twice the pause ───┘

Of a half-open circuit (PROBING) there is exactly one call. A pause is no longer than a call may take: an endpoint that
swallows calls holds one thread, half of the time, and one that is back is noticed within two deadlines.

Any *answer*, a refusal included, proves that the endpoint works and closes the circuit, even if its call began long
before. A failure counts only if its call began in the current era: calls that were under way when the circuit opened or
closed say nothing about the endpoint now. A call that has not ended by its deadline has failed, whether or not its
caller still waits.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import assert_never

from config.units import Moment, Monotonic, Seconds

FAILURES = 5
"""Calls in a row that fail before nothing is sent any more."""
FIRST_PAUSE: Seconds = 1.0
_SOON: Seconds = 1.0
"""When a caller may ask again while a probe is under way."""
LATE = "no answer in time"


class Position(enum.Enum):
    """The state of a circuit, as people and dashboards see it."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRun:
    """Failures since the last answer, at least one."""

    count: int
    since: Moment
    """When the first failure was noticed."""
    last: str
    """How the last call failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Calls are made. ``row`` is ``None`` after an answer, and before the first call."""

    row: FailureRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """No call is made ``until`` the pause is over."""

    row: FailureRun
    pause: Seconds
    until: Monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """One call is made; the others are not."""

    row: FailureRun
    pause: Seconds


State = Closed | Open | Probing


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitCall:
    """A call under way."""

    number: int
    era: int
    due: Monotonic
    """The deadline: a call that has not ended by then has failed."""
    within: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """One endpoint."""

    state: State = Closed()
    era: int = 0
    """Counts the changes between closed, open and probing."""
    begun: int = 0
    under_way: tuple[CircuitCall, ...] = ()

    @property
    def position(self) -> Position:
        """Return the circuit's state for people."""
        match self.state:
            case Closed():
                return Position.CLOSED
            case Probing():
                return Position.HALF_OPEN
            case Open():
                return Position.OPEN
            case _:
                assert_never(self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitRefusal:
    """Why a call may not be made, and when to ask again."""

    row: FailureRun
    again_in: Seconds
    probing: bool


def begun(circuit: Circuit, now: Moment, within: Seconds) -> tuple[Circuit, CircuitCall | CircuitRefusal]:
    """Begin a call that may take ``within`` seconds, or return why it may not be made."""
    circuit = overdue(circuit, now)
    match circuit.state:
        case Closed():
            return _with_call(circuit, now, within)
        case Open(row=row, until=until) if now.steady < until:
            return circuit, CircuitRefusal(row=row, again_in=until - now.steady, probing=False)
        case Open(row=row, pause=pause):
            return _with_call(_turned(circuit, Probing(row=row, pause=pause)), now, within)
        case Probing(row=row):
            return circuit, CircuitRefusal(row=row, again_in=_SOON, probing=True)
        case _:
            assert_never(circuit.state)


def answered(circuit: Circuit, call: CircuitCall) -> Circuit:
    """Record that a call was answered; a refusal is an answer, too."""
    circuit = _without(circuit, call)
    if isinstance(circuit.state, Closed):
        return replace(circuit, state=Closed())
    return _turned(circuit, Closed())


def failed(circuit: Circuit, call: CircuitCall, how: str, now: Moment) -> Circuit:
    """Record that a call was not answered."""
    counts = call in circuit.under_way and call.era == circuit.era
    circuit = _without(circuit, call)
    if not counts:
        return circuit
    match circuit.state:
        case Closed(row=before):
            row = _longer(before, how, now)
            if row.count < FAILURES:
                return replace(circuit, state=Closed(row=row))
            return _turned(circuit, Open(row=row, pause=FIRST_PAUSE, until=_after(now, FIRST_PAUSE)))
        case Probing(row=before, pause=pause):
            longer = max(FIRST_PAUSE, min(2 * pause, call.within))
            row = _longer(before, how, now)
            return _turned(circuit, Open(row=row, pause=longer, until=_after(now, longer)))
        case Open():
            return circuit
        case _:
            assert_never(circuit.state)


def overdue(circuit: Circuit, now: Moment) -> Circuit:
    """Record calls that are past their deadline as failed."""
    for call in [call for call in circuit.under_way if call.due <= now.steady]:
        circuit = failed(circuit, call, LATE, now)
    return circuit


def _with_call(circuit: Circuit, now: Moment, within: Seconds) -> tuple[Circuit, CircuitCall]:
    call = CircuitCall(number=circuit.begun + 1, era=circuit.era, due=_after(now, within), within=within)
    return replace(circuit, begun=call.number, under_way=(*circuit.under_way, call)), call


def _without(circuit: Circuit, call: CircuitCall) -> Circuit:
    return replace(circuit, under_way=tuple(each for each in circuit.under_way if each != call))


def _turned(circuit: Circuit, state: State) -> Circuit:
    return replace(circuit, state=state, era=circuit.era + 1)


def _longer(before: FailureRun | None, how: str, now: Moment) -> FailureRun:
    return (
        FailureRun(count=1, since=now, last=how)
        if before is None
        else replace(before, count=before.count + 1, last=how)
    )


def _after(now: Moment, span: Seconds) -> Monotonic:
    return Monotonic(now.steady + span)
