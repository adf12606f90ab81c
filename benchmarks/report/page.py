"""`make performance`: docs/performance.md and the JSON that it is made from, of the last figures of `make bench`.

``--check`` compares the page with the JSON beside it, so that no figure is edited by hand.
"""

from __future__ import annotations

import importlib
import inspect
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import results
from benchmarks.report.figures import Figure, NotMeasured
from benchmarks.report.listing import module_of, names
from benchmarks.report.results import Benched, Machine, Results
from benchmarks.report.text import goal, number, percent

LAST = Path(".trimtab-bench/figures.json")
DATA = Path("docs/performance.json")
PAGE = Path("docs/performance.md")
_HEAD = """\
# Performance

<!-- Made by `make performance` from performance.json. Do not edit. -->

What Trimtab costs, and what its peers cost for the same job in the same run. `make bench` measures all of it again,
`make bench NAME=snmp` one part; `make performance` then writes this page from the last figures of each part.

Every figure is the median of its rounds, and *spread* is half of what lies between the least and the greatest of them.
Processor seconds (CPU-s) are user and system time of the whole process that does the job, all threads together: they
hold on a busy machine better than seconds by the clock. *Memory* is what was resident at most in that process. Load is
the number of processes that wanted a core at that time; above the number of cores, seconds by the clock are too long.
"""


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return _checked()
    DATA.write_text(LAST.read_text())
    PAGE.write_text(page(results.read(DATA.read_text()), summaries()))
    return 0


def _checked() -> int:
    if PAGE.read_text() == page(results.read(DATA.read_text()), summaries()):
        return 0
    print(f"{PAGE} is not what {DATA} and the benchmarks' first lines say: run `make performance`")
    return 1


def page(of: Results, about: dict[str, str]) -> str:
    """Write the page. ``about`` has a sentence on each benchmark, by name."""
    return "\n".join([_HEAD, *_machine(of), *_goals(of), *_benches(of, about)]).rstrip("\n") + "\n"


def summaries() -> dict[str, str]:
    """The first paragraph of each benchmark's docstring."""
    return {name: _first(inspect.getdoc(importlib.import_module(module_of(name))) or "") for name in names()}


def _first(doc: str) -> str:
    return " ".join(doc.split("\n\n", maxsplit=1)[0].split())


def _machine(of: Results) -> Iterator[str]:
    machine: Machine = of.machine
    began, ended = min(each.at for each in of.benches.values()), max(each.at for each in of.benches.values())
    days = began[:10] if began[:10] == ended[:10] else f"{began[:10]} to {ended[:10]}"
    yield (
        f"Measured on {days}: {machine.processor}, {machine.cores} cores, {machine.memory:,} MiB, {machine.system}, "
        f"Python {machine.python}; beside {_programs(machine)}.\n"
    )


def _programs(machine: Machine) -> str:
    return ", ".join(f"{name} {version}" for name, version in machine.programs.items()) or "no other program"


def _goals(of: Results) -> Iterator[str]:
    aimed = [
        (name, figure)
        for name, benched in of.benches.items()
        for figure in benched.figures
        if isinstance(figure, Figure) and figure.goal
    ]
    if not aimed:
        return
    yield "## Goals\n"
    yield "| Job | Measured | Goal | |\n|---|---:|---:|---|"
    for name, figure in aimed:
        assert figure.goal is not None
        aim = f"{figure.goal.bound.value} {number(figure.goal.value)} {figure.unit}"
        reached = "reached" if figure.goal.met(figure.median) else "**missed**"
        yield f"| [{name}](#{name}): {figure.job} | {number(figure.median)} {figure.unit} | {aim} | {reached} |"
    yield ""


def _benches(of: Results, about: dict[str, str]) -> Iterator[str]:
    for name, benched in of.benches.items():
        yield f"## {name}\n"
        yield f"{about[name]}\n" if about.get(name) else ""
        yield from _table(benched)
        yield (
            f"\nTaken {benched.at[:16].replace('T', ' ')} UTC in {benched.seconds:.0f} s: {benched.cpu:.0f} CPU-s, "
            f"{benched.memory:,.0f} MiB at most, load {benched.load[0]:.1f} before and {benched.load[1]:.1f} after."
        )
        yield f"It stopped with an error: {benched.error}.\n" if benched.error else ""


def _table(benched: Benched) -> Iterator[str]:
    yield "| Job | By | Median | Spread | Memory | Goal |\n|---|---|---:|---:|---:|---|"
    for each in benched.figures:
        if isinstance(each, NotMeasured):
            yield f"| {each.job} | {each.by} | not measured: {each.because} | | | |"
            continue
        memory = f"{statistics.median(each.memory):,.0f} MiB" if each.memory else ""
        median = f"{number(each.median)} {each.unit}".strip()
        yield f"| {each.job.strip()} | {each.by} | {median} | {percent(each.samples)} | {memory} | {goal(each)} |"


if __name__ == "__main__":
    sys.exit(main())
