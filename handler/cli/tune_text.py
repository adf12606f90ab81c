"""What `trimtab tune` prints: the frontier as a table and a picture of characters, and what to change in the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from config.errors import Refused
from config.units import format_span
from handler.cli.columns import Column, table
from handler.cli.terminal import lines, show
from handler.tuning.results import Tuning, diff, edited

if TYPE_CHECKING:
    from handler.tuning.outcomes import Outcome
    from handler.tuning.parameters import Candidate
    from handler.tuning.preparing import DeclaredFile

_WIDE, _HIGH = 60, 12
_WORDS = ("lean", "calm", "safe")
_MOST_ROWS = 16
"""Of the frontier: about a screen; --out writes them all."""


def tuning_page(declared: DeclaredFile, tuning: Tuning) -> None:
    """Print a group."""
    span = format_span(tuning.span)
    lines([f"{tuning.group}: {len(tuning.outcomes)} settings over {span}; over: minutes with {tuning.limit}"])
    show(table(_columns(tuning), _rows(tuning), nothing="no settings"))
    lines(scatter(tuning))
    for proposal in tuning.proposals:
        lines(["", f"{proposal.word}: {_words(proposal.outcome, tuning.outcomes[tuning.today])}"])
        patch, why = _patch(declared, tuning, proposal.candidate)
        lines(patch or [f"  no patch: {why}" if why else "  nothing to change: it is today's setting"])
    if not any(tuning.goal.kept(each.outcome, tuning.span) for each in tuning.proposals):
        lines(["", f"no setting keeps the goal: {_goal(tuning)}"])


def overview(tunings: Sequence[Tuning]) -> None:
    """Print the member-hours of several groups, today and by each proposal, the greatest saving first."""
    lines([""])
    rows = sorted(tunings, key=lambda each: (-_saved(each), each.group))
    proposed: list[Column[Tuning]] = [
        Column(word.upper(), lambda row, word=word: _hours_by(row, word))  # type: ignore[misc]  # bound now
        for word in _WORDS
    ]
    columns = [
        Column("GROUP", lambda row: row.group),
        Column("TODAY", lambda row: f"{_hours_today(row):,.2f}"),
        *proposed,
    ]
    show(table(columns, rows, nothing="no groups"))
    today, saved = sum(map(_hours_today, tunings)), sum(map(_saved, tunings))
    lines([f"all: {today:,.2f} member-hours, {_change(today - saved, today)} with the lean settings"])


def _hours_today(tuning: Tuning) -> float:
    return tuning.outcomes[tuning.today].hours


def _saved(tuning: Tuning) -> float:
    """Return the member-hours that the lean proposal saves; 0: there is none."""
    lean = _proposed(tuning, "lean")
    return 0.0 if lean is None else _hours_today(tuning) - lean.hours


def _hours_by(tuning: Tuning, word: str) -> str:
    outcome = _proposed(tuning, word)
    return "–" if outcome is None else f"{outcome.hours:,.2f} ({_change(outcome.hours, _hours_today(tuning))})"


def _proposed(tuning: Tuning, word: str) -> Outcome | None:
    return next((each.outcome for each in tuning.proposals if word in each.word.split(", ")), None)


def plain(declared: DeclaredFile, tuning: Tuning) -> dict[str, object]:
    """Return a group as JSON's types."""

    def one(candidate: Candidate) -> dict[str, object]:
        return {"setting": dict(tuning.setting(candidate)), "outcome": asdict(tuning.outcomes[candidate])}

    return {
        "group": tuning.group,
        "seconds": tuning.span,
        "limit": tuning.limit,
        "goal": {
            "over": tuning.goal.over if math.isfinite(tuning.goal.over) else None,
            "changes": tuning.goal.changes,
        },
        "tried": len(tuning.outcomes),
        "today": one(tuning.today),
        "against": None if tuning.against is None else asdict(tuning.against),
        "frontier": [one(candidate) for candidate in tuning.frontier],
        "proposals": [
            {
                "choice": each.word,
                **one(each.candidate),
                **_plain_patch(*_patch(declared, tuning, each.candidate)),
            }
            for each in tuning.proposals
        ],
    }


