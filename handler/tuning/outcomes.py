"""What settings come to, and which of them are worth choosing. Pure.

# Note [The frontier]

A setting is on the frontier if no other is at least as good in all three of member-hours, minutes over the limit and
changes of size, and better in one. Which of them is best is for a person to say; three answers are common:

=======  =============================================================================================================
lean     the fewest member-hours within the goal
calm     the fewest changes within the goal, for no more member-hours than today
safe     the fewest minutes over the limit, for no more member-hours than today
=======  =============================================================================================================

Ties go to what is better in the other two, and then to what is nearest to today's setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from config.units import Seconds
from handler.tuning.parameters import Candidate

_DAY: Seconds = 86400.0
_SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one setting came to over the time that was replayed."""

    hours: float
    """Member-hours, from the order of each member to the end of its draining."""
    over: float
    """Minutes in which the load was above what the members in service may carry."""
    changes: int
    """How often the desired size rose or fell."""
    reversals: int
    """How often its direction changed."""

    @property
    def costs(self) -> tuple[float, float, float]:
        """What is to be small."""
        return self.hours, self.over, float(self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a setting must keep to."""

    over: float
    """Minutes a day."""
    changes: float | None = None
    """A day; ``None``: any number."""

    def kept(self, outcome: Outcome, span: Seconds) -> bool:
        """Tell whether an outcome over so long a time keeps to it."""
        days = span / _DAY
        calm = self.changes is None or outcome.changes <= self.changes * days + _SAME
        return outcome.over <= self.over * days + _SAME and calm


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A setting worth choosing."""

    word: str
    """``lean``, ``calm`` or ``safe``; several, if one setting is all of them: ``lean, calm``."""
    candidate: Candidate
    outcome: Outcome


Outcomes = Mapping[Candidate, Outcome]


def as_today(outcome: Outcome, span: Seconds) -> Goal:
    """Return the goal of being over the limit for no longer than today's setting."""
    return Goal(over=outcome.over / (span / _DAY))


def frontier(outcomes: Outcomes) -> tuple[Candidate, ...]:
    """Return the settings that no other beats, by member-hours. See Note [The frontier].

    Of settings with the same outcome, the first one stands for all.
    """
    first: dict[tuple[float, float, float], Candidate] = {}
    for candidate, outcome in outcomes.items():
        first.setdefault(outcome.costs, candidate)
    best: list[tuple[float, float, float]] = []
    for costs in sorted(first):
        if not any(all(one <= other for one, other in zip(better, costs, strict=True)) for better in best):
            best.append(costs)
    return tuple(first[costs] for costs in best)


def proposals(outcomes: Outcomes, today: Candidate, goal: Goal, span: Seconds) -> tuple[Proposal, ...]:
    """Choose up to three settings. See Note [The frontier].

    Args:
        outcomes: of all settings that were tried.
        today: the setting of the file, which was tried, too.
        goal: what lean and calm must keep to.
        span: the time that was replayed.
    """
    hours = outcomes[today].hours
    within = [each for each in outcomes if goal.kept(outcomes[each], span)]
    affordable = [each for each in outcomes if outcomes[each].hours <= hours + _SAME]
    both = [each for each in within if each in set(affordable)]
    chosen: dict[Candidate, list[str]] = {}
    for word, among, key in (
        ("lean", within, lambda each: each.costs),
        ("calm", both, lambda each: (each.changes, each.hours, each.over)),
        ("safe", affordable, lambda each: (each.over, each.hours, each.changes)),
    ):
        if among:
            chosen.setdefault(_least(among, outcomes, today, key), []).append(word)
    return tuple(
        Proposal(word=", ".join(words), candidate=candidate, outcome=outcomes[candidate])
        for candidate, words in chosen.items()
    )


def _least(
    among: Sequence[Candidate],
    outcomes: Outcomes,
    today: Candidate,
    key: Callable[[Outcome], tuple[float, ...]],
) -> Candidate:
    return min(among, key=lambda each: (key(outcomes[each]), _changed(each, today), each))


def _changed(candidate: Candidate, today: Candidate) -> tuple[int, float]:
    """Return how many values differ from today's, and by how much altogether, in parts of today's."""
    apart = [abs(one - other) / (abs(other) or 1.0) for one, other in zip(candidate, today, strict=True)]
    return sum(each > 0 for each in apart), sum(apart)
