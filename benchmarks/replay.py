"""What replaying a month costs: ten groups of four members and three policies at 10 s, 2.6 million group-ticks.

A quiet series comes near no threshold; a restless one passes a threshold at every other tick. One process replays it:
`trimtab replay` shares groups among as many as there are cores. ``REPLAY_DAYS=1`` measures less.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report.figures import Figure, Measured, at_most
from benchmarks.report.measuring import Cost, apart, cost_of, processor_figure
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


def run(part: int = 1) -> Iterator[Measured]:
    """Measure both series once: reading the file and replaying it, each in a process of its own.

    Two million ticks vary little from round to round, and what a quiet tick costs shows in a tenth of them.
    """
    asked = float(os.environ.get("REPLAY_DAYS", "30")) / part
    for name, values in _SERIES.items():
        days = asked if name == "restless" else asked / 10
        read, replayed = ((cost,) for cost in apart(_measured, values, days))
        job = f"{days:g} days × {GROUPS} groups × {len(POLICIES)} policies, {name}"
        goal, memory = (at_most(25.0), at_most(400.0)) if name == "restless" else (None, None)
        yield processor_figure(f"replay {job}", replayed, goal=goal)
        if memory:
            samples = tuple(each.memory for each in replayed)
            yield Figure(job=f"replay {job}: its process at most", unit="MiB", samples=samples, goal=memory)
        yield processor_figure(f"read the series of {job}", read)


_SERIES = {"quiet": (30.0, 75.0), "restless": (65.0, 95.0)}


def _measured(values: tuple[float, float], days: float) -> tuple[Cost, Cost]:
    """Read and replay: what each costs, by itself. The memory of the replay is that of the process with all samples."""
    with tempfile.TemporaryDirectory() as folder:
        model, series = Path(folder, "model.yaml"), Path(folder, "series.parquet")
        model.write_text(MODEL)
        ticks = round(days * 86400 / INTERVAL)
        apart(_write, series, ticks, values)
        catalogue = load(model)
        found: list[Samples] = []
        read = cost_of(lambda: found.append(read_series(series, catalogue, tuple(catalogue.groups), ReplaySpan())[0]))
        return read, cost_of(lambda: _replay(catalogue, found.pop(), ticks * GROUPS))


def _replay(catalogue: Catalogue, samples: Samples, count: int) -> None:
    ticks = ticks_by_group(catalogue, samples)
    del samples
    runs = recorded_runs(catalogue, ticks, {}, processes=1)
    assert sum(each.ticks for each in runs) == count


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
