"""Who wins when several ask at the same moment.

# Note [Combining]

==========================================  ===================================  ============================
Of the wishes that their guards let pass    wins                                 and the others are
==========================================  ===================================  ============================
a person's (several: the largest size)      the person's                         OUTBID
outs, with or without ins                   the largest size                     OUTBID
ins, and an out that a guard refused        nobody: out beats in all the same    ins OUTBID
ins alone                                   the largest size: fewest leave       OUTBID
an in by a policy, while another policy     nobody, or a wish further up         DISAGREED
that could shrink the group is not ready
==========================================  ===================================  ============================

A policy *could shrink the group* if carrying it out now would leave fewer members; ``add``, ``remove: 0%`` and a
``set`` that is not below the present size have no opinion. Of steps, any one that would leave fewer is enough, since
nobody knows which will be taken, and a target can always be missed. One that could shrink the group agrees by being
ready (and a target by asking for fewer members now), and only so: NOT_MET says no, HOLDING says not yet, and BLIND
cannot say yes. If silence were taken as consent, losing a source would lift the veto of the policy that reads it, and
missing data would cause a scale-in. Two policies that remove members therefore both have to be ready: AWS ("in only if
all agree") and Azure ("in: all rules") read it so too.
An alarm from outside has made up its mind elsewhere, so nobody is asked.

Equal sizes: the smaller request id wins, so the order of asking never matters. Source: DESIGN.md "Sizing", combining.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trigger.guards.gate import Bid
from trigger.policies.tracking import anybody_disagrees
from trigger.reasons import Reason
from trigger.requests import RequestCause
from trigger.verdicts import Direction, Evaluation


def combined(
    bids: Sequence[Bid], base: int, in_service: int, evaluation: Evaluation | None
) -> tuple[tuple[Bid, ...], Bid | None]:
    """Choose the winner; the bids come back in their order, with OUTBID or DISAGREED where they lost.

    Args:
        bids: one per request.
        base: the desired size that all of them started from.
        in_service: members who bear the load.
        evaluation: whose policies are asked for consent to a scale-in; without one nobody is.
    """
    if not bids:
        return (), None
    refused = any(map(_needs_consent, bids)) and anybody_disagrees(base, in_service, evaluation)
    heard = tuple(_lost(bid, Reason.DISAGREED) if refused and _needs_consent(bid) else bid for bid in bids)
    running = [bid for bid in heard if bid.size is not None]
    winner = _winner(heard, running)
    return tuple(bid if bid.size is None or bid is winner else _lost(bid, Reason.OUTBID) for bid in heard), winner


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
    """Smallest is best: the largest size, then names."""
    request = bid.answer.request
    return -(bid.size or 0), request.id, request.cause.value, request.by


def _needs_consent(bid: Bid) -> bool:
    by_policy = bid.answer.request.cause is RequestCause.POLICY
    waits = bid.answer.reason is Reason.STABILISING  # because somebody disagrees: that is the better answer
    return by_policy and bid.direction is Direction.IN and (bid.size is not None or waits)


def _lost(bid: Bid, reason: Reason) -> Bid:
    return replace(bid, answer=replace(bid.answer, reason=reason, until=None), size=None)
