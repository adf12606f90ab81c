"""Whether every policy that could shrink a group is for it: who says nothing does not agree."""

from __future__ import annotations

from trigger.policies.tracking import could_shrink, wished
from trigger.verdicts import Advice, Aim, Evaluation


def anybody_disagrees(base: int, in_service: int, evaluation: Evaluation | None) -> bool:
    """Whether a policy that could shrink the group does not ask for it.

    One that is not ready does not; nor does one that is ready with a target that the size fits. The rule stands in
    `trigger.guards.combine`. Without an evaluation nobody is asked.
    """
    advices = () if evaluation is None else evaluation.advices
    return any(could_shrink(base, advice.action) and not _agrees(advice, base, in_service) for advice in advices)


def _agrees(advice: Advice, base: int, in_service: int) -> bool:
    fits = isinstance(advice.adjustment, Aim) and wished(base, in_service, advice.adjustment) >= base
    return advice.reason is None and not fits
