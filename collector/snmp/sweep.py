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
    """Who takes agents from a sweep. An agent is handed on with its turn taken."""

    trouble: Callable[[AgentState, AgentRequest, Trouble], None]
    """Takes an agent whose first try came to this."""
    busy: Callable[[AgentState, AgentRequest], None]
    """Takes one that another round is asking; its turn is not taken."""
    over: Callable[[AgentState], None]
    """Takes one that is done."""


class Sweep:
    """One round's first tries.

    Args:
        asked: the round.
        exchange: of all agents.
        handing: what is outside.
    """

    def __init__(self, asked: Round, exchange: Exchange, handing: Handing) -> None:
        self._loop = asyncio.get_running_loop()
        self._exchange = exchange
        self._handing = handing
        self._arrivals = Arrivals(asked)
        self._to_write: asyncio.Handle | None = None
        self._flying: dict[_Try, None] = {}
        self._landed: asyncio.Future[None] | None = None

    async def run(self, agents: Iterable[tuple[AgentState, AgentRequest]]) -> None:
        """Ask every agent once. What came is written down, and nobody waits any more, also when this is cancelled."""
        left = deque(agents)
        try:
            while left:
                slot = await self._exchange.window.enter(min(len(left), _AT_ONCE))
                self._send([left.popleft() for _ in range(slot.places)], slot)
                await asyncio.sleep(0)  # answers are read, and others have their turn
            if self._flying:
                self._landed = self._loop.create_future()
                await self._landed
        finally:
            self._end()

    def _send(self, agents: Sequence[tuple[AgentState, AgentRequest]], slot: FlightSlot) -> None:
        batch = _Batch(slot, self)
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
            each = _Try(self, batch, line, request, session)
            self._flying[each] = batch.flying[each] = None
            session.begin(request.question, each.settle)
        if batch.flying:
            batch.timer = self._loop.call_later(self._exchange.patience[0], batch.give_up)

    def land(self, each: _Try, answer: Sequence[Raw] | Trouble) -> None:
        """Take what came of a try."""
        del self._flying[each]
        if isinstance(answer, Trouble):
            self._handing.trouble(each.line, each.request, answer)
        else:
            self._arrivals.add(each.request, answer)
            if self._to_write is None:
                self._to_write = self._loop.call_soon(self._write)
            self._handing.over(each.line)
        if not self._flying and self._landed is not None and not self._landed.done():
            self._landed.set_result(None)

    def _write(self) -> None:
        self._to_write = None
        self._arrivals.write()

    def _end(self) -> None:
        if self._to_write is not None:
            self._to_write.cancel()
        self._write()
        for each in list(self._flying):
            each.abandon()
            self._handing.over(each.line)
        self._flying.clear()


class _Batch:
    """Tries that were made together: for them one timer does."""

    __slots__ = ("flying", "slot", "sweep", "timer")

    def __init__(self, slot: FlightSlot, sweep: Sweep) -> None:
        self.slot = slot
        self.sweep = sweep
        self.flying: dict[_Try, None] = {}
        self.timer: asyncio.TimerHandle | None = None

    def land(self, each: _Try) -> None:
        """Wait for one try less."""
        self.slot.leave_one()
        del self.flying[each]
        if not self.flying and self.timer is not None:
            self.timer.cancel()

    def give_up(self) -> None:
        """Say of all that have no answer yet that there is none."""
        for each in list(self.flying):
            each.settle(each.session.silence)


class _Try:
    """One agent that is asked."""

    __slots__ = ("batch", "line", "request", "session", "sweep")

    def __init__(
        self, sweep: Sweep, batch: _Batch, line: AgentState, request: AgentRequest, session: PlainSession
    ) -> None:
        self.sweep = sweep
        self.batch = batch
        self.line = line
        self.request = request
        self.session = session

    def settle(self, answer: Sequence[Raw] | Trouble) -> None:
        """End with an answer."""
        self.abandon()
        self.sweep.land(self, answer)

    def abandon(self) -> None:
        """End without one."""
        self.session.end()
        self.batch.land(self)
