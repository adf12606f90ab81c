"""A small declaration, series written by hand, and what replay makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant
from handler.replay.events import Course, ReplayEvent
from handler.replay.outcomes import ReplayLine
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.recorded import Run
from handler.replay.running import recorded_runs
from handler.replay.scrapes import ticks_by_group

HEADER = "timestamp,group,member,counter,value"
START = 1_767_225_600
"""2026-01-01 00:00:00 UTC"""
STEP = 30
WEB = GroupId("web")

MODEL = """\
counters:
  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent, range: [0, 100]}
  backlog: {prometheus: 'depth{queue="$group"}', per: group}
sources: {prom: {prometheus: {url: "http://127.0.0.1:9090"}}}
conditions:
  busy: {counter: cpu, above: 80}
  idle: {counter: cpu, across: max, below: 20}
policies:
  out: {when: [busy], duration: 60s, add: 1, quiet_time: 5m}
  in: {when: [idle], duration: 60s, remove: 1, quiet_time: 5m}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web: {profile: web, min: 2, max: 6, interval: 30s, policies: [out, in]}
"""

Row = tuple[float, str | None, object]
"""Seconds from the start, member, value (``None``: asked, no answer)."""


def declared(*changes: tuple[str, str]) -> Catalogue:
    text = MODEL
    for before, after in changes:
        assert text.count(before) == 1, f"{before!r} must stand once in the declaration"
        text = text.replace(before, after)
    return parse(text, "model.yaml")


def flat(value: object, ticks: int, *, members: int = 2, since: int = 0) -> list[Row]:
    """One value of every member at every tick."""
    return [(STEP * (since + tick), f"m{member}", value) for tick in range(ticks) for member in range(members)]


def written(path: Path, rows: Iterable[Row], *, group: str = "web", counter: str = "cpu") -> Path:
    lines = [
        f"{START + at},{group},{member or ''},{counter},{'' if value is None else value}" for at, member, value in rows
    ]
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def run_of(path: Path, catalogue: Catalogue | None = None, events: Iterable[ReplayEvent] | None = None) -> Run:
    """Replay the one group of a file."""
    (run,) = runs_of(path, catalogue or declared(), events)
    return run


def runs_of(
    path: Path, catalogue: Catalogue, events: Iterable[ReplayEvent] | None = None, *, processes: int = 1
) -> tuple[Run, ...]:
    samples, _ = read_series(path, catalogue, tuple(catalogue.groups), ReplaySpan())
    courses: Mapping[GroupId, Course] = {}
    if events is not None:
        decided = list(events)
        courses = {name: Course([each for each in decided if each.group == name]) for name in catalogue.groups}
    return recorded_runs(catalogue, ticks_by_group(catalogue, samples), courses, processes=processes)


def decided(run: Run) -> list[tuple[float, str, str, int | None]]:
    """Seconds from the start, outcome, reason, size."""
    return [(line.at - START, line.outcome.value, line.reason.value, line.desired_to) for line in run.lines]


def moves(lines: Iterable[ReplayLine]) -> list[tuple[float, int | None]]:
    """Seconds from the start, and the new size."""
    return [(line.at - START, line.desired_to) for line in lines if line.desired_from != line.desired_to]


def happened(at: float, kind: str = "decision", name: str = "scaled_out", **rest: object) -> ReplayEvent:
    return ReplayEvent(at=Instant(START + at), group=WEB, kind=kind, name=name, **rest)  # type: ignore[arg-type]  # as given
