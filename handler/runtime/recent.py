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

    def __init__(self, runtimes: Mapping[GroupId, GroupRuntime]) -> None:
        self.pulse = Pulse()
        self._runtimes = runtimes
        self._series: dict[GroupId, SeriesRecorder] = {}

    def series(self, runtime: GroupRuntime) -> SeriesRecorder:
        """One group's; empty before its first tick."""
        interval = runtime.definition.group.interval
        series = self._series.get(runtime.id)
        if series is None:
            series = self._series[runtime.id] = SeriesRecorder(interval)
        series.paced(interval)
        return series

    def decided(self, decision: Decision) -> None:
        """A decision was carried: a row for every tick, and for every change of size between two."""
        runtime = self._runtimes.get(decision.group)
        if runtime is None:
            return
        ticked = runtime.judged_at == decision.at
        if ticked:
            self._judged(runtime, decision.at.wall)
        if ticked or decision.changed:
            self._sized(runtime, decision.at.wall)
        self.pulse.beat(runtime.id)

    def passed(self, runtime: GroupRuntime, at: Instant) -> None:
        """A pass has seen the group: a row if another number is in service."""
        if self.series(runtime).last_sizes() != _sizes(runtime, at):
            self._sized(runtime, at)
        self.pulse.beat(runtime.id)

    def forget(self, group: GroupId) -> None:
        """A group is gone."""
        self._series.pop(group, None)
        self.pulse.beat(group)

    def _judged(self, runtime: GroupRuntime, at: Instant) -> None:
        series = self.series(runtime)
        series.foresaw(at, runtime.foreseen)
        if runtime.unchanged is not None and series.repeated(at, runtime.unchanged.values):
            return
        if runtime.explanation is not None:
            series.judged(runtime.explanation)

    def _sized(self, runtime: GroupRuntime, at: Instant) -> None:
        desired, in_service, minimum, maximum = _sizes(runtime, at)
        self.series(runtime).sized(at, desired=desired, in_service=in_service, minimum=minimum, maximum=maximum)


def _sizes(runtime: GroupRuntime, at: Instant) -> tuple[int | None, int | None, int, int]:
    in_service = None if runtime.seen is None else runtime.seen.fleet.in_service
    return runtime.state.desired, in_service, *runtime.bounds(at)
