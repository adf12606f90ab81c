"""Replay: group-ticks a second, groups of three policies at 10 s. ``REPLAY_DAYS=30`` measures the whole month.

Of half a day, starting a second process is a good part of what two of them take.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from config.load import load
from config.model.catalogue import Catalogue
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.running import recorded_runs
from handler.replay.samples import Samples
from handler.replay.scrapes import ticks_by_group

GROUPS, MEMBERS, INTERVAL = 10, 4, 10.0
POLICIES = ("out", "jump", "in")
MODEL = """\
counters:
  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent, range: [0, 100]}
conditions:
  busy: {counter: cpu, window: 1m, above: 80}
  full: {counter: cpu, window: 1m, above: 95}
  idle: {counter: cpu, across: max, window: 5m, aggregate: max, below: 1}
policies:
  out: {when: [busy], duration: 2m, add: 1}
  jump: {when: [full], duration: 1m, add: 50%}
  in: {when: [idle], duration: 10m, remove: 1}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups:
""" + "".join(
    f"  web-{number}: {{profile: web, min: {MEMBERS}, max: {MEMBERS}, interval: {INTERVAL:g}s, "
    f"policies: [{', '.join(POLICIES)}]}}\n"
    for number in range(GROUPS)
)


def run(part: int = 1) -> Iterable[tuple[str, float, str]]:
    """Measure a quiet series, which comes near no threshold, and one that passes a threshold at every other tick."""
    days = float(os.environ.get("REPLAY_DAYS", "0.5")) / part
    for name, values in (("quiet", (30, 75)), ("restless", (65, 95))):
        for said, figure, unit in _series(days, values):
            yield f"{name}: {said}", figure, unit


def _series(days: float, values: tuple[float, float]) -> Iterable[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder:
        model, series = Path(folder, "model.yaml"), Path(folder, "series.parquet")
        model.write_text(MODEL)
        count = _write(series, round(days * 86400 / INTERVAL), values)
        catalogue = load(model)
        began = time.perf_counter()
        samples, _ = read_series(series, catalogue, tuple(catalogue.groups), ReplaySpan())
        read = time.perf_counter() - began
        yield f"read {len(samples):,} samples ({days:g} days, {GROUPS} groups, {MEMBERS} members)", read, "s"
        yield from _measured(catalogue, samples, 1, count)
        if (os.cpu_count() or 1) > 1:
            yield from _measured(catalogue, samples, 2, count)


def _measured(catalogue: Catalogue, samples: Samples, processes: int, count: int) -> Iterable[tuple[str, float, str]]:
    began = time.perf_counter()
    ticks = ticks_by_group(catalogue, samples)
    runs = recorded_runs(catalogue, ticks, {}, processes=processes)
    took = time.perf_counter() - began
    assert sum(each.ticks for each in runs) == count
    yield f"replay {count:,} group-ticks of {len(POLICIES)} policies, {processes} processes", took, "s"
    yield "each", 1e6 * took / count, "us"
    yield "so 30 days would take", took * 30 * 86400 / INTERVAL * GROUPS / count, "s"


def _write(path: Path, ticks: int, values: tuple[float, float]) -> int:
    rows = ticks * GROUPS * MEMBERS
    number = np.arange(rows)
    noise = np.random.default_rng(1)
    words = {
        "group": (pa.array([f"web-{group}" for group in range(GROUPS)]), number // MEMBERS % GROUPS),
        "member": (pa.array([f"m{member}" for member in range(MEMBERS)]), number % MEMBERS),
        "counter": (pa.array(["cpu"]), np.zeros(rows, dtype=np.int64)),
    }
    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), dictionary)
        for name, (dictionary, codes) in words.items()
    }
    at = pa.array(1_767_225_600.0 + number // (GROUPS * MEMBERS) * INTERVAL)
    pq.write_table(pa.table({"timestamp": at, **columns, "value": noise.uniform(*values, rows)}), path)
    return ticks * GROUPS
