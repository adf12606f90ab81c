"""A NetScaler's own statistics, of each member or of the group, over NITRO.

The source's virtual server answers for the whole group. Its service group answers for members, or without one the
bindings of the virtual server: services, and members of service groups. All members come in one answer; `members`
matches them by address and name.

Failures of a statistic:

* the object lacks it: NO_SUCH_COUNTER; text instead of a number: MALFORMED;
* no binding matches the member, or the virtual server is missing: REFUSED; several match: AMBIGUOUS;
* the appliance itself doubts its answer (a warning, a bulk that failed in part): the entries in it count, and a missing
member is INCOMPLETE;
* no answer in time: UNREACHABLE, for everything behind it. A refused user: AUTH. Too many sessions: RATE_LIMITED.

One session per address and user serves all sources and rounds (`clients.nitro`). ``uptime`` is read if a
counter rises (`age`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from urllib.parse import quote

from collector.clients.http.client import HttpClient
from collector.clients.http.failures import HttpFailure
from collector.clients.nitro.async_client import AsyncNitroClient, TimedAnswer
from collector.clients.nitro.parsing import Thing, things
from collector.clients.nitro.session import NitroCall, NitroLogin
from collector.samples import Reply, Sheet
from collector.sources.netscaler.age import Age
from collector.sources.netscaler.members import Bindings, only
from collector.sources.netscaler.parsing import figure
from collector.targets import MemberTarget, Round, whole_rows
from config.model.access import NetscalerStats
from config.model.counters import CounterKind, NetscalerField
from config.units import Seconds

_BOUND = ("service", "servicegroupmember")
_AT_ONCE = 1000
"""Rows that are written before the event loop gets a turn: about 5 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One row of the sheet."""

    index: int
    field: str
    rises: bool
    member: MemberTarget | None
    """``None``: the whole group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inquiry:
    """One request, and the rows that it fills."""

    kind: str
    name: str
    bindings: bool
    rows: Sequence[_Row]

    @property
    def call(self) -> NitroCall:
        path = f"stat/{self.kind}/{quote(self.name, safe='')}"
        return NitroCall(path=path, query={"statbindings": "yes"} if self.bindings else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holding:
    """A decoded answer: the service group or virtual server, and its bindings."""

    whole: Thing | HttpFailure
    bound: Bindings
    doubt: str
    at: float

    @classmethod
    def of(cls, inquiry: _Inquiry, found: TimedAnswer) -> _Holding:
        whole = only(things(found.document, inquiry.kind), inquiry.kind, inquiry.name, found.doubt)
        inside = () if isinstance(whole, HttpFailure) else chain.from_iterable(things(whole, kind) for kind in _BOUND)
        return cls(whole=whole, bound=Bindings.of(inside), doubt=found.doubt, at=found.at)

    def thing_of(self, member: MemberTarget | None) -> Thing | HttpFailure:
        """Return the object that answers for a member, or for the group."""
        if member is None or isinstance(self.whole, HttpFailure):
            return self.whole
        return self.bound.of_member(member, self.doubt)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Appliance:
    client: AsyncNitroClient
    age: Age


class NetscalerSource:
    """Asks NetScalers; keeps their sessions between rounds.

    Args:
        http: its owner closes it, after this source.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._appliances: dict[NitroLogin, _Appliance] = {}

    async def fetch(self, poll: Round) -> None:
        """Send each appliance the round's requests: one per service group or virtual server."""
        shares = _shares(poll)
        for source, rows in shares.items():
            for row in rows:
                poll.sheet.fail(row.index, Reply.UNREACHABLE, f"no answer yet from {source.id}")
        declared = {
            NitroLogin.of(source) for source in poll.catalogue.sources.values() if isinstance(source, NetscalerStats)
        }
        async with asyncio.TaskGroup() as tasks:
            for login in self._appliances.keys() - declared:
                tasks.create_task(self._appliances.pop(login).client.close())
            for source, rows in shares.items():
                for inquiry in _inquiries(source, rows):
                    tasks.create_task(self._answer(poll, source, inquiry))

    async def close(self) -> None:
        """Log out of every appliance."""
        async with asyncio.TaskGroup() as tasks:
            for appliance in self._appliances.values():
                tasks.create_task(appliance.client.close())

    async def _answer(self, poll: Round, source: NetscalerStats, inquiry: _Inquiry) -> None:
        appliance = self._appliance(source)
        found = await appliance.client.get(inquiry.call, poll, within=source.timeout)
        if isinstance(found, TimedAnswer) and not found.document:
            found = HttpFailure(reply=Reply.MALFORMED, detail="an empty answer")
        if isinstance(found, HttpFailure):
            for row in inquiry.rows:
                poll.sheet.fail(row.index, found.reply, f"{source.id}: {found.detail}")
            return
        many = len(inquiry.rows) > _AT_ONCE
        holding = await asyncio.to_thread(_Holding.of, inquiry, found) if many else _Holding.of(inquiry, found)
        await _fill(poll.sheet, inquiry.rows, holding, math.nan)
        rising = [row for row in inquiry.rows if row.rises]
        if rising:  # a slow answer about its age must not delay complete rows
            uptime = await appliance.age.at_least(poll, within=source.timeout)
            await _fill(poll.sheet, rising, holding, uptime)

    def _appliance(self, source: NetscalerStats) -> _Appliance:
        login = NitroLogin.of(source)
        if login not in self._appliances:
            client = AsyncNitroClient(login, self._http)
            self._appliances[login] = _Appliance(client=client, age=Age(client))
        return self._appliances[login]


def _shares(poll: Round) -> Mapping[NetscalerStats, Sequence[_Row]]:
    """Return the rows of each source."""
    shares: dict[NetscalerStats, list[_Row]] = {}
    for index, (wanted, rises), member in _rows(poll):
        source = poll.catalogue.sources.get(wanted.server)
        if isinstance(source, NetscalerStats):
            row = _Row(index=index, field=wanted.field, rises=rises, member=member)
            shares.setdefault(source, []).append(row)
    return shares


def _rows(poll: Round) -> Iterator[tuple[int, tuple[NetscalerField, bool], MemberTarget | None]]:
    """Yield row, field and whether it rises, and the member."""
    ours = {
        counter.id: (counter.source, counter.kind is CounterKind.RISING)
        for counter in poll.catalogue.counters.values()
        if isinstance(counter.source, NetscalerField)
    }
    for target in poll.targets:
        for name, index in target.rows.items():
            if name in ours:
                yield index, ours[name], target.member
    for index, _, name in whole_rows(poll.sheet.layout, ours):
        yield index, ours[name], None


def _inquiries(source: NetscalerStats, rows: Sequence[_Row]) -> Iterator[_Inquiry]:
    """Yield the requests; without a service group, the virtual server's answer serves members and group."""
    members = [row for row in rows if row.member is not None]
    whole = [row for row in rows if row.member is None]
    if source.service_group is not None:
        if members:
            yield _Inquiry(kind="servicegroup", name=source.service_group, bindings=True, rows=members)
        members = []
    if source.virtual_server is not None and (members or whole):
        rest = [*members, *whole]
        yield _Inquiry(kind="lbvserver", name=source.virtual_server, bindings=bool(members), rows=rest)


async def _fill(sheet: Sheet, rows: Sequence[_Row], holding: _Holding, uptime: Seconds) -> None:
    """Write some of the rows that an answer fills."""
    for done, row in enumerate(rows):
        if done % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
        thing = holding.thing_of(row.member)
        value = thing if isinstance(thing, HttpFailure) else figure(thing, row.field)
        if isinstance(value, HttpFailure):
            sheet.fail(row.index, value.reply, value.detail)
        else:
            sheet.put(row.index, value, at=holding.at, uptime=uptime)
