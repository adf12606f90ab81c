"""Choose the winner among requests of the same moment.

# Note [Combining]

==========================================  ===================================  ============================
Among the requests that pass their guards   this one wins                        and the others are
==========================================  ===================================  ============================
requests of persons                         the largest size                     OUTBID
scale-outs, with or without scale-ins       the largest size                     OUTBID
scale-ins, and a refused scale-out          none: even a refused scale-out       scale-ins OUTBID
                                            stops scale-ins
only scale-ins                              the largest size: fewest leave       OUTBID
a policy's scale-in, while another policy   none, or the winner of a row above   DISAGREED
that could shrink the group is not ready
==========================================  ===================================  ============================

A policy *could shrink the group* if carrying it out now would leave fewer members; ``add``, ``remove: 0%`` and a
``set`` that is not below the present size have no vote. For steps, any one that would leave fewer is enough, since the
step is not known in advance, and a target can always be missed. A policy with a vote agrees only if it is ready (and a
target only if it asks for fewer members now): NOT_MET disagrees, HOLDING does not agree yet, and BLIND cannot agree. If
missing data counted as agreement, a lost source would lift the veto of the policy that reads it, and would so cause a
scale-in. Two policies that remove members therefore both have to be ready: AWS ("in only if all agree") and Azure ("in:
all rules") have the same rule.
An alarm from outside needs no agreement: other data led to it.

Equal sizes: the smaller request id wins, so the order of requests never matters. Source: DESIGN.md "Sizing", combining.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trigger.guards.gate import Bid
from trigger.policies.tracking import any_policy_disagrees
from trigger.reasons import Reason
from trigger.requests import RequestCause
from trigger.verdicts import Direction, Evaluation


def combined(
    bids: Sequence[Bid], base: int, in_service: int, evaluation: Evaluation | None
) -> tuple[tuple[Bid, ...], Bid | None]:
    """Choose the winner; the bids come back in their order, with OUTBID or DISAGREED where they lost.

    Args:
        bids: one per request.
        base: the desired size from which all of them started.
        in_service: members that carry the load.
        evaluation: its policies have to agree to a scale-in; without one, none has to.
    """
    if not bids:
        return (), None
    refused = any(map(_needs_consent, bids)) and any_policy_disagrees(base, in_service, evaluation)
    agreed = tuple(_lost(bid, Reason.DISAGREED) if refused and _needs_consent(bid) else bid for bid in bids)
    running = [bid for bid in agreed if bid.size is not None]
    winner = _winner(agreed, running)
    return tuple(bid if bid.size is None or bid is winner else _lost(bid, Reason.OUTBID) for bid in agreed), winner


def _winner(bids: Sequence[Bid], running: Sequence[Bid]) -> Bid | None:
    for field in (
        [bid for bid in running if bid.answer.request.cause is RequestCause.PERSON],
        [bid for bid in running if bid.direction is Direction.OUT],
    ):
        if field:
            return min(field, key=_rank)
    if any(bid.direction is Direction.OUT for bid in bids):
        return None
    return min(running, key=_rank, default=None)


def _rank(bid: Bid) -> tuple[int, str, str, str]:
    """Return a key whose smallest value wins: the largest size, then names."""
    request = bid.answer.request
    return -(bid.size or 0), request.id, request.cause.value, request.by


def _needs_consent(bid: Bid) -> bool:
    by_policy = bid.answer.request.cause is RequestCause.POLICY
    waits = bid.answer.reason is Reason.STABILISING  # if a policy disagrees, DISAGREED is the better answer
    return by_policy and bid.direction is Direction.IN and (bid.size is not None or waits)


def _lost(bid: Bid, reason: Reason) -> Bid:
    return replace(bid, answer=replace(bid.answer, reason=reason, until=None), size=None)
