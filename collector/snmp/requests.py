"""What a round wants from each agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.samples import Reply
from collector.snmp.agents import Agent, Identities, Identity
from collector.snmp.engine import UPTIME
from collector.sources.interface import Round
from collector.targets import Target
from config.access import SnmpAccess
from config.counters import Counter, Kind, SnmpObject
from config.units import CounterId, ProfileId, Seconds

_KEPT_INTERVALS = 3
"""A session without a good answer for so many intervals of its group belongs to an agent that has left."""


class Column(NamedTuple):
    """A column whose rows become the reading of one row of the sheet."""

    oid: str
    row: int
    counter: Counter
    interval: Seconds


@dataclass(slots=True)
class Request:
    """Everything that one round wants from one agent."""

    rows: dict[str, list[int]] = field(default_factory=dict)
    """OID → rows of the sheet; several where groups share an agent."""
    columns: list[Column] = field(default_factory=list)
    rising: bool = False
    """A rising counter is among them: whether the agent has restarted must be known too."""
    keep: Seconds = 0.0
    """How long the session is worth keeping without an answer."""

    def oids(self) -> Sequence[str]:
        """What to get, each once."""
        return list(self.rows) if not self.rising or UPTIME in self.rows else [*self.rows, UPTIME]

    def all_rows(self) -> Sequence[int]:
        """Every row of the sheet that it is about."""
        return [row for rows in self.rows.values() for row in rows] + [column.row for column in self.columns]

    def add(self, counter: Counter, source: SnmpObject, row: int, interval: Seconds) -> None:
        """Want one counter more."""
        if counter.rows is None:
            self.rows.setdefault(source.oid, []).append(row)
        else:
            self.columns.append(Column(source.oid, row, counter, interval))
        self.rising = self.rising or counter.kind is Kind.RISING
        self.keep = max(self.keep, _KEPT_INTERVALS * interval)


def requests_of(asked: Round, identities: Identities) -> Mapping[Agent, Request]:
    """Gather what is wanted from each agent; members whose address is not known yet are not asked.

    Where a secret cannot be read, the rows that need it are AUTH in the sheet.
    """
    requests: dict[Agent, Request] = {}
    known: dict[ProfileId, Identity | str] = {}
    for target in asked.targets:
        wanted = _wanted(asked.catalogue.counters, target) if target.member.address else []
        if not wanted:
            continue
        group = asked.catalogue.groups[target.group]
        access = asked.catalogue.profiles[group.profile].snmp
        if group.profile not in known:
            known[group.profile] = identities.of(access, asked.read_secret)
        identity = known[group.profile]
        if isinstance(identity, str):
            for row, _, _ in wanted:
                asked.sheet.fail(row, Reply.AUTH, identity)
            continue
        request = requests.setdefault(_agent(target.member.address, access, identity), Request())
        for row, counter, source in wanted:
            request.add(counter, source, row, group.interval)
    return requests


def _wanted(counters: Mapping[CounterId, Counter], target: Target) -> Sequence[tuple[int, Counter, SnmpObject]]:
    """(row of the sheet, counter, what it reads) of each counter that is ours."""
    wanted = []
    for counter_id, row in target.rows.items():
        counter = counters[counter_id]
        if isinstance(counter.source, SnmpObject):
            wanted.append((row, counter, counter.source))
    return wanted


def _agent(address: str, access: SnmpAccess, identity: Identity) -> Agent:
    return Agent(address, access.port, access.engine, identity)
