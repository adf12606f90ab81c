"""What a run of faults comes to: what is wrong with the whole, and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Final

from tests.support.mixed_bed import MixedBed
from tests.support.mixed_rounds import Fault, needed
from tests.support.worker_faults import WRONG
from tests.support.worker_fleets import INTERVALS, QUIET, Fleet
from tests.support.worker_watch import late_calls, wrong_holds

_LANES: Final = 8
"""Calls that a worker makes side by side: so many may be on their way when it is stopped."""
_READING: Final = frozenset({"vmpool.monitoring", "vmpool.infoextended"})
"""Calls that change nothing: a worker that is cut off from the database goes on reading."""
_JITTER: Final = 0.5
"""Seconds by which a policy may fire before its quiet time is over, and a worker mistake the database's clock."""
_EACH: Final = 21.0
"""Seconds between two firings of a policy of `pulse` where nothing fails: its quiet time, up to a tick."""
_POLICIES: Final = ("policy out", "policy in")


def wrong(bed: MixedBed) -> list[str]:
    """Everything that is wrong, of each round and of the whole."""
    found = [*bed.wrong]
    for name, fleet in bed.ground.fleets.items():
        found.extend(f"{name}: {each}" for each in _wrong_end(fleet))
        made, due = (
            sum(member.startswith("web-") for member in fleet.cloud.made),
            needed(each.played for each in bed.seen),
        )
        if made != due:
            found.append(f"{name}: {made} members of web were made, and {due} were needed")
        found.extend(f"{name}: {each}" for each in wrong_holds(bed.ticks(name), "calm", "later", bed.taken(fleet)))
        found.extend(f"{name}: {each}" for each in (*_early(fleet), *_mistaken(bed, name, fleet)))
    late, changes = _late(bed), sum(len(seen.takeovers) for seen in bed.seen)
    if len(late) > _LANES * changes:
        found.append(f"calls of workers without the lease: {late}")
    return found


def _wrong_end(fleet: Fleet) -> Iterator[str]:
    holder = fleet.bed.holder()
    if garbage := holder.json("garbage")["garbage"]:
        yield f"left over: {garbage}"
    for name, worker in fleet.bed.workers.items():
        if "Traceback" in worker.log.read_text():
            yield f"worker {name} logged a traceback"
    for group in INTERVALS:
        there, serving = sorted(fleet.members(group)), sorted(holder.serving(group))
        if there != serving:
            yield f"{group} serves by {serving}, and the cloud has {there}"


def _firings(fleet: Fleet) -> dict[str, list[float]]:
    """Return when each policy of `pulse` fired, in turn, by the clock of the worker that decided."""
    rows = fleet.bed.rows("SELECT by, decided FROM watch.firings WHERE of = 'pulse' ORDER BY number")
    return {policy: [at for by, at in rows if by == policy] for policy in _POLICIES}


def _early(fleet: Fleet) -> Iterator[str]:
    """Yield firings within the quiet time. Clocks are wrong by whole hours, which count for nothing."""
    for policy, times in _firings(fleet).items():
        for before, after in pairwise(times):
            if (apart := (after - before) % WRONG) < QUIET - _JITTER:
                yield f"{policy} fired at {after:.1f}, {apart:.1f} s after it had fired"


def _mistaken(bed: MixedBed, name: str, fleet: Fleet) -> Iterator[str]:
    for begun, error in bed.ticks(name).clock_errors("calm", "later", bed.taken(fleet)).items():
        if abs(error) > _JITTER:
            yield f"the worker of the term since {begun:.1f} took the database's clock for {error:.1f} s less"


def _late(bed: MixedBed) -> list[tuple[float, str, str]]:
    """Return calls that change something, of workers after another one had taken the lease."""
    taken = [(at, worker) for at, worker in bed.ground.fleets["cloud"].bed.rows("SELECT at, worker FROM watch.leases")]
    return [call for call in late_calls(bed.wire.heard, sorted(taken)) if call[2] not in _READING]


def report(bed: MixedBed) -> str:
    """Return what was measured, a line for each kind of fault and for each fleet."""
    faults = Counter(blow.fault for seen in bed.seen for blow in seen.played.blows)
    said = f"{bed.blind} times blind, and said so"
    lines = [f"{faults.total()} faults in {len(bed.seen)} rounds; {len(_late(bed))} late calls; {said}"]
    lines.extend(f"{kind}: {faults[kind]}{_of_kind(bed, kind)}" for kind in Fault if faults[kind])
    lines.extend(f"{name}: {_of_fleet(bed, name, fleet)}" for name, fleet in bed.ground.fleets.items())
    return "\n".join(lines) + "\n"


def _of_kind(bed: MixedBed, kind: Fault) -> str:
    """Return how soon leases were taken after faults of a kind, and groups evaluated after rounds of them alone."""
    taken = [each for seen in bed.seen for each in seen.takeovers if each[0].fault is kind]
    alone = [seen for seen in bed.seen if {blow.fault for blow in seen.played.blows} == {kind}]
    waits = _longest(wait.lasted - INTERVALS[wait.group] for seen in alone for wait in seen.waits)
    leases = "".join(
        f", lease of {fleet} taken after {median(times):.1f} s, at most {max(times):.1f} ({len(times)} times)"
        for fleet in bed.ground.fleets
        if (times := [seconds for blow, seconds in taken if blow.fleet == fleet])
    )
    return f"{leases}, evaluated at most its interval + {waits:.1f} s later"


def _of_fleet(bed: MixedBed, name: str, fleet: Fleet) -> str:
    ticks = bed.ticks(name)
    whole = ticks.seen[-1].at - ticks.seen[0].at
    waits = {
        group: _longest(w.lasted for each in bed.seen for w in each.waits if (w.fleet, w.group) == (name, group))
        for group in INTERVALS
    }
    fired = {policy: len(times) for policy, times in _firings(fleet).items()}
    ((commits,),) = fleet.bed.rows("SELECT count(*) FROM watch.marks")
    made = Counter(member.split("-")[0] for member in fleet.cloud.made)
    return (
        f"made {dict(made)}; {commits} commits; longest without evaluation {_shown(waits)}; fired {fired}, "
        f"undisturbed {whole / _EACH:.0f}; calm: {len(ticks.of('calm'))} ticks, {len(ticks.gaps('calm'))} gaps"
    )


def _longest(waits: Iterator[float]) -> float:
    return max(waits, default=0.0)


def _shown(waits: dict[str, float]) -> str:
    return ", ".join(f"{group} {lasted:.1f}" for group, lasted in waits.items())
