"""What the command line and `trimtab check` of a large file cost: the cost of an entry does not grow with the file.

1,000 and 10,000 groups that follow the same two policies, each with bounds of its own; 6,000 and 60,000 counters, each
of which is declared and read by no condition, so that each is warned of. Measured is the whole command, its start
included; Python itself and PyYAML's libyaml loader, which read the same file and check nothing, are measured beside it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report.figures import Figure, Measured, at_most, rounds_of, times
from benchmarks.report.measuring import Cost, command, processor_figure

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
_ONLY_YAML = "import sys, yaml; yaml.load(open(sys.argv[1], 'rb'), Loader=yaml.CSafeLoader)"


def run(part: int = 1) -> Iterator[Measured]:
    """Measure the start of the command, then each kind of file in two sizes."""
    trimtab = str(Path(sys.executable).parent / "trimtab")
    starts = {"python -c pass": [sys.executable, "-c", "pass"], "trimtab --help": [trimtab, "--help"]}
    costs: dict[str, list[Cost]] = {name: [] for name in starts}
    for _ in range(7 if part == 1 else 1):
        for name, argv in starts.items():
            costs[name].append(command(argv))
    yield processor_figure("start a program", costs["python -c pass"], by="python -c pass")
    yield processor_figure("start a program", costs["trimtab --help"], by="trimtab --help")
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        yield from _grown("groups", _of_groups, 1_000 // part, Path(place), rounds_of(part))
        yield from _grown("counters", _of_counters, 6_000 // part, Path(place), rounds_of(part))


def _grown(what: str, text_of: Callable[[int], str], count: int, place: Path, rounds: int) -> Iterator[Measured]:
    trimtab = str(Path(sys.executable).parent / "trimtab")
    each = []
    for number in (count, count * _TIMES):
        file = place / f"{what}-{number}.yaml"
        file.write_text(text_of(number))
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(command([trimtab, "check", str(file)]))
            theirs.append(command([sys.executable, "-c", _ONLY_YAML, str(file)]))
        job = f"trimtab check, {number:,} {what}"
        figure = processor_figure(job, ours, goal=at_most(5.0) if number > count else None)
        yield figure
        yield processor_figure(f"only parse the same file, {number:,} {what}", theirs, by="libyaml")
        each.append(figure)
    grown = times("", each[1], each[0])
    samples = tuple(sample / _TIMES for sample in grown.samples)
    yield Figure(job=f"each of {count * _TIMES:,} {what} to each of {count:,}", unit="×", samples=samples)


def _of_groups(count: int) -> str:
    groups = (f"  g{number}: {_GROUP.format(most=20 + number % 40)}\n" for number in range(count))
    return f"{_HEAD}groups:\n{''.join(groups)}"


def _of_counters(count: int) -> str:
    counters = "".join(f"  c{number}: {{push: C{number}}}\n" for number in range(count))
    return f"{_HEAD}{counters}groups:\n  web: {_GROUP.format(most=40)}\n"
