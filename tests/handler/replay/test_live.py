"""A recorded live run, replayed, gives the same decisions."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from config.load import load
from config.model.effects import FrozenDirection
from handler.recording.events import RecordingSelection, write_events
from handler.recording.exporting import Csv, export_series
from handler.replay.outcomes import line_of
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.running import recorded_runs
from handler.replay.scrapes import ticks_by_group
from handler.replay.tables import read_events
from handler.store.timeline import read_timeline
from tests.support.engines import MODEL, WEB, EngineBed, Up, hurry
from trigger.requests import Decision

LIVELY = (
    MODEL.replace("interval: 0.05s", "interval: 0.25s")  # a busy machine keeps a quarter of a second, not a twentieth
    .replace("quiet_time: 1h", "quiet_time: 2s")
    .replace("above: 80", "above: 80, window: 0.75s")
)


def digest(lines: list[dict[str, object]]) -> str:
    return hashlib.sha256("\n".join(json.dumps(line) for line in lines).encode()).hexdigest()


async def ups_and_downs(up: Up) -> None:
    await up.engine.recordings.switch(on=True, span=None, by="test")
    await up.grown(2)
    await up.ticked(6)  # a replay begins with empty windows: they are full before anything is decided
    for value, size in ((90.0, 4), (50.0, 4), (5.0, 2), (None, 2), (95.0, 3)):
        up.bed.readings.value = value
        await up.until(lambda size=size: up.serving() == size)
        await up.ticked(3)
    up.bed.readings.value = 5.0
    await up.operations.freezes.freeze(WEB, FrozenDirection.IN, 3600.0, by="ann")
    await up.ticked(3)
    assert up.serving() == 3
    up.bed.readings.value = 50.0
    await up.operations.freezes.unfreeze(WEB, FrozenDirection.BOTH, by="ann")
    await up.operations.pauses.pause_all(decisions_only=False, because="a drill", by="ann")
    await up.ticked(3)
    await up.operations.pauses.resume_all(by="ann")
    await up.ticked(2)
    await up.operations.pauses.pause(WEB, decisions_only=False, by="ann")
    await up.ticked(3)


def test_a_live_run_replayed_gives_the_same_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    bed = EngineBed(tmp_path, text=LIVELY)
    live: list[Decision] = []

    async def scene(up: Up) -> None:
        decided = up.engine.queue._decided
        monkeypatch.setattr(up.engine.queue, "_decided", lambda decision: (live.append(decision), decided(decision)))
        await ups_and_downs(up)

    bed.run(scene)
    with (tmp_path / "series.csv").open("wb") as file:
        export_series(tmp_path / "recording", RecordingSelection(), Csv(file), lambda done, of: None)
    with (tmp_path / "events.csv").open("w", newline="") as text:
        write_events(text, read_timeline(bed.path), RecordingSelection())

    catalogue = load(bed.file)
    samples, _ = read_series(tmp_path / "series.csv", catalogue, (WEB,), ReplaySpan())
    courses = read_events(tmp_path / "events.csv", catalogue.groups)
    (run,) = recorded_runs(catalogue, ticks_by_group(catalogue, samples), courses)

    recorded_from = float(samples.at.min())
    expected = [
        line.plain() for each in live if each.at.wall >= recorded_from and (line := line_of(each, None)) is not None
    ]
    lines = [line.plain() for line in run.lines]
    assert run.parted is None
    assert [line["desired_to"] for line in lines if line["outcome"] in {"out", "in"}] == [3, 4, 3, 2, 3]
    assert lines == expected
    assert digest(lines) == digest(expected)
