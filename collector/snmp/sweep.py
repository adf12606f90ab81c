"""The first try of a round: many agents of v1 and v2c asked and heard at once, without a task or a timer for each.

What an agent answers as it should, which nearly every agent does nearly always, ends here. Whatever else comes of the
try, silence too, is handed on, for a conversation with that agent alone (`AgentReadings`): it goes on from there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from collector.snmp.agent_state import AgentState, Exchange
from collector.snmp.arrivals import Arrivals
from collector.snmp.engine import Raw, Trouble
from collector.snmp.plain_engine import PlainSession
from collector.snmp.requests import AgentRequest
from collector.snmp.window import FlightSlot
from collector.targets import Round

_AT_ONCE = 64
"""Requests that are sent before answers are read: together they take a millisecond or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    """Takes agents from a sweep. An agent is handed on with its turn taken."""

    trouble: Callable[[AgentState, AgentRequest, Trouble], None]
    """Takes an agent whose first try came to this."""
    busy: Callable[[AgentState, AgentRequest], None]
    """Takes one that another round is asking; its turn is not taken."""
    over: Callable[[AgentState], None]
    """Takes one that is done."""


class Sweep:
    """One round's first tries.

    Args:
        poll: the round.
        exchange: of all agents.
        handing: what is outside.
    """

    def __init__(self, poll: Round, exchange: Exchange, handing: Handing) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = poll.clock
        self._exchange = exchange
        self._handing = handing
        self._arrivals = Arrivals(poll)
        self._now: float | None = None
        self._flying: dict[_Try, None] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._landed: asyncio.Future[None] | None = None

    async def run(self, agents: Iterable[tuple[AgentState, AgentRequest]]) -> None:
        """Ask every agent once. What came is written down, and no try is left, also when this is cancelled."""
        left = deque(agents)
        try:
            while left:
                slot = await self._exchange.window.enter(min(len(left), _AT_ONCE))
                self._send([left.popleft() for _ in range(slot.places)], slot)
                if left:
                    await asyncio.sleep(0)  # answers are read, and others have their turn
            if self._flying:
                self._landed = self._loop.create_future()
                await self._landed
        finally:
            self._end()

    def _send(self, agents: Sequence[tuple[AgentState, AgentRequest]], slot: FlightSlot) -> None:
        tries: list[_Try] = []
        for line, request in agents:
            if not line.turn.take():
                slot.leave_one()
                self._handing.busy(line, request)
                continue
            session = line.plain_session()
            if isinstance(session, Trouble):
                slot.leave_one()
                self._handing.trouble(line, request, session)
                continue
            if request.question is None:
                request.question = session.question(request.oids())
            each = _Try(self, slot, line, request, session)
            self._flying[each] = None
            tries.append(each)
            session.begin(request.question, each.settle)
        if tries:
            self._timers.append(self._loop.call_later(self._exchange.patience[0], self._give_up, tries))

    def land(self, each: _Try, answer: Sequence[Raw] | Trouble) -> None:
        """Take what came of a try."""
        each.session.end()
        each.slot.leave_one()
        del self._flying[each]
        if isinstance(answer, Trouble):
            self._handing.trouble(each.line, each.request, answer)
        else:
            self._arrivals.add(each.request, answer, self._arrived() if self._now is None else self._now)
            self._handing.over(each.line)
        if not self._flying and self._landed is not None and not self._landed.done():
            self._landed.set_result(None)

    def _arrived(self) -> float:
        """Read the clock for all answers that the loop hands over in this turn: they were there when it began."""
        self._now = self._clock().steady
        self._loop.call_soon(self._pass)
        return self._now

    def _pass(self) -> None:
        self._now = None

    def _give_up(self, tries: Iterable[_Try]) -> None:
        for each in tries:
            if each in self._flying:
                self.land(each, each.session.silence)

    def _end(self) -> None:
        for timer in self._timers:
            timer.cancel()
        for each in self._flying:
            each.session.end()
            each.slot.leave_one()
            self._handing.over(each.line)
        self._flying.clear()
        self._arrivals.write()


class _Try:
    """One agent that is asked."""

    __slots__ = ("line", "request", "session", "slot", "sweep")

    def __init__(
        self, sweep: Sweep, slot: FlightSlot, line: AgentState, request: AgentRequest, session: PlainSession
    ) -> None:
        self.sweep = sweep
        self.slot = slot
        self.line = line
        self.request = request
        self.session = session

    def settle(self, answer: Sequence[Raw] | Trouble) -> None:
        """End with an answer."""
        self.sweep.land(self, answer)
