"""What one decision was made of, whole: given to the decision code once more, it gives the same answer.

An `Explanation` says to people what was decided and why. It leaves out what changed nothing (a budget that was not
reached, the exact share of members heard), so by itself it cannot be decided again. Its `Basis` has all of it.
Of evaluations that history keeps run-length, it is that of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from aggregator.frames import Aggregate, Frame, Insufficient, WindowKey
from aggregator.specs import window_keys
from config.model.catalogue import Catalogue, Group
from config.units import Moment, PolicyId
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.requests import Decision, Fleet, GroupState, Request, RequestCause
from trigger.verdicts import Evaluation, Hold, PolicyStreak


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """Everything that went into one decision, beside the catalogue: its digest stands in the explanation."""

    at: Moment
    cells: tuple[Aggregate | Insufficient, ...] | None
    """In the order of the group's policies, their conditions and terms, as they were judged; ``None``: nothing was
    evaluated, somebody asked between two ticks."""
    holds: Mapping[PolicyId, Hold | PolicyStreak] = field(default_factory=lambda: MappingProxyType({}))
    """Those that were carried to this tick."""
    size: int | None = None
    """The desired size that conditions per member went by."""
    requests: tuple[Request, ...]
    """From outside and of schedules; those of other policies follow from what was evaluated."""
    fleet: Fleet
    state: GroupState
    """That the decision found."""


def basis_of(
    catalogue: Catalogue,
    group: Group,
    evaluation: Evaluation | None,
    decision: Decision,
    fleet: Fleet,
    state: GroupState,
) -> Basis | None:
    """Put down what a decision was made of; ``None``: it was evaluated by a catalogue that has been exchanged since.

    Args:
        catalogue: the snapshot by which it was decided.
        group: as given to `trigger.decide.decide`.
        evaluation: likewise.
        decision: its answer.
        fleet: as given to `decide`.
        state: likewise.
    """
    cells = None if evaluation is None else _cells(catalogue, group, evaluation)
    if evaluation is not None and cells is None:
        return None
    kept = None if state.turn.queued is None else state.turn.queued.request  # the state asks for it by itself
    return Basis(
        at=decision.at,
        cells=cells,
        holds={} if evaluation is None else evaluation.carried,
        size=None if evaluation is None else evaluation.size,
        requests=tuple(
            answer.request
            for answer in decision.answers
            if answer.request.cause is not RequestCause.POLICY and answer.request != kept
        ),
        fleet=fleet,
        state=state,
    )


def rerun(catalogue: Catalogue, group: Group, basis: Basis) -> tuple[Evaluation | None, Decision]:
    """Evaluate and decide once more, as the door does.

    Args:
        catalogue: of the digest that was recorded.
        group: as it was given to `trigger.decide.decide`.
        basis: what it was decided by.

    Raises:
        ValueError: the catalogue asks for other windows than were recorded.
    """
    evaluation = None
    if basis.cells is not None:
        cells = dict(zip(_keys(catalogue, group), basis.cells, strict=True))
        frame = Frame(group=group.id, at=basis.at, cells=cells)
        evaluation = evaluate(catalogue, group.id, frame, basis.holds, basis.at, size=basis.size)
    own = () if evaluation is None else requests_from(catalogue, evaluation)
    requests = (*basis.requests, *own)
    return evaluation, decide(group, requests, basis.fleet, basis.state, basis.at, evaluation=evaluation)


def _cells(catalogue: Catalogue, group: Group, evaluation: Evaluation) -> tuple[Aggregate | Insufficient, ...] | None:
    """The cells that were judged; ``None``: the catalogue has been exchanged since, and asks for others."""
    advices = evaluation.advices
    if [advice.policy for advice in advices] != [*group.policies]:
        return None
    for advice in advices:
        if tuple(verdict.condition for verdict in advice.verdicts) != catalogue.policies[advice.policy].when:
            return None
    return tuple(cell for advice in advices for verdict in advice.verdicts for cell in verdict.cells)


def _keys(catalogue: Catalogue, group: Group) -> Iterator[WindowKey]:
    """The windows of `Basis.cells`. What several conditions look at comes as often as they do."""
    for policy in (catalogue.policies[name] for name in group.policies):
        for name in policy.when:
            yield from window_keys(catalogue.conditions[name], policy, group)
