"""All that a plan is made from, at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from config.units import Instant
from handler.planning.desired import Definition, DesiredState, Limits
from handler.planning.plan import plan
from handler.planning.steps import Plan
from handler.planning.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One group: what is desired, what was seen, by which definition and within which limits it is planned."""

    desired: DesiredState
    world: World
    definition: Definition
    limits: Limits
    at: Instant
    """The moment of planning, shortly after ``world.at``."""

    def plan(self) -> Plan:
        """Say what to do at that moment. Equal snapshots give equal plans."""
        return plan(self.desired, self.world, self.definition, self.limits, self.at)
