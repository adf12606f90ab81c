"""Servers of a simulated cloud: each one's past, present and future, as one value. Pure."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from math import inf

from config.units import Instant, MemberName
from handler.planning.launches import Claim
from handler.planning.world import Server, ServerState

_ADDRESSES = (198 << 24) + (18 << 16)
"""198.18.0.0/15, which no router carries: RFC 2544."""
_HOSTS = (1 << 17) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedMachine:
    """One server with its complete life, so that its state at any instant can be looked up.

    >>> life = ((Instant(0.0), ServerState.BUILDING), (Instant(30.0), ServerState.RUNNING))
    >>> machine = SimulatedMachine(name="web-k3f9ab-1", number=1, turns=life)
    >>> machine.view(Instant(29.0)).server.state, machine.view(Instant(30.0)).server.state
    (<ServerState.BUILDING: 'building'>, <ServerState.RUNNING: 'running'>)
    >>> machine.gone(Instant(40.0)).view(Instant(40.0)).server is None
    True
    """

    name: str
    number: int
    """Its number in the order of creation, from 1; never reused."""
    turns: tuple[tuple[Instant, ServerState], ...]
    """Its states, each from an instant on, in order of time; before the first it does not exist."""
    gone_at: Instant | None = None
    """From then on it does not exist, and leaves no trace."""
    claim: str = ""
    """Its claim (`handler.planning.launches.Claim`); empty: none."""

    @property
    def id(self) -> str:
        """Return the cloud's own id."""
        return f"sim-{self.number}"

    @property
    def mark(self) -> str:
        """Return the common part of the names of one group's members."""
        return self.name.rpartition("-")[0]

    def there(self, at: Instant) -> bool:
        """Return whether it exists."""
        return self.turns[0][0] <= at and (self.gone_at is None or at < self.gone_at)

    def view(self, at: Instant) -> MachineView:
        """Return its view at an instant, and how long that lasts."""
        first, last = self.turns[0][0], inf if self.gone_at is None else self.gone_at
        if at >= last:
            return MachineView(server=None, since=last, until=inf)
        if at < first:
            return MachineView(server=None, since=-inf, until=first)
        turn = bisect_right(self.turns, at, key=lambda turn: turn[0])
        since, state = self.turns[turn - 1]
        until = self.turns[turn][0] if turn < len(self.turns) else inf
        return MachineView(server=self._server(state), since=since, until=min(until, last))

    def _server(self, state: ServerState) -> Server:
        host = _ADDRESSES + 1 + self.number % _HOSTS
        return Server(
            name=MemberName(self.name),
            id=self.id,
            state=state,
            address=None if state is ServerState.BUILDING else ".".join(str(host >> bits & 255) for bits in _BITS),
            created_at=self.turns[0][0],
            raw_state=state.value,
            claim=Claim.parse(self.claim),
        )

    # Events: each returns a new value

    def turned(self, state: ServerState, at: Instant) -> SimulatedMachine:
        """Return it with this state from ``at`` on, without its later events."""
        before = tuple(turn for turn in self.turns if turn[0] < at)
        return replace(self, turns=(*before, (at, state)))

    def gone(self, at: Instant) -> SimulatedMachine:
        """Return it gone from ``at`` on, or earlier if it was gone before."""
        return replace(self, gone_at=at if self.gone_at is None else min(self.gone_at, at))


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """A machine's view from ``since`` up to ``until``; ``server`` is ``None`` while it does not exist."""

    server: Server | None
    since: float
    until: float


_BITS = (24, 16, 8, 0)
