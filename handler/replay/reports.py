"""What replays come to, as tables. Import it late: pandas takes 0.3 s and 60 MB."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import pandas as pd

from handler.replay.outcomes import ReplayLine
from handler.replay.recorded import Run

_COMPARED = ["policy", "outcome", "reason", "size"]
_FIGURES = {
    "actions": "changes of size",
    "reversals": "reversals",
    "size_hours": "member-hours",
    "busy_minutes": "minutes over threshold",
    "short_minutes": "minutes over capacity",
    "hours": "hours followed",
}
"""Of a `GroupTally`, and what people call them."""


def decisions(lines: Iterable[ReplayLine]) -> pd.DataFrame:
    """List decisions in the order of time and group; equal ones in a row become one row, with the time of the first.

    Returns:
        Columns ``at`` (epoch seconds), ``group``, ``policy``, ``outcome``, ``reason``, ``size`` (such as ``2 → 3``) and
        ``ticks``, which counts the decisions that a row stands for. A change of size stands for itself alone.
    """
    rows = [
        (
            line.at,
            line.group,
            line.policy or "–",
            line.outcome.value,
            line.reason.value,
            _sizes(line),
            line.desired_from != line.desired_to,
        )
        for line in lines
    ]
    table = pd.DataFrame(rows, columns=["at", "group", *_COMPARED, "resized"]).sort_values(
        ["at", "group"], kind="stable"
    )
    begins = table["resized"] | (table[_COMPARED] != table.groupby("group")[_COMPARED].shift()).any(axis=1)
    stretches = table.groupby([table["group"], begins.groupby(table["group"]).cumsum()])
    return table.assign(ticks=stretches["at"].transform("size"))[begins].drop(columns="resized")


def comparison(first: Sequence[Run], second: Sequence[Run]) -> pd.DataFrame:
    """Put the figures of two replays side by side: of groups that are in both, and where both know them.

    Returns:
        Columns ``group``, ``figure``, ``value_first`` and ``value_second``, in the order of groups.
    """
    return _figures(first).merge(_figures(second), on=["group", "figure"], suffixes=("_first", "_second")).dropna()


def _figures(runs: Sequence[Run]) -> pd.DataFrame:
    rows = [{"group": run.group, **asdict(run.tally)} for run in runs]
    tallies = pd.DataFrame(rows, columns=["group", *_FIGURES])
    long = tallies.rename(columns=_FIGURES).melt(id_vars="group", var_name="figure")
    return long.sort_values("group", kind="stable")


def _sizes(line: ReplayLine) -> str:
    before, after = ("–" if size is None else str(size) for size in (line.desired_from, line.desired_to))
    return after if before == after else f"{before} → {after}"
