"""What a look at a balancer has found that a person should know before members depend on it."""

from __future__ import annotations

from dataclasses import dataclass

from config.units import BalancerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One finding, as a value."""

    balancer: BalancerId
    grave: bool
    """Members cannot be served as declared. Otherwise: they can, and it could be better."""
    words: str
    """What is so, and how to mend it; never a secret."""
