"""What recording costs: bytes and processor time a sample, memory, and how long the event loop is held up by it."""

from __future__ import annotations

import asyncio
import gc
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.report.figures import Measured, once
from collector.samples import Layout, Reply, Scrape, Series
from config.model.observability import Recording
from config.units import CounterId, GroupId, Instant, MemberName, Moment, Monotonic
from handler.recording import folder as disk
from handler.recording.events import RecordingSelection
from handler.recording.exporting import Csv, export_series
from handler.recording.files import Form
from handler.recording.intake import RecordingIntake
from handler.recording.writer import RecordingWriter

INTERVAL = 15.0
_START = 1_772_355_600.0
_HEARTBEAT = 0.002


def run(part: int = 1) -> Iterator[Measured]:
    """A small fleet for an hour, and a very large one for as many samples."""
    hour, many = max(240 // part, 2), max(1000 // part, 1)
    yield from _fleet(f"500 members × 8 counters, {hour} ticks of 15 s", groups=20, members=25, ticks=hour)
    yield from _fleet(f"{200 * many:,} samples a tick, 12 ticks", groups=many, members=25, ticks=12)


def _fleet(name: str, *, groups: int, members: int, ticks: int) -> Iterator[Measured]:
    layout = _layout(groups, members)
    names = tuple(sorted({series.group for series in layout.series}))
    samples = len(layout.series) * ticks
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        scrapes = list(_scrapes(layout, ticks))
        gc.collect()
        gc.freeze()  # as the daemon does, or what is measured is the collector
        before = _memory()
        put, worst, used = asyncio.run(_record(folder, names, scrapes))
        grown = _memory() - before
        scrapes.clear()
        size = sum(each.stat().st_size for each in folder.glob("*/*"))
        exported = _export(folder)
        yield once(f"{name}: on the disk", size / samples, "bytes/sample")
        yield once(f"{name}: the writer's processor time, closing included", used / samples * 1e8, "CPU-ms/100,000")
        yield once(f"{name}: handing a tick over, slowest", put * 1e3, "ms")
        yield once(f"{name}: event loop held meanwhile, longest", worst * 1e3, "ms")
        yield once(f"{name}: memory at most, above the scrapes themselves", grown / 1024, "MiB")
        yield once(f"{name}: export as CSV", samples / exported / 1e3, "thousand rows/s")
        assert all(each.form is Form.WHOLE for each in disk.found_in(folder).standing)


async def _record(folder: Path, names: tuple[GroupId, ...], scrapes: list[Scrape]) -> tuple[float, float, float]:
    """Hand everything over at once: the writer works without a rest. Slowest put, longest hold, CPU seconds."""
    passed = [0.0]

    def clock() -> Moment:
        return Moment(wall=Instant(_START + passed[0]), steady=Monotonic(passed[0]))

    used = [0.0]
    intake = RecordingIntake(samples_at_most=1 << 40)
    writer = RecordingWriter(folder, intake, Recording(), clock=clock, say=lambda event, **fields: None)

    def work() -> None:
        began = time.thread_time()
        writer.run()
        used[0] = time.thread_time() - began

    thread = threading.Thread(target=work)
    thread.start()
    slowest = longest = 0.0
    for scrape in scrapes:
        began = time.perf_counter()
        intake.put(names, scrape)
        slowest = max(slowest, time.perf_counter() - began)
    intake.close()
    while thread.is_alive():
        began = time.perf_counter()
        await asyncio.sleep(_HEARTBEAT)
        longest = max(longest, time.perf_counter() - began - _HEARTBEAT)
    thread.join()
    return slowest, longest, used[0]


def _export(folder: Path) -> float:
    began = time.perf_counter()
    with Path("/dev/null").open("wb") as file:
        export_series(folder, RecordingSelection(), Csv(file), lambda done, of: None)
    return time.perf_counter() - began


def _layout(groups: int, members: int) -> Layout:
    series = tuple(
        Series(
            GroupId(f"group-{group:04}"), CounterId(f"counter-{counter}"), MemberName(f"group-{group:04}-x-{member}")
        )
        for group in range(groups)
        for counter in range(8)
        for member in range(members)
    )
    return Layout(series=series, counted=np.ones(len(series), dtype=np.bool_))


def _scrapes(layout: Layout, ticks: int) -> Iterator[Scrape]:
    """Four counters of whole per cents, two that rise, two finely measured; one answer in a hundred is missing."""
    random = np.random.default_rng(1)
    kind = np.array([int(series.counter[-1]) for series in layout.series])
    names = {name: place for place, name in enumerate(dict.fromkeys(series.member for series in layout.series))}
    member = np.array([names[series.member] for series in layout.series])
    level, risen = random.normal(50, 15, len(kind)), random.integers(0, 2**32, len(kind)).astype(float)
    for tick in range(ticks):
        steady = 15_000.123456789 + tick * INTERVAL + random.exponential(0.0005)
        arrived = (steady + random.gamma(3, 0.004, len(names)))[member]
        risen += random.integers(10**5, 10**7, len(kind))
        percent = np.clip(np.round(level + random.normal(0, 4, len(kind))), 0, 100)
        value = np.select([kind < 4, kind < 6], [percent, risen], random.random(len(kind)) * 100)
        reply = np.where(random.random(len(kind)) < 0.01, Reply.TIMEOUT, Reply.OK).astype(np.uint8)
        uptime = np.floor((arrived - 100 + member * 7.77) * 100) / 100
        at = Moment(wall=Instant(_START + tick * INTERVAL), steady=Monotonic(steady))
        yield Scrape(layout=layout, at=at, value=value, replied_at=arrived, uptime=uptime, reply=reply)


def _memory() -> int:
    """KiB, the most that there ever was."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
