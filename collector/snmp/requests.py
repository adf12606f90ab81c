"""What a round wants from each agent."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.snmp.agent_state import AgentState
from collector.snmp.agents import Agent, Identities, Identity
from collector.snmp.engine import UPTIME
from collector.snmp.plain_codec import QueryTemplate
from collector.targets import Round, Target
from config.model.catalogue import Catalogue
from config.model.counters import Counter, CounterKind, SnmpObject
from config.units import CounterId, GroupId, ProfileId, Seconds

_KEPT_INTERVALS = 3
"""A session without a good answer for so many intervals of its group belongs to an agent that has left."""


class TableColumn(NamedTuple):
    """A column whose rows become the reading of one row of the sheet."""

    oid: str
    row: int
    counter: Counter
    interval: Seconds


@dataclass
class AgentRequest:
    """Everything that one round wants from one agent."""

    rows: dict[str, list[int]] = field(default_factory=dict)
    """OID → rows of the sheet; several where groups share an agent."""
    columns: list[TableColumn] = field(default_factory=list)
    rising: bool = False
    """A rising counter is among them: whether the agent has restarted must be known too."""
    keep: Seconds = 0.0
    """How long the session is worth keeping without an answer."""
    line: AgentState | None = None
    """To the agent, since it was asked last."""
    question: QueryTemplate | None = None
    """What asks for all objects of an agent of v1 or v2c, once it has been asked."""

    def oids(self) -> Sequence[str]:
        """What to get, each once."""
        return list(self.rows) if not self.rising or UPTIME in self.rows else [*self.rows, UPTIME]

    @functools.cached_property
    def single_rows(self) -> Sequence[int] | None:
        """The row of each OID, once all are wanted; ``None``: one has several, or the agent's uptime is due."""
        alone = not self.rising and all(len(rows) == 1 for rows in self.rows.values())
        return [row for rows in self.rows.values() for row in rows] if alone else None

    def all_rows(self) -> Sequence[int]:
        """Every row of the sheet that it is about."""
        return [row for rows in self.rows.values() for row in rows] + [column.row for column in self.columns]

    def add(self, counter: Counter, source: SnmpObject, row: int, interval: Seconds) -> None:
        """Want one counter more."""
        if counter.rows is None:
            self.rows.setdefault(source.oid, []).append(row)
        else:
            self.columns.append(TableColumn(source.oid, row, counter, interval))
        self.rising = self.rising or counter.kind is CounterKind.RISING
        self.keep = max(self.keep, _KEPT_INTERVALS * interval)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollPlan:
    """What follows from a catalogue, targets and identities, for as many rounds as those are the same."""

    catalogue: Catalogue
    targets: Sequence[Target]
    identities: Mapping[ProfileId, Identity | str]
    """A text: why no identity is known to ask with."""
    requests: Mapping[Agent, AgentRequest]
    refused: Mapping[int, str]
    """Rows of the sheet for which no agent can be asked, and why."""


class Plans:
    """Makes plans, and keeps them while they hold: at every poll anew they would cost as much as the codec."""

    def __init__(self) -> None:
        self._identities = Identities()
        self._kept: dict[GroupId, PollPlan] = {}

    def of(self, poll: Round) -> PollPlan:
        """Plan a round. Secrets are read at every one of them: they may have been changed."""
        if not poll.targets:
            return plan_of(poll.catalogue, (), {})
        group = poll.targets[0].group
        kept = self._kept.get(group)
        same = kept is not None and kept.catalogue is poll.catalogue and kept.targets is poll.targets
        profiles = kept.identities.keys() if kept is not None and same else _profiles(poll)
        identities = {
            profile: self._identities.of(poll.catalogue.profiles[profile].snmp, poll.read_secret)
            for profile in profiles
        }
        if kept is None or not same or kept.identities != identities:
            kept = plan_of(poll.catalogue, poll.targets, identities)
            self._kept = {key: plan for key, plan in self._kept.items() if plan.catalogue is poll.catalogue}
            self._kept[group] = kept
        return kept


def plan_of(
    catalogue: Catalogue, targets: Sequence[Target], identities: Mapping[ProfileId, Identity | str]
) -> PollPlan:
    """Gather what is wanted from each agent; members whose address is not known yet are not asked."""
    requests: dict[Agent, AgentRequest] = {}
    refused: dict[int, str] = {}
    for target in targets:
        wanted = _wanted(catalogue.counters, target) if target.member.address else []
        if not wanted:
            continue
        group = catalogue.groups[target.group]
        identity = identities[group.profile]
        if isinstance(identity, str):
            refused |= dict.fromkeys((row for row, _, _ in wanted), identity)
            continue
        access = catalogue.profiles[group.profile].snmp
        agent = Agent(target.member.address, access.port, access.engine, identity)
        request = requests.setdefault(agent, AgentRequest())
        for row, counter, source in wanted:
            request.add(counter, source, row, group.interval)
    return PollPlan(catalogue=catalogue, targets=targets, identities=identities, requests=requests, refused=refused)


def _profiles(poll: Round) -> Set[ProfileId]:
    """Those whose members are asked anything over SNMP: no other secret is due."""
    groups = {
        target.group for target in poll.targets if target.member.address and _wanted(poll.catalogue.counters, target)
    }
    return {poll.catalogue.groups[group].profile for group in groups}


def _wanted(counters: Mapping[CounterId, Counter], target: Target) -> Sequence[tuple[int, Counter, SnmpObject]]:
    """(row of the sheet, counter, what it reads) of each counter that is ours."""
    wanted = []
    for counter_id, row in target.rows.items():
        counter = counters[counter_id]
        if isinstance(counter.source, SnmpObject):
            wanted.append((row, counter, counter.source))
    return wanted
