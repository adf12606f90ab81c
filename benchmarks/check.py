"""How quickly the command line answers, and what `trimtab check` and a reload spend on a large file: it grows linearly.

1,000 and 10,000 groups that follow the same two policies, each with bounds of its own; 6,000 and 60,000 counters, each
of which is declared and read by no condition, so that each is warned of. Measured is the processor time from the text
to the catalogue (YAML, values, model, cross checks), and that of the warnings. A ratio near 1 says that the larger file
costs as much for each entry as the smaller one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from config.checks.lint import lint
from config.load import parse
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

_TIMES = 10
"""How much larger the second file is."""
_HEAD = """\
conditions:
  busy: {counter: cpu, window: 60s, above: 80}
  idle: {counter: cpu, window: 5m, across: max, aggregate: max, below: 30}
policies:
  out: {when: [busy], duration: 120s, add: 2, quiet_time: 5m}
  in: {when: [idle], duration: 10m, remove: 1, quiet_time: 5m}
clouds: {local: {simulated: {}}}
profiles:
  web: {cloud: local}
counters:
  cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0, unit: percent, range: [0, 100]}
"""
_GROUP = "{{profile: web, min: 2, max: {most}, interval: 30s, policies: [out, in]}}"


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Measure whole processes (`trimtab --help`, and Python itself beside it), then each kind of file in two sizes."""
    trimtab, rounds = str(Path(sys.executable).parent / "trimtab"), max(7 // part, 1)
    yield f"python -c pass, median of {rounds}", _median([sys.executable, "-c", "pass"], rounds), "s"
    yield f"trimtab --help, median of {rounds}", _median([trimtab, "--help"], rounds), "s"
    yield from _grown("groups", _of_groups, 1_000 // part)
    yield from _grown("counters", _of_counters, 6_000 // part)


def _grown(what: str, text_of: Callable[[int], str], count: int) -> Iterator[tuple[str, float, str]]:
    each = []
    for number in (count, count * _TIMES):
        checked, warned = _spent(text_of(number))
        yield f"{number:,} {what}: text to catalogue", checked, "CPU-s"
        yield f"{number:,} {what}: warnings", warned, "CPU-s"
        each.append((checked + warned) / number)
    yield f"  each of {count * _TIMES:,} {what} to each of {count:,}", each[1] / each[0], "x"


def _spent(text: str) -> tuple[float, float]:
    began = time.process_time()
    catalogue = parse(text, "fleet.yaml")
    parsed = time.process_time()
    lint(catalogue, resized, certain)
    return parsed - began, time.process_time() - parsed


def _of_groups(count: int) -> str:
    groups = (f"  g{number}: {_GROUP.format(most=20 + number % 40)}\n" for number in range(count))
    return f"{_HEAD}groups:\n{''.join(groups)}"


def _of_counters(count: int) -> str:
    counters = "".join(f"  c{number}: {{push: C{number}}}\n" for number in range(count))
    return f"{_HEAD}{counters}groups:\n  web: {_GROUP.format(most=40)}\n"


def _median(command: list[str], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
