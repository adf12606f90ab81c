"""Whether other values could make a scale-in easier, or growth harder. Pure.

What is not known to be safe counts as easing: a window, a target, a condition of policies in both directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.model.adjustments import Adjustment
from config.model.catalogue import AdjustmentVerb, Catalogue, Holds
from config.model.where import Where, dotted
from config.units import PolicyId

_SAFE: Mapping[tuple[AdjustmentVerb, str], bool] = {
    (AdjustmentVerb.ADD, "duration"): False,
    (AdjustmentVerb.ADD, "add"): True,
    (AdjustmentVerb.REMOVE, "duration"): True,
    (AdjustmentVerb.REMOVE, "remove"): False,
    (AdjustmentVerb.REMOVE, "quiet_time"): True,
}
"""Direction of a policy, and one of its values → whether a greater one is safe; a smaller one then is not.
A scale-out's quiet time holds off growth as well as scale-ins, so no change of it is safe."""
_FIRES_BELOW = {"above": True, "at_least": True, "below": False, "at_most": False}
"""A threshold → whether a lower one makes the condition hold more often."""


def eased(catalogue: Catalogue, changes: Mapping[Where, tuple[float, float]]) -> tuple[str, ...]:
    """Return the values of which it is not certain that no scale-in becomes easier, and no growth harder.

    Args:
        catalogue: what is declared.
        changes: where a value stands → what it is and what it would be, in one unit.
    """
    return tuple(
        dotted(where)
        for where, (before, after) in changes.items()
        if before != after and not _is_safe(catalogue, where, rises=after > before)
    )


def _is_safe(catalogue: Catalogue, where: Where, *, rises: bool) -> bool:
    section, name, *keys = where
    if len(keys) != 1:
        return False
    if section == "policies":
        verb = _verb(catalogue, name)
        if verb is None or (keys[0] == "duration" and catalogue.policies[PolicyId(name)].holds is not Holds.THROUGHOUT):
            return False  # a longer average is another measure, and no longer wait
        return _SAFE.get((verb, keys[0])) is rises
    verbs = set(_users(catalogue, name))
    if len(verbs) != 1 or keys[0] not in _FIRES_BELOW:
        return False
    (only,) = verbs
    holds_more = _FIRES_BELOW[keys[0]] is not rises
    return (only is AdjustmentVerb.ADD and holds_more) or (only is AdjustmentVerb.REMOVE and not holds_more)


def _users(catalogue: Catalogue, condition: str) -> Iterator[AdjustmentVerb | None]:
    """Yield the direction of every policy that a condition has a part in; ``None``: of both, or unknown."""
    for policy in catalogue.policies.values():
        if condition in policy.when:
            yield _verb(catalogue, policy.id)


def _verb(catalogue: Catalogue, name: str) -> AdjustmentVerb | None:
    policy = catalogue.policies.get(PolicyId(name))
    adjustment = None if policy is None else policy.adjustment
    return adjustment.verb if isinstance(adjustment, Adjustment) and adjustment.verb is not AdjustmentVerb.SET else None
