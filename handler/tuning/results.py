"""What tuning a group found, as people and programs take it: the choice, the lines of the file that change, a table."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.document.splicing import spliced
from config.units import GroupId, Seconds
from handler.tuning.outcomes import Goal, Outcome, Proposal, as_today, frontier, proposals
from handler.tuning.parameters import Candidate, Parameter, today_of
from handler.tuning.preparing import DeclaredFile

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A group after the search."""

    group: GroupId
    parameters: tuple[Parameter, ...]
    limit: str
    """By what minutes over the limit are counted, in words."""
    span: Seconds
    """The time that was replayed."""
    goal: Goal
    outcomes: Mapping[Candidate, Outcome]
    frontier: tuple[Candidate, ...]
    proposals: tuple[Proposal, ...]
    against: Outcome | None = None
    """Of another file's setting."""

    @property
    def today(self) -> Candidate:
        """The setting of the file."""
        return today_of(self.parameters)

    def setting(self, candidate: Candidate) -> Mapping[str, str]:
        """Return the values of a setting as they are written, by the names of their parameters."""
        return {
            parameter.name: parameter.text(value) for parameter, value in zip(self.parameters, candidate, strict=True)
        }

    def choice(self, candidate: Candidate) -> str:
        """Return what a setting is: ``today``, one of the proposals, several of them, or nothing."""
        words = [each.word for each in self.proposals if each.candidate == candidate]
        return ", ".join((["today"] if candidate == self.today else []) + words)


def tuning_of(  # noqa: PLR0913  # each is a part of the value
    group: GroupId,
    parameters: tuple[Parameter, ...],
    outcomes: Mapping[Candidate, Outcome],
    *,
    limit: str,
    span: Seconds,
    goal: Goal | None,
    against: Outcome | None,
) -> Tuning:
    """Find the frontier among outcomes, and choose from it. ``goal``: ``None``: no longer over the limit than today."""
    today = today_of(parameters)
    wanted = as_today(outcomes[today], span) if goal is None else goal
    return Tuning(
        group=group,
        parameters=parameters,
        limit=limit,
        span=span,
        goal=wanted,
        outcomes=outcomes,
        frontier=frontier(outcomes),
        proposals=proposals(outcomes, today, wanted, span),
        against=against,
    )


def edited(file: DeclaredFile, tuning: Tuning, candidate: Candidate) -> str:
    """Return the file's text with a setting: the lines that differ, and nothing else.

    Raises:
        Refused: a value cannot be replaced where it stands.
    """
    changed = {
        parameter.where: parameter.text(value)
        for parameter, value in zip(tuning.parameters, candidate, strict=True)
        if value != parameter.today
    }
    return spliced(file.text, file.reading, changed) if changed else file.text


def diff(file: DeclaredFile, after: str) -> Sequence[str]:
    """Return the lines of the file that change, as a patch of it."""
    before = file.text.splitlines(keepends=True)
    lines = difflib.unified_diff(before, after.splitlines(keepends=True), file.reading.file, file.reading.file, n=0)
    return [line.rstrip("\n") for line in lines]


def table(tunings: Sequence[Tuning]) -> pd.DataFrame:
    """Put every setting that was tried into a table. Import of pandas takes 0.3 s.

    Returns:
        Columns ``group``, one for each parameter, ``member_hours``, ``minutes_over``, ``changes``, ``reversals``,
        ``hours`` (the time that was replayed), ``frontier`` and ``choice``; by group and member-hours.
    """
    import pandas as pd

    rows = [
        {
            "group": tuning.group,
            **tuning.setting(candidate),
            "member_hours": round(outcome.hours, 4),
            "minutes_over": round(outcome.over, 4),
            "changes": outcome.changes,
            "reversals": outcome.reversals,
            "hours": round(tuning.span / 3600.0, 4),
            "frontier": candidate in set(tuning.frontier),
            "choice": tuning.choice(candidate),
        }
        for tuning in tunings
        for candidate, outcome in tuning.outcomes.items()
    ]
    return pd.DataFrame(rows).sort_values(["group", "member_hours", "minutes_over"], kind="stable")
