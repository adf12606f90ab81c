"""Builders for what the aggregator is given: catalogues, layouts and scrapes, with everything defaulted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.aggregate import Aggregator
from aggregator.frames import Cell
from collector.samples import Layout, Reply, Scrape, Series, Sheet
from config.model.catalogue import Adjustment, AdjustmentVerb, Catalogue, Compare, Condition, Group, Holds, Policy
from config.model.counters import Counter, CounterKind, HaproxyField, Per
from config.model.reductions import Reduce, Reduction
from config.units import (
    ConditionId,
    CounterId,
    GroupId,
    Instant,
    MemberName,
    Moment,
    Monotonic,
    PolicyId,
    ProfileId,
    Seconds,
)

WEB = GroupId("web")
CPU = CounterId("cpu")


def a_counter(
    id: str = "cpu",
    *,
    kind: CounterKind = CounterKind.GAUGE,
    per: Per = Per.MEMBER,
    bits: int = 64,
    scale: float = 1.0,
    range: tuple[float, float] | None = None,
) -> Counter:
    return Counter(
        id=CounterId(id), source=HaproxyField(field=id), kind=kind, per=per, bits=bits, scale=scale, range=range
    )


def a_condition(
    id: str = "busy",
    *,
    counter: str = "cpu",
    across: Reduction = Reduce.AVG,
    aggregate: Reduction = Reduce.AVG,
    window: Seconds | None = None,
) -> Condition:
    return Condition(
        id=ConditionId(id),
        counter=CounterId(counter),
        across=across,
        aggregate=aggregate,
        window=window,
        compare=Compare.ABOVE,
        threshold=80.0,
    )


def a_policy(
    id: str = "out", *, when: Sequence[str] = ("busy",), duration: Seconds = 0.0, holds: Holds = Holds.THROUGHOUT
) -> Policy:
    return Policy(
        id=PolicyId(id),
        when=tuple(ConditionId(condition) for condition in when),
        duration=duration,
        holds=holds,
        adjustment=Adjustment(verb=AdjustmentVerb.ADD, amount=1),
    )


def a_group(
    id: str = "web", *, interval: Seconds = 10.0, policies: Sequence[str] = ("out",), freshness: int = 3
) -> Group:
    return Group(
        id=GroupId(id),
        profile=ProfileId("small"),
        minimum=0,
        maximum=100,
        interval=interval,
        policies=tuple(PolicyId(policy) for policy in policies),
        freshness=freshness,
    )


def a_catalogue(
    *,
    counters: Sequence[Counter] = (a_counter(),),
    conditions: Sequence[Condition] = (a_condition(),),
    policies: Sequence[Policy] = (a_policy(),),
    groups: Sequence[Group] = (a_group(),),
) -> Catalogue:
    return Catalogue(
        digest="",
        counters={counter.id: counter for counter in counters},
        conditions={condition.id: condition for condition in conditions},
        policies={policy.id: policy for policy in policies},
        clouds={},
        balancers={},
        profiles={},
        groups={group.id: group for group in groups},
        sites={},
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer: arrives ``late`` seconds after the poll began."""

    value: float
    uptime: Seconds = np.nan
    late: Seconds = 0.0


Answer = Reading | float | None
"""``None``: asked, no answer."""


def a_moment(steady: float) -> Moment:
    return Moment(wall=Instant(1.7e9 + steady), steady=Monotonic(steady))


def series(member: str | None, *, group: str = "web", counter: str = "cpu") -> Series:
    return Series(GroupId(group), CounterId(counter), None if member is None else MemberName(member))


def a_layout(members: Collection[Series], *, warming: Collection[Series] = ()) -> Layout:
    ordered = tuple(sorted(members, key=lambda each: (each.group, each.counter, each.member or "")))
    return Layout(series=ordered, counted=np.array([each not in warming for each in ordered], dtype=np.bool_))


def a_scrape(layout: Layout, at: float, answers: Mapping[Series, Answer]) -> Scrape:
    sheet = Sheet(layout)
    for index, each in enumerate(layout.series):
        answer = answers.get(each)
        if answer is None:
            sheet.fail(index, Reply.TIMEOUT)
            continue
        reading = answer if isinstance(answer, Reading) else Reading(answer)
        sheet.put(index, reading.value, at=at + reading.late, uptime=reading.uptime)
    return sheet.close(a_moment(at))


class Watch:
    """An aggregator that watches one window of the group ``web``, told tick by tick what each member answered."""

    def __init__(
        self,
        *,
        counter: Counter | None = None,
        across: Reduction = Reduce.AVG,
        aggregate: Reduction = Reduce.AVG,
        ticks: int = 1,
        interval: Seconds = 10.0,
        freshness: int = 3,
    ) -> None:
        self.interval = interval
        self.catalogue = a_catalogue(
            counters=[counter or a_counter()],
            conditions=[a_condition(across=across, aggregate=aggregate, window=ticks * interval)],
            groups=[a_group(interval=interval, freshness=freshness)],
        )
        self.aggregator = Aggregator(self.catalogue, [WEB])
        self._layouts: dict[tuple[frozenset[str], frozenset[str]], Layout] = {}

    def tick(self, number: float, answers: Mapping[str, Answer], *, warming: Collection[str] = ()) -> Cell:
        """Poll at tick ``number`` (a fraction is jitter); members named in ``warming`` answer but do not count."""
        members = frozenset(answers), frozenset(warming)
        if members not in self._layouts:
            asked, left_out = ([series(name) for name in names] for names in members)
            self._layouts[members] = a_layout(asked, warming=left_out)
        by_series = {series(name): answer for name, answer in answers.items()}
        frame = self.aggregator.take(a_scrape(self._layouts[members], number * self.interval, by_series))[WEB]
        (cell,) = frame.cells.values()
        return cell

    def ticks(self, *history: Mapping[str, Answer]) -> Cell:
        """Poll once per interval, from tick 0; the last cell."""
        *_, last = (self.tick(number, answers) for number, answers in enumerate(history))
        return last
