"""SNMP v2c through gufo-snmp: one request per agent, with all its objects, on a session that is kept.

gufo-snmp does the codec and nothing more, so what follows is ours: retries, the bound on requests in flight, and
what its answers mean. Measured on version 0.13: `get_many` leaves out the objects that the agent does not have; a
session carries one request at a time; values come without their ASN.1 type; a closed port is a bare `TimeoutError`,
at once; a wrong community is silence, as RFC 3584 wants it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gufo.snmp import SnmpAuthError, SnmpError, SnmpVersion, ValueType
from gufo.snmp.aio import SnmpSession

from collector.samples import Reply, Sheet
from collector.sources.interface import Round
from collector.sources.numbers import number
from collector.targets import Target
from config.counters import Kind, SnmpObject
from config.errors import TrimtabError
from config.model import Catalogue
from config.units import ProfileId, Seconds

_UPTIME = "1.3.6.1.2.1.1.3.0"
"""SNMPv2-MIB::sysUpTime.0, in hundredths of a second."""
_TICK: Seconds = 0.01

_OPAQUE_FLOAT = b"\x9f\x78\x04"
"""Tag and length of a float inside an Opaque: net-snmp's UCD-SNMP-MIB::laLoadFloat comes so."""

_IN_FLIGHT = 256
"""At 512 requests in flight receive buffers overflowed and answers were lost."""
_SOON: Seconds = 0.1
"""An agent that is going to answer does so within this time; after it, others may go."""
_KEPT_INTERVALS = 3
"""A session without a good answer for so many intervals of its group belongs to an agent that has left."""


class _Agent(NamedTuple):
    """Whom to ask, and how: what a session is kept for."""

    address: str
    port: int
    community: str
    version: SnmpVersion


