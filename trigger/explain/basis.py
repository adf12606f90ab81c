"""Keep all inputs of a decision, so that the decision code can repeat it with the same result.

An `Explanation` shows people the decision and its reason. It leaves out inputs that changed nothing (a budget that was
not reached, the exact share of members that answered), so it is not enough to decide again. Its `Basis` has all inputs.
A run-length span of history keeps the basis of its first evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from aggregator.frames import Aggregate, Frame, Insufficient, WindowKey
from aggregator.specs import window_keys
from config.model.catalogue import Catalogue, Group
from config.units import Moment, PolicyId
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.requests import Decision, Fleet, GroupState, Request, RequestCause, RequestOutcome
from trigger.verdicts import Evaluation, Foreseen, Hold, PolicyStreak


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """All inputs of one decision except the catalogue, whose digest is in the explanation."""

    at: Moment
    cells: tuple[Aggregate | Insufficient, ...] | None
    """In the order of the group's policies, their conditions and terms; ``None``: there was no evaluation, a request
    came between two ticks."""
    holds: Mapping[PolicyId, Hold | PolicyStreak] = field(default_factory=lambda: MappingProxyType({}))
    """The holds carried to this tick."""
    size: int | None = None
    """The desired size that conditions per member use."""
    foreseen: Mapping[PolicyId, Foreseen] = field(default_factory=lambda: MappingProxyType({}))
    """The results of its policies' forecasts."""
    requests: tuple[Request, ...]
    """From outside and of schedules; the requests of other policies follow from the evaluation."""
    fleet: Fleet
    state: GroupState
    """Before the decision."""


def basis_of(
    catalogue: Catalogue,
    group: Group,
    evaluation: Evaluation | None,
    decision: Decision,
    fleet: Fleet,
    state: GroupState,
) -> Basis | None:
    """Collect the inputs of a decision; ``None``: a reload has replaced the catalogue since the evaluation.

    Args:
        catalogue: the snapshot of the decision.
        group: as given to `trigger.decide.decide`.
        evaluation: likewise.
        decision: the result of `decide`.
        fleet: as given to `decide`.
        state: likewise.
    """
    cells = None if evaluation is None else _cells(catalogue, group, evaluation)
    if evaluation is not None and cells is None:
        return None
    kept = None if state.turn.queued is None else state.turn.queued.request  # the state already has this request
    return Basis(
        at=decision.at,
        cells=cells,
        holds={} if evaluation is None else evaluation.carried,
        size=None if evaluation is None else evaluation.size,
        foreseen={} if evaluation is None else _foreseen(evaluation),
        requests=tuple(_asked(decision.answers, kept)),
        fleet=fleet,
        state=state,
    )


def _asked(answers: Sequence[RequestOutcome], kept: Request | None) -> Iterator[Request]:
    """Yield the requests of others than policies. The one that was kept is among them only if it was made again.

    Then it stands before those of policies, as in the decision; one that expired or was displaced has no size.
    """
    of_policies = [place for place, answer in enumerate(answers) if answer.request.cause is RequestCause.POLICY]
    first = min(of_policies, default=len(answers))
    for place, answer in enumerate(answers):
        made = answer.request != kept or (place < first and answer.wanted is not None)
        if made and answer.request.cause is not RequestCause.POLICY:
            yield answer.request


def rerun(catalogue: Catalogue, group: Group, basis: Basis) -> tuple[Evaluation | None, Decision]:
    """Repeat an evaluation and its decision.

    Args:
        catalogue: with the recorded digest.
        group: as given to `trigger.decide.decide`.
        basis: the recorded inputs.

    Raises:
        ValueError: the catalogue needs other windows than were recorded.
    """
    evaluation = None
    if basis.cells is not None:
        cells = dict(zip(_keys(catalogue, group), basis.cells, strict=True))
        frame = Frame(group=group.id, at=basis.at, cells=cells)
        evaluation = evaluate(
            catalogue, group.id, frame, basis.holds, basis.at, size=basis.size, foreseen=basis.foreseen
        )
    own = () if evaluation is None else requests_from(catalogue, evaluation)
    requests = (*basis.requests, *own)
    return evaluation, decide(group, requests, basis.fleet, basis.state, basis.at, evaluation=evaluation)


def _cells(catalogue: Catalogue, group: Group, evaluation: Evaluation) -> tuple[Aggregate | Insufficient, ...] | None:
    """Return the judged cells; ``None``: a reload has replaced the catalogue, and it needs other cells."""
    advices = evaluation.advices
    if [advice.policy for advice in advices] != [*group.policies]:
        return None
    for advice in advices:
        if tuple(verdict.condition for verdict in advice.verdicts) != catalogue.policies[advice.policy].when:
            return None
    return tuple(cell for advice in advices for verdict in advice.verdicts for cell in verdict.cells)


def _foreseen(evaluation: Evaluation) -> Mapping[PolicyId, Foreseen]:
    return {
        advice.policy: advice.adjustment for advice in evaluation.advices if isinstance(advice.adjustment, Foreseen)
    }


def _keys(catalogue: Catalogue, group: Group) -> Iterator[WindowKey]:
    """List the windows of `Basis.cells`; a window that several conditions use appears for each of them."""
    for policy in (catalogue.policies[name] for name in group.policies):
        for name in policy.when:
            yield from window_keys(catalogue.conditions[name], policy, group)