def _patch(declared: DeclaredFile, tuning: Tuning, candidate: Candidate) -> tuple[Sequence[str], str]:
    """Return the lines of the file to change, and why a value cannot be replaced where it stands; empty: all can."""
    try:
        return diff(declared, edited(declared, tuning, candidate)), ""
    except Refused as error:
        return (), str(error)


def _plain_patch(patch: Sequence[str], why: str) -> dict[str, object]:
    return {"diff": None, "refused": why} if why else {"diff": "\n".join(patch)}


def _goal(tuning: Tuning) -> str:
    over = [f"{tuning.goal.over:.4g} minutes over"] if math.isfinite(tuning.goal.over) else []
    calm = [] if tuning.goal.changes is None else [f"{tuning.goal.changes:g} changes"]
    return f"at most {' and '.join(over + calm)} a day"


def _words(outcome: Outcome, today: Outcome) -> str:
    return (
        f"{outcome.hours:,.1f} member-hours ({_change(outcome.hours, today.hours)}), {outcome.over:,.1f} minutes over "
        f"(today {today.over:,.1f}), {outcome.changes} changes (today {today.changes})"
    )


def _change(now: float, before: float) -> str:
    return f"{(now / before - 1.0) * 100.0:+.1f} %" if before else "today none"


def _rows(tuning: Tuning) -> list[tuple[str, Mapping[str, str], Outcome]]:
    """Return today's setting, the proposals, and as many others of the frontier as fit, by member-hours."""
    named = [tuning.today, *(each.candidate for each in tuning.proposals)]
    others = [each for each in tuning.frontier if each not in named]
    stride = -(-len(others) // _MOST_ROWS) or 1
    listed = sorted(dict.fromkeys([*named, *others[::stride]]), key=lambda each: tuning.outcomes[each].costs)
    rows = [(tuning.choice(each), tuning.setting(each), tuning.outcomes[each]) for each in listed]
    return [*rows, ("against", {}, tuning.against)] if tuning.against is not None else rows


def _columns(tuning: Tuning) -> list[Column[tuple[str, Mapping[str, str], Outcome]]]:
    settings = [
        Column(
            parameter.name.partition(".")[2].upper(),
            lambda row, name=parameter.name: row[1].get(name, "–"),  # type: ignore[misc]  # bound now
        )
        for parameter in tuning.parameters
    ]
    return [
        Column("", lambda row: row[0]),
        Column("MEMBER-HOURS", lambda row: f"{row[2].hours:,.2f}"),
        Column("OVER", lambda row: f"{row[2].over:,.1f}"),
        Column("CHANGES", lambda row: str(row[2].changes)),
        *settings,
    ]


def scatter(tuning: Tuning) -> Iterator[str]:
    """Draw the settings with characters: member-hours to the right, minutes over upwards; best is bottom left."""
    outcomes = list(tuning.outcomes.values())
    hours, over = [each.hours for each in outcomes], [each.over for each in outcomes]
    cells = [[" "] * _WIDE for _ in range(_HIGH)]
    marked: list[tuple[Outcome, str]] = [(each, "·") for each in outcomes]
    marked += [(tuning.outcomes[each], "o") for each in tuning.frontier]
    marked += [(tuning.outcomes[tuning.today], "T")]
    marked += [(each.outcome, each.word[0].upper()) for each in tuning.proposals]
    for outcome, mark in marked:
        column, row = _at(outcome.hours, hours, _WIDE), _at(outcome.over, over, _HIGH)
        cells[_HIGH - 1 - row][column] = mark
    yield ""
    for number, line in enumerate(cells):
        edge = f"{max(over):>8,.1f}" if number == 0 else f"{min(over):>8,.1f}" if number == _HIGH - 1 else " " * 8
        yield f"{edge} │{''.join(line).rstrip()}"
    yield f"{'':8} └{'─' * _WIDE}"
    low, high = f"{min(hours):,.1f}", f"{max(hours):,.1f} member-hours"
    yield f"{'':10}{low}{high:>{_WIDE - len(low)}}"
    yield f"{'':10}T today · tried o frontier L lean C calm S safe"


def _at(value: float, values: Sequence[float], cells: int) -> int:
    low, high = min(values), max(values)
    return round((value - low) / (high - low) * (cells - 1)) if high > low else 0