@dataclass(slots=True, kw_only=True)
class _Request:
    """Everything that one round wants from one agent."""

    rows: dict[str, list[int]] = field(default_factory=dict)
    """OID → rows of the sheet; several where groups share an agent."""
    uptime: bool = False
    """A rising counter is among them: whether the agent has restarted must be known too."""
    keep: Seconds = 0.0
    """How long the session is worth keeping without an answer."""

    def oids(self) -> Sequence[str]:
        """What to ask for, each once."""
        return list(dict.fromkeys([*self.rows, _UPTIME] if self.uptime else self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    session: SnmpSession
    until: float
    """Steady seconds."""


class SnmpSource:
    """Polls SNMP agents, each for itself: a silent one delays nobody else.

    A session is taken out of the pool while it is used, so that it never carries two requests. It is put back after
    a good answer, and when the round ended before the agent's time was up; one that has failed is not used again.

    Args:
        patience: seconds to wait for an answer, per try. A poll that ends earlier cuts it short.
    """

    def __init__(self, *, patience: Sequence[Seconds] = (1.0, 1.5)) -> None:
        self._patience = tuple(patience)
        self._window = _Window(_IN_FLIGHT)
        self._pool: dict[_Agent, _Kept] = {}

    async def fetch(self, asked: Round) -> None:
        """Ask all agents side by side; those that answered last time go first."""
        requests = _requests(asked)
        self._forget(asked.clock().steady)
        async with asyncio.TaskGroup() as tasks:
            for agent in sorted(requests, key=lambda agent: agent not in self._pool):
                tasks.create_task(self._ask(agent, requests[agent], asked))

    async def close(self) -> None:
        """Forget every session; gufo-snmp closes a socket when its session is gone."""
        self._pool.clear()

    @property
    def sessions(self) -> int:
        """How many sockets are kept."""
        return len(self._pool)

    def _forget(self, steady: float) -> None:
        for agent in [agent for agent, kept in self._pool.items() if kept.until < steady]:
            del self._pool[agent]

    async def _ask(self, agent: _Agent, request: _Request, asked: Round) -> None:
        try:
            kept = self._pool.pop(agent, None) or self._open(agent, until=asked.clock().steady + request.keep)
        except OSError:  # not an address, or no file descriptor left
            _fail(asked.sheet, request.rows, Reply.UNREACHABLE)
            return
        try:
            answer = await self._try(kept.session, request.oids())
        except asyncio.CancelledError:
            self._pool[agent] = kept  # a late answer does no harm: gufo-snmp skips those to earlier requests
            raise
        arrived = asked.clock().steady
        if isinstance(answer, Reply):
            _fail(asked.sheet, request.rows, answer)
            return
        _write(asked.sheet, request, answer, arrived)
        self._pool[agent] = replace(kept, until=arrived + request.keep)

    def _open(self, agent: _Agent, *, until: float) -> _Kept:
        session = SnmpSession(
            agent.address,
            port=agent.port,
            community=agent.community,
            version=agent.version,
            timeout=2 * max(self._patience),  # never the first to give up: see _attempt
        )
        return _Kept(session=session, until=until)

    async def _try(self, session: SnmpSession, oids: Sequence[str]) -> Mapping[str, ValueType] | Reply:
        for patience in self._patience:
            answer = await self._attempt(session, oids, patience)
            if answer is not Reply.TIMEOUT:
                return answer
        return Reply.TIMEOUT

    async def _attempt(
        self, session: SnmpSession, oids: Sequence[str], patience: Seconds
    ) -> Mapping[str, ValueType] | Reply:
        async with self._window.place():
            limit = asyncio.timeout(patience)
            try:
                async with limit:
                    return await session.get_many(oids)
            except TimeoutError:  # ours, or gufo's, which is never about time: its patience is longer
                return Reply.TIMEOUT if limit.expired() else Reply.REFUSED
            except SnmpAuthError:
                return Reply.AUTH
            except SnmpError:
                return Reply.MALFORMED
            except OSError:
                return Reply.UNREACHABLE


class _Window:
    """At most so many requests in flight.

    One that is not answered soon gives up its place, though not its wait: otherwise as many silent agents as there
    are places would hold all others back.
    """

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place and hold it: until the end of the block, but not for longer than ``_SOON``."""
        await self._places.acquire()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._places.release()

        timer = asyncio.get_running_loop().call_later(_SOON, leave)
        try:
            yield
        finally:
            timer.cancel()
            leave()


def decode(raw: object) -> float | Reply:
    r"""Turn one value of `get_many` into a number.

    Integers of every kind and times come as ``int``, strings as ``bytes`` (also those that hold a number, or the
    float of an Opaque), addresses and OIDs as ``str``: those are never numbers, though ``0.0`` looks like one.

    >>> decode(45287), decode(b"0.42"), decode(b"\x9fx\x04>\x80\x00\x00")
    (45287.0, 0.42, 0.25)
    >>> decode(b"vm"), decode(b""), decode(b":\xc3\xe7%L{"), decode("1.3.6.1.4.1.8072.3.2.10"), decode("0.0")
    (<Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>, <Reply.MALFORMED: 5>)
    >>> decode(None), decode(b"\x9fx\x04\x7f\x80\x00\x00")
    (<Reply.NO_SUCH_COUNTER: 4>, <Reply.MALFORMED: 5>)
    """
    match raw:
        case None:
            return Reply.NO_SUCH_COUNTER
        case int() | float():
            value = float(raw)
        case bytes() if raw.startswith(_OPAQUE_FLOAT) and len(raw) == len(_OPAQUE_FLOAT) + 4:
            (value,) = struct.unpack(">f", raw[len(_OPAQUE_FLOAT) :])
        case bytes():
            return number(raw.decode("ascii", errors="replace"))
        case _:
            return Reply.MALFORMED
    return value if math.isfinite(value) else Reply.MALFORMED


def _requests(asked: Round) -> Mapping[_Agent, _Request]:
    """Gather what is wanted from each agent; members whose address is not known yet are not asked."""
    requests: dict[_Agent, _Request] = {}
    communities = _Communities(asked)
    for target in asked.targets:
        wanted = tuple(_objects(asked.catalogue, target))
        if not wanted or not target.member.address:
            continue
        group = asked.catalogue.groups[target.group]
        community = communities.of(group.profile)
        if community is None:
            _fail(asked.sheet, {oid: [row] for oid, row, _ in wanted}, Reply.AUTH)
            continue
        port = asked.catalogue.profiles[group.profile].snmp.port
        agent = _Agent(target.member.address, port, community, SnmpVersion.v2c)
        request = requests.setdefault(agent, _Request())
        request.keep = max(request.keep, _KEPT_INTERVALS * group.interval)
        for oid, row, rising in wanted:
            request.rows.setdefault(oid, []).append(row)
            request.uptime |= rising
    return requests


def _objects(catalogue: Catalogue, target: Target) -> Iterator[tuple[str, int, bool]]:
    """(OID, row, whether it rises) of each counter that is ours."""
    for counter, row in target.rows.items():
        declared = catalogue.counters[counter]
        if isinstance(declared.source, SnmpObject):
            yield declared.source.oid, row, declared.kind is Kind.RISING


class _Communities:
    """The communities of one round, each read once; ``None`` where the secret cannot be read."""

    def __init__(self, asked: Round) -> None:
        self._asked = asked
        self._known: dict[ProfileId, str | None] = {}

    def of(self, profile: ProfileId) -> str | None:
        if profile not in self._known:
            self._known[profile] = self._read(profile)
        return self._known[profile]

    def _read(self, profile: ProfileId) -> str | None:
        community = self._asked.catalogue.profiles[profile].snmp.community
        if community is None:
            return "public"
        try:
            return self._asked.read_secret(community)
        except (TrimtabError, OSError):
            return None


def _write(sheet: Sheet, request: _Request, answer: Mapping[str, ValueType], arrived: float) -> None:
    ticks = answer.get(_UPTIME) if request.uptime else None
    uptime = ticks * _TICK if isinstance(ticks, int) else math.nan
    for oid, rows in request.rows.items():
        value = decode(answer[oid]) if oid in answer else Reply.NO_SUCH_COUNTER
        if isinstance(value, Reply):
            _fail(sheet, {oid: rows}, value)
            continue
        for row in rows:
            sheet.put(row, value, at=arrived, uptime=uptime)


def _fail(sheet: Sheet, rows: Mapping[str, Sequence[int]], reply: Reply) -> None:
    for each in rows.values():
        for row in each:
            sheet.fail(row, reply)
