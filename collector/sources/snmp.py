"""SNMP v1, v2c and v3: one request per agent for all its objects, and walks for columns, on sessions that are kept.

Failures: a silent agent is TIMEOUT, also if it does not accept our community; a closed port is REFUSED; a refused user
or password of v3 is AUTH; a host name that cannot be resolved is UNREACHABLE; a missing object or column is
NO_SUCH_COUNTER; an object that is not a number, an unreadable answer and an unordered table are MALFORMED; an object
that the agent itself could not read is INCOMPLETE.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Sequence
from functools import partial
from typing import assert_never
from weakref import WeakSet

from collector.samples import Reply
from collector.snmp.agent_state import AgentState, Exchange
from collector.snmp.agents import Agent, Community
from collector.snmp.engine import Library, Trouble
from collector.snmp.gufo_engine import GufoLibrary
from collector.snmp.names import SnmpNameLookup, is_numeric
from collector.snmp.readings import AgentReadings
from collector.snmp.requests import AgentRequest, Plans
from collector.snmp.sweep import Handing, Sweep
from collector.snmp.totals import Totals
from collector.snmp.window import RequestWindow
from collector.targets import Round
from config.model.access import SnmpLibrary
from config.units import Seconds

_IN_FLIGHT = 256
"""At 512 requests in flight receive buffers overflowed and answers were lost."""
_LEAST_KEPT: Seconds = 30.0
_TIDY_EVERY: Seconds = 5.0


_SOURCES: WeakSet[SnmpSource] = WeakSet()
"""Those of this process: of several shards, each has one, and they share its limit."""


class SnmpSource:
    """Polls SNMP agents independently: a silent agent delays no other.

    Args:
        patience: seconds to wait for an answer, per try. A poll that ends earlier shortens it.
    """

    def __init__(self, *, patience: Sequence[Seconds] = (1.0, 1.5)) -> None:
        self._exchange = Exchange(window=RequestWindow(_IN_FLIGHT), names=SnmpNameLookup(), patience=tuple(patience))
        self._plans = Plans()
        self._libraries: dict[SnmpLibrary, Library] = {}
        self._lines: dict[Agent, AgentState] = {}
        self._totals = Totals()
        self._tidied_at = 0.0
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_kept = soft // 3
        self._keeps = True
        _SOURCES.add(self)

    async def fetch(self, poll: Round) -> None:
        """Ask all agents side by side; those that answered last time go first."""
        now = poll.clock().steady
        self._tidy(now)
        plan = self._plans.of(poll)
        for row, detail in plan.refused.items():
            poll.sheet.fail(row, Reply.AUTH, detail)
        pairs = [(self._line(agent, now, request), request) for agent, request in plan.requests.items()]
        pairs.sort(key=lambda pair: pair[0].session is None)
        self._keeps = sum(each.agents for each in _SOURCES) <= self._most_kept
        async with asyncio.TaskGroup() as tasks:

            def talk(line: AgentState, request: AgentRequest) -> None:
                tasks.create_task(self._ask(line, request, poll))

            def go_on(line: AgentState, request: AgentRequest, tried: Trouble) -> None:
                line.tried = tried
                task = tasks.create_task(AgentReadings(line, request, poll, self._totals).fill())
                task.add_done_callback(lambda _: self._over(line))  # also of one that is cancelled before it begins

            swept = []
            for line, request in pairs:
                if line.open_plain is not None and line.habits.usual and not request.columns:
                    swept.append((line, request))
                else:
                    talk(line, request)
            if swept:
                handing = Handing(trouble=go_on, busy=talk, over=self._over)
                await Sweep(poll, self._exchange, handing).run(swept)

    async def close(self) -> None:
        """Give back every socket."""
        for line in self._lines.values():
            line.hang_up()
            line.left = True
        self._lines.clear()
        for library in self._libraries.values():
            await library.close()
        self._libraries.clear()
        self._exchange.names.close()
        self._exchange.window.close()

    @property
    def agents(self) -> int:
        """Return how many it asks now and then."""
        return len(self._lines)

    @property
    def sessions(self) -> int:
        """Return how many sockets are kept."""
        return sum(line.session is not None for line in self._lines.values())

    async def _ask(self, line: AgentState, request: AgentRequest, poll: Round) -> None:
        await line.turn.wait()
        try:
            await AgentReadings(line, request, poll, self._totals).fill()
        finally:
            self._over(line)

    def _over(self, line: AgentState) -> None:
        line.tried = None
        if not self._keeps:
            line.hang_up()  # other connections need the descriptors more
        line.turn.give_back()

    def _line(self, agent: Agent, now: float, request: AgentRequest) -> AgentState:
        line = request.line
        if line is None or line.left:
            request.line = line = self._lines.get(agent) or self._new_line(agent)
        line.until = max(line.until, now + max(request.keep, _LEAST_KEPT))
        return line

    def _new_line(self, agent: Agent) -> AgentState:
        if agent.engine not in self._libraries:
            self._libraries[agent.engine] = _library(agent.engine)
        library = self._libraries[agent.engine]
        line = self._lines[agent] = AgentState(agent=agent, library=library, exchange=self._exchange)
        if isinstance(library, GufoLibrary) and isinstance(agent.identity, Community) and is_numeric(agent.address):
            line.open_plain = partial(library.open_plain, agent, agent.identity, agent.address)
        return line

    def _tidy(self, now: float) -> None:
        """Forget agents that have left, but not at the poll of each of a thousand groups."""
        if now < self._tidied_at + _TIDY_EVERY:
            return
        self._tidied_at = now
        for agent in [agent for agent, line in self._lines.items() if line.until < now and line.turn.idle]:
            line = self._lines.pop(agent)
            line.hang_up()
            line.left = True
        self._totals.tidy(now)


def _library(engine: SnmpLibrary) -> Library:
    match engine:
        case SnmpLibrary.GUFO:
            return GufoLibrary()
        case SnmpLibrary.PYSNMP:
            from collector.snmp.pysnmp_engine import PysnmpLibrary  # takes half a second, only if it is configured

            return PysnmpLibrary()
        case _:
            assert_never(engine)
