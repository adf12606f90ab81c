"""Whether every policy that could shrink a group is for it: who says nothing does not agree."""

from __future__ import annotations

from trigger.sizing import resized
from trigger.verdicts import Evaluation


def anybody_disagrees(base: int, evaluation: Evaluation | None) -> bool:
    """Whether a policy that could shrink the group is not ready; whoever asks is, or it would not ask.

    The rule stands in `trigger.combine`. Without an evaluation nobody is asked.
    """
    advices = () if evaluation is None else evaluation.advices
    return any(
        advice.reason is not None and any(resized(base, choice) < base for choice in advice.choices)
        for advice in advices
    )
