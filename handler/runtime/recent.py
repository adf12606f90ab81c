"""Keep each group's last half hour, and notify listeners of additions."""

from __future__ import annotations

from collections.abc import Mapping

from config.units import GroupId, Instant
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.pulse import Pulse
from handler.runtime.series import SeriesRecorder
from trigger.requests import Decision


class Recent:
    """Lives on the event loop; forgets everything when the daemon stops."""

    def __init__(self, rooms: Mapping[GroupId, GroupRuntime]) -> None:
        self.pulse = Pulse()
        self._rooms = rooms
        self._series: dict[GroupId, SeriesRecorder] = {}

    def series(self, room: GroupRuntime) -> SeriesRecorder:
        """One group's; empty before its first tick."""
        interval = room.definition.group.interval
        series = self._series.setdefault(room.id, SeriesRecorder(interval))
        series.paced(interval)
        return series

    def decided(self, decision: Decision) -> None:
        """A decision was carried: a row for every tick, and for every change of size between two."""
        room = self._rooms.get(decision.group)
        if room is None:
            return
        ticked = room.judged_at == decision.at
        if ticked:
            self._judged(room, decision.at.wall)
        if ticked or decision.changed:
            self._sized(room, decision.at.wall)
        self.pulse.beat(room.id)

    def passed(self, room: GroupRuntime, at: Instant) -> None:
        """A pass has seen the group: a row if another number is in service."""
        if self.series(room).last_sizes() != _sizes(room, at):
            self._sized(room, at)
        self.pulse.beat(room.id)

    def forget(self, group: GroupId) -> None:
        """A group is gone."""
        self._series.pop(group, None)
        self.pulse.beat(group)

    def _judged(self, room: GroupRuntime, at: Instant) -> None:
        series = self.series(room)
        if room.resting is not None and series.repeated(at, room.resting.values):
            return
        if room.explanation is not None:
            series.judged(room.explanation)

    def _sized(self, room: GroupRuntime, at: Instant) -> None:
        desired, in_service, minimum, maximum = _sizes(room, at)
        self.series(room).sized(at, desired=desired, in_service=in_service, minimum=minimum, maximum=maximum)


def _sizes(room: GroupRuntime, at: Instant) -> tuple[int | None, int | None, int, int]:
    in_service = None if room.seen is None else room.seen.fleet.in_service
    return room.state.desired, in_service, *room.bounds(at)
