"""What members showed by themselves over time: answered beside the daemon, of what was recorded."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.targets import measured_counters
from config.errors import Refused
from config.model.counters import Counter, Per
from config.units import CounterId, GroupId, Instant, MemberName, Seconds
from handler.engine.engine import Engine
from handler.operations.lookup import runtime_of
from handler.operations.tuning_admin import declared_of
from handler.planning.world import Record
from handler.what_if.member_question import MemberCourses, MembersQuestion

_NOT_RECORDED = "nothing is recorded now: write record: {} into the file, or run trimtab record on"

_LONGEST: Seconds = 400 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLife:
    """When a member was made, served and was gone; ``None``: not yet, or no longer known."""

    made_at: Instant | None
    in_service_at: Instant | None
    leaving_at: Instant | None
    gone_at: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LivedCourses:
    """What members showed, and when they lived."""

    courses: MemberCourses
    lives: Mapping[MemberName, MemberLife]
    """Of the members that are shown, as long as history is kept."""


class MemberCourseAdmin:
    """Asks workers what members showed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def counters(self, group: GroupId) -> tuple[Counter, ...]:
        """Return the counters of a group that each member has a value of. Raises `NoSuch` and `Refused`."""
        catalogue = declared_of(self._engine, group).catalogue
        measured = (catalogue.counters[name] for name in measured_counters(catalogue, group))
        return tuple(counter for counter in measured if counter.per is Per.MEMBER)

    async def over(
        self,
        group: GroupId,
        counter: CounterId | None,
        time: tuple[Instant, Instant],
        members: Sequence[MemberName] = (),
    ) -> LivedCourses:
        """Return what one counter of members was over time.

        Args:
            group: a group.
            counter: one that its members have values of; ``None``: the first one.
            time: from when until when; widened to whole intervals, so that equal questions are one.
            members: only these; none: those that were farthest from the others.

        Raises:
            NoSuch: there is no such group.
            Refused: there is no such counter, nothing was recorded then, or it takes too long.
            StoreError: the lives of members cannot be read.
        """
        declared, recordings = declared_of(self._engine, group), self._engine.parts.recordings
        if recordings is None:
            raise Refused("this daemon records nothing")
        if not 0 < time[1] - time[0] <= _LONGEST:
            raise Refused("a time has a beginning before its end, and is at most 400 days long")
        interval = declared.catalogue.groups[group].interval
        question = MembersQuestion(
            recording=recordings,
            group=group,
            counter=_chosen(self.counters(group), group, counter),
            interval=interval,
            since=Instant(math.floor(time[0] / interval) * interval),
            until=Instant(math.ceil(time[1] / interval) * interval),
            members=tuple(members),
        )
        if not await asyncio.to_thread(recordings.is_dir):  # no process needs to be asked
            raise Refused(f"nothing was ever recorded; {_NOT_RECORDED}")
        try:
            courses = await self._engine.what_if.look(question)
        except Refused as error:
            if (await self._engine.recordings.status()).on:
                raise
            raise Refused(f"{error}; {_NOT_RECORDED}") from error
        return LivedCourses(courses=courses, lives=await self._lives(group, courses))

    async def _lives(self, group: GroupId, courses: MemberCourses) -> Mapping[MemberName, MemberLife]:
        names, store = {each.member for each in courses.members}, self._engine.parts.store
        runtime_of(self._engine, group)

        def read() -> dict[MemberName, MemberLife]:
            present = {record.name: record for record in store.members(group)}
            records = {**store.gone(group, names - present.keys()), **present}
            return {name: _life(records[name]) for name in names & records.keys()}

        return await asyncio.to_thread(read)


def _chosen(counters: Sequence[Counter], group: GroupId, name: CounterId | None) -> Counter:
    known = {counter.id: counter for counter in counters}
    if not known:
        raise Refused(f"no counter of group {group} is measured per member")
    if name is None:
        return counters[0]
    if name not in known:
        raise Refused(f"members of group {group} have no counter {name}; they have {', '.join(sorted(known))}")
    return known[name]


def _life(record: Record) -> MemberLife:
    return MemberLife(
        made_at=record.made_at,
        in_service_at=record.in_service_at,
        leaving_at=record.leaving_at,
        gone_at=record.gone_at,
    )
