"""Lives of a whole daemon on a clock that jumps, recorded and replayed: its real loops, in a fraction of the time."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from config.units import GroupId, Instant, MemberName, Moment, Monotonic, Seconds
from handler.engine import engine as engines
from handler.ingest.alerts.receiver import WebhookRequest
from handler.ingest.alerts.tokens import NewWebhook
from handler.observability.reporting_loop import Reports
from handler.planning import pacing
from handler.recording.events import RecordingSelection as WantedRows
from handler.recording.events import write_events
from handler.recording.exporting import Csv, export_series
from handler.replay.outcomes import line_of
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.recorded import Run
from handler.replay.running import recorded_runs
from handler.replay.scrapes import ticks_by_group
from handler.replay.tables import read_events
from handler.store.timeline import read_timeline
from tests.support import still_time
from tests.support.engines import EngineBed, Up
from tests.support.fake_cloud import FakeBalancer, FakeCloud
from tests.support.worlds import INSTALLATION
from trigger.requests import Decision

START = 1_767_268_800.0
"""2026-01-01 12:00:00 UTC."""
TICK: Seconds = 10.0

MODEL = """\
record: {}
counters: {load: {haproxy: scur, range: [0, 100]}}
conditions:
  high: {counter: load, above: 80}
  low: {counter: load, below: 20}
policies:
  out: {when: [high], duration: 10s, add: 1, quiet_time: 40s}
  in: {when: [low], duration: 20s, remove: 1, quiet_time: 1m}
  nudge: {schedule: "*/3 * * * *", add: 1, quiet_time: 20s, missed: {within: 1m}}
  days: {schedule: "*/5 * * * *", until: 90s, floor: 3}
clouds: {box: {process: {}, budget: {per_hour: 14}}}
balancers:
  edge: {haproxy: {socket: /run/edge.sock, backend: web}}
  side: {haproxy: {socket: /run/side.sock, backend: web}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
  web:
    {profile: web, balancers: [{use: edge, port: 8080}], min: 1, max: 6, interval: 10s, warm_up: 0s, drain: 10s,
     quiet_time: 30s, build_timeout: 1m, on_vanish: shrink, stabilisation: 30s,
     flap_damping: {reversals: 3, within: 10m, hold: 2m}, policies: [out, in, nudge, days]}
  shop: &part
    {profile: web, balancers: [{use: side, port: 8080}], min: 1, max: 4, interval: 10s, warm_up: 0s, drain: 10s,
     quiet_time: 30s, build_timeout: 1m, service: pair, policies: [out, in]}
  cart: *part
alerts:
  slow: {match: {alertname: Slow}, groups: [web, shop], group_label: service, fire: out, ttl: 1m}
  loaded: {match: {alertname: Loaded}, groups: [web], floor: 3, ttl: 1m}
  failing: {match: {alertname: Failing}, groups: [web, cart], group_label: service, shield: true, ttl: 1m}
  still: {match: {alertname: Still}, groups: [web], freeze: out, ttl: 1m}
"""


@dataclass
class Live(EngineBed):
    """A bed whose clock is that of a loop that stands still while anything moves."""

    boot: str = "a-boot"
    decided: list[Decision] = field(default_factory=list)
    """All that was decided, in all lives."""

    def __post_init__(self) -> None:
        self.steady: Callable[[], float] = lambda: 1000.0
        super().__post_init__()
        self.cloud = FakeCloud(self.wall)
        self.balancers = {name: FakeBalancer(self.wall, busy=0.0) for name in ("edge", "side")}

    def read(self) -> Moment:
        return Moment(wall=self.wall(), steady=Monotonic(self.steady()))

    def wall(self) -> Instant:
        return Instant(START - 1000.0 + self.steady())

    def play(self, scene: Callable[[Live], Coroutine[Any, Any, None]]) -> None:
        """Play a scene of any number of lives."""

        async def whole() -> None:
            self.steady = still_time.running().time
            await scene(self)

        with self._watched():
            still_time.play(whole())

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        decided = Reports.decided

        def watch(reports: Reports, decision: Decision) -> None:
            self.decided.append(decision)
            decided(reports, decision)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Reports, "decided", watch)
            patch.setattr(engines, "BEAT", 120.0)  # it looks each half of that
            patch.setattr(engines, "_WATCH", 30.0)
            patch.setattr(pacing, "_SOON", 1.0)
            patch.setattr(still_time, "_MOMENT", 0.0)
            yield

    @contextlib.asynccontextmanager
    async def alive(self) -> AsyncIterator[Outside]:
        """One life of the daemon, with a webhook of its own."""
        async with self.running() as up:
            name = f"hook-{len(self.decided)}"
            yield Outside(up, await up.operations.webhooks.make(NewWebhook(name=name)))

    # What is left of it

    def replayed(self, file: Path | None = None, *, since: float | None = None) -> tuple[Run, ...]:
        """Export what was recorded, and replay it."""
        series, events = self.directory / "series.csv", self.directory / "events.csv"
        with series.open("wb") as rows:
            export_series(self.directory / "recording", WantedRows(), Csv(rows), lambda done, of: None)
        with events.open("w", newline="") as text:
            write_events(text, read_timeline(self.path), WantedRows())
        return replayed(file or self.file, series, events, since=since)

    def first_tick(self) -> float:
        """When the first row of the series was recorded."""
        with (self.directory / "series.csv").open() as file:
            return min(float(row["timestamp"]) for row in csv.DictReader(file))

    def lines(self, since: float, until: float = float("inf")) -> list[dict[str, object]]:
        """What was decided live, as replay tells it, group by group."""
        lines = [
            line.plain()
            for each in self.decided
            if since <= each.at.wall < until and (line := line_of(each, None)) is not None
        ]
        return sorted(lines, key=lambda line: str(line["group"]))


def replayed(file: Path, series: Path, events: Path, *, since: float | None = None) -> tuple[Run, ...]:
    """Replay files, as the command does."""
    catalogue = load(file)
    span = ReplaySpan() if since is None else ReplaySpan(since=since)
    samples, _ = read_series(series, catalogue, tuple(catalogue.groups), span)
    return recorded_runs(catalogue, ticks_by_group(catalogue, samples), read_events(events, catalogue.groups))


def plain_lines(runs: Sequence[Run]) -> list[dict[str, object]]:
    """What replay says, group by group."""
    return [line.plain() for run in sorted(runs, key=lambda run: run.group) for line in run.lines]


@dataclass
class Outside:
    """Those who want something of a daemon that is up."""

    up: Up
    token: str

    def machines(self, group: GroupId) -> set[MemberName]:
        return self.up.bed.cloud.ours(INSTALLATION, group)

    async def alert(self, name: str, *, group: str, firing: bool, fingerprint: str) -> None:
        """Tell of an alert, as Alertmanager does."""
        now = datetime.fromtimestamp(self.up.bed.read().wall, UTC).isoformat()
        alert = {
            "status": "firing" if firing else "resolved",
            "labels": {"alertname": name, "service": group},
            "annotations": {},
            "startsAt": "2026-01-01T12:00:00Z" if not firing else now,
            "endsAt": now if not firing else "0001-01-01T00:00:00Z",
            "fingerprint": fingerprint,
        }
        body = {"version": "4", "groupKey": "g", "status": alert["status"], "receiver": "t", "alerts": [alert]}
        reply = await self.up.engine.ingest.alerting.take(
            WebhookRequest(token=self.token, headers={}, body=json.dumps(body).encode())
        )
        assert reply.status in {200, 202, 400}, reply  # 400: it names a group that is not its own
