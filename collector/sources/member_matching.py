"""Find the rows of the sheet that a cloud answers for: those of members that are its machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from collector.clients.http.failures import HttpFailure
from collector.samples import Series, Sheet
from collector.targets import Round
from config.model.clouds import Cloud, OneflowCloud
from config.model.counters import Counter, CounterSource
from config.units import MemberName, Seconds

CloudT = TypeVar("CloudT", bound=Cloud)
SourceT = TypeVar("SourceT", bound=CounterSource)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSheetRow(Generic[SourceT]):
    """One row of the sheet."""

    index: int
    series: Series
    counter: Counter
    source: SourceT
    """The counter's source."""
    interval: Seconds
    """Between two polls of the group."""
    limit: Seconds
    """How old a measurement may be."""


MemberRows = Mapping[MemberName, Sequence[CloudSheetRow[SourceT]]]


def rows_by_cloud(
    poll: Round, cloud_kind: type[CloudT], source_kind: type[SourceT]
) -> Mapping[CloudT, MemberRows[SourceT]]:
    """Return the rows that each cloud of a kind answers for with counters of a kind, by member."""
    catalogue = poll.catalogue
    mine = {counter.id: counter for counter in catalogue.counters.values() if isinstance(counter.source, source_kind)}
    found: dict[CloudT, dict[MemberName, list[CloudSheetRow[SourceT]]]] = {}
    for target in poll.targets if mine else ():
        group = catalogue.groups[target.group]
        cloud = catalogue.clouds.get(catalogue.profiles[group.profile].cloud)
        if isinstance(cloud, OneflowCloud):
            cloud = cloud.nebula
        if not isinstance(cloud, cloud_kind):
            continue
        for name, index in target.rows.items():
            source = _as(source_kind, catalogue.counters[name].source)
            if source is not None:
                counter = mine[name]
                row = CloudSheetRow(
                    index=index,
                    series=poll.sheet.layout.series[index],
                    counter=counter,
                    source=source,
                    interval=group.interval,
                    limit=group.freshness * group.interval + counter.lag,
                )
                found.setdefault(cloud, {}).setdefault(target.member.name, []).append(row)
    return found


def _as(kind: type[SourceT], source: object) -> SourceT | None:
    return source if isinstance(source, kind) else None


def fail_all(sheet: Sheet, rows: MemberRows[SourceT], failure: HttpFailure) -> None:
    """Record why none of these rows has an answer."""
    for each in rows.values():
        for row in each:
            sheet.fail(row.index, failure.reply, failure.detail)
