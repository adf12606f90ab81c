"""The line to one agent: its session, opened when it is needed and kept, retries with growing patience."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from collector.snmp.agents import Agent
from collector.snmp.engine import Cure, Library, SnmpSession, Trouble, Varbinds
from collector.snmp.names import SnmpNameLookup
from collector.snmp.plain_engine import PlainSession
from collector.snmp.polling import Habits
from collector.snmp.window import RequestWindow, Turns
from config.units import Seconds

Question = Callable[[SnmpSession, Seconds], Awaitable[Varbinds | Trouble]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What all lines share."""

    window: RequestWindow
    names: SnmpNameLookup
    patience: Sequence[Seconds]
    """Seconds to wait for an answer, per try."""


@dataclass(slots=True, kw_only=True, eq=False)
class AgentState:
    """What is kept of one agent between polls."""

    agent: Agent
    library: Library
    exchange: Exchange
    open_plain: Callable[[], PlainSession | Trouble] | None = None
    """Begins to speak with an agent of v1 or v2c whose address is numeric; ``None``: this takes longer."""
    until: float = 0.0
    """Steady seconds; one that is not used by then belongs to an agent that has left."""
    left: bool = False
    """Given up for that reason: another is made if the agent comes back."""
    turn: Turns = field(default_factory=lambda: Turns(1))
    """One caller at a time: a session carries one request."""
    session: SnmpSession | None = None
    tried: Trouble | None = None
    """What came of the first try of the next question, if that was made already."""
    habits: Habits = field(default_factory=Habits)

    async def ask(self, question: Question) -> Varbinds | Trouble:
        """Ask until there is an answer, or patience has run out; a session that has failed is not used again."""
        answer: Varbinds | Trouble = {}
        for patience in self.exchange.patience:
            made, self.tried = self.tried, None
            answer = await self._attempt(question, patience) if made is None else made
            if not isinstance(answer, Trouble) or answer.cure is Cure.SPLIT:
                return answer
            if answer.cure is not Cure.PATIENCE:
                self.hang_up()
            if answer.cure is Cure.NONE:
                return answer
        self.hang_up()
        return answer

    def plain_session(self) -> PlainSession | Trouble:
        """Give the session with an agent that `open_plain` reaches; it begins now if there is none."""
        if isinstance(self.session, PlainSession):
            return self.session
        if self.open_plain is None:
            raise AssertionError("only agents of v1 or v2c with a numeric address are asked so")
        opened = self.open_plain()
        if isinstance(opened, PlainSession):
            self.session = opened
        return opened

    def hang_up(self) -> None:
        """Give back the socket; what was learned of the agent stays."""
        if self.session is not None:
            self.session.close()
            self.session = None

    async def _attempt(self, question: Question, patience: Seconds) -> Varbinds | Trouble:
        address = self.agent.address
        if self.session is None:
            found = await self.exchange.names.address_of(address, patience)
            if isinstance(found, Trouble):
                return found
            address = found
        place = await self.exchange.window.enter()
        try:
            if self.session is None:
                opened = await self.library.open(self.agent, address, patience)
                if isinstance(opened, Trouble):
                    return opened
                self.session = opened
            return await question(self.session, patience)
        finally:
            place.leave()
