"""How many of its conditions a policy needs: rules of `config.checks.catalogue`."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.adjustments import Steps
from config.model.catalogue import Catalogue


def reachable(catalogue: Catalogue) -> Iterator[Finding]:
    """More than there are can never hold; and steps go by a condition that must."""
    for policy in catalogue.policies.values():
        if policy.enough is not None and policy.enough > len(policy.when):
            message = f"at least {policy.enough} can never hold: when names {len(policy.when)}"
            yield Finding(("policies", policy.id, "match"), message, (("policies", policy.id, "when"),))
        elif isinstance(policy.adjustment, Steps) and policy.enough not in {None, len(policy.when)}:
            message = f"steps go by {policy.adjustment.by}, which must then hold: write match: all"
            yield Finding(("policies", policy.id, "match"), message, (("policies", policy.id, "steps"),))
