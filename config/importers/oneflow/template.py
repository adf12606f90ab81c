"""A service template of OneFlow, as the import sees it. Source: its schema, 6.8 to 7.4; 6.x and 7.x forms alike."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.model.expressions import Expression
from config.model.where import Where
from config.units import Seconds


class AdjustmentType(enum.Enum):
    """What ``adjust`` means; OneFlow tells upper from lower case."""

    CHANGE = "CHANGE"
    """So many VMs more, or fewer."""
    CARDINALITY = "CARDINALITY"
    """So many VMs."""
    PERCENTAGE_CHANGE = "PERCENTAGE_CHANGE"
    """So many percent of the VMs more, or fewer: toward zero, but at least one VM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjust:
    """What a policy does to the cardinality."""

    type: AdjustmentType
    amount: int
    """Below 0: fewer."""
    min_adjust_step: int | None
    """Looked at for percentages only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticityPolicy:
    """Adjusts when its expression was true so often in a row."""

    where: Where
    adjust: Adjust
    expression: Expression
    period_number: int | None
    period: Seconds | None
    cooldown: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledPolicy:
    """Adjusts at times; exactly one of both is there."""

    where: Where
    adjust: Adjust
    recurrence: str | None
    start_time: str | None
    cooldown: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OneflowRole:
    """Some VMs of one kind."""

    where: Where
    name: str
    type: str
    """``vm``, or ``vr`` for virtual routers, which do not scale."""
    template: str | None
    """The VM template, in words: ``template_id`` in 7.x, ``vm_template`` in 6.x."""
    cardinality: int
    min_vms: int | None
    max_vms: int | None
    cooldown: Seconds | None
    elasticity: tuple[ElasticityPolicy, ...]
    scheduled: tuple[ScheduledPolicy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A key that means nothing to the import, and why."""

    where: Where
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A service: some roles."""

    where: Where
    name: str
    roles: tuple[OneflowRole, ...]
    leftovers: tuple[Leftover, ...]
    """Of the service, of its roles and their policies, in the order of the text."""


class NoteKind(enum.Enum):
    """What became of something; in the order in which people want to know it."""

    MAPPED = "mapped"
    """It stands in the declaration, and does there what it did."""
    KEPT = "kept"
    """OneFlow's own reading of it is kept, where Trimtab's would be another."""
    DIFFERS = "differs"
    """Trimtab's reading counts, and it is another than OneFlow's."""
    UNMAPPED = "unmapped"
    """It does not stand in the declaration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sentence about one part."""

    kind: NoteKind
    where: Where
    """Which part of the template; empty: all of it."""
    text: str
