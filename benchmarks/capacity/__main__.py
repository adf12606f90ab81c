"""`make capacity`: score policies on open traces, and write docs/capacity.md with its pictures.

Arguments are names of policies, of settings and of traces, as in ``make capacity ARGS="forecast boot120"``; without one
of a kind, all of that kind; ``trials``: the hard days. Figures that are not made anew are kept. If traces are named,
nothing is written.
"""

from __future__ import annotations

import sys

from benchmarks.capacity import traces
from benchmarks.capacity.page import write
from benchmarks.capacity.rows import FORECAST, POLICIES, SETTINGS, USUAL, Results, keep, results
from benchmarks.capacity.setting import GATE, MeanScore, Setting, scores, shown_of
from benchmarks.capacity.traces import Trace
from benchmarks.capacity.trials import keep_trials, tried


def main(arguments: list[str]) -> int:
    only = [word for word in arguments if word in POLICIES] or ([] if arguments == ["trials"] else list(POLICIES))
    settings = [word for word in arguments if word in SETTINGS] or list(SETTINGS)
    named = [word for word in arguments if word not in {*POLICIES, *SETTINGS, "trials"}]
    missing = [name for name in named or (*traces.SCORED, *traces.STRESS) if not traces.here(name)]
    if missing:
        print(f"no file for {', '.join(missing)} in {traces.FOLDER}: expected a policy or a trace; left out")
    found = results()
    for label in settings:
        setting = SETTINGS[label]
        chosen = only if label == USUAL else [name for name in only if name == FORECAST]
        _score(found, label, setting, chosen, [name for name in named if name not in missing])
    if named:
        return 0
    if not arguments or "trials" in arguments:
        keep_trials(tried({name: traces.scaled(name, Setting().peak) for name in traces.SCORED if traces.here(name)}))
    keep(found)
    for path in write(found):
        print(f"wrote {path}")
    return int(not _passes(found))


def _score(found: Results, label: str, setting: Setting, policies: list[str], named: list[str]) -> None:
    """Score some policies in one setting, and print each as it is done."""
    listed = named or (*traces.SCORED, *traces.STRESS)
    loads: dict[str, Trace] = {name: traces.scaled(name, setting.peak) for name in listed if traces.here(name)}
    if not loads:
        return
    shown = shown_of(loads, setting)
    for policy in policies:
        each = scores(loads, POLICIES[policy][1](setting, loads, shown), setting)
        found.setdefault(label, {})[policy] = each
        mean = MeanScore.of({name: each[name] for name in each if name not in traces.STRESS} or each)
        print(
            f"{label:<22} {policy:<11} cost {mean.cost:.3f}  over {mean.over:.3f} %  worst {mean.worst:.3f} %  "
            f"{mean.flaps:.1f} flaps a day  Q {mean.quality:.3f}",
            flush=True,
        )


def _passes(found: Results) -> bool:
    """Tell whether the forecast keeps the gate on every scored trace, at boot times up to five minutes."""
    columns = [label for label, setting in SETTINGS.items() if setting.peak == Setting().peak]
    over = [
        found[label][FORECAST][name].over
        for label in columns
        for name in traces.SCORED
        if name in found.get(label, {}).get(FORECAST, {})
    ]
    return all(each <= GATE for each in over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
