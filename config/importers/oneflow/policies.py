"""One policy of a role → a policy and its condition, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from config.document.places import Plain
from config.importers.oneflow.template import Adjust, AdjustmentType, ElasticityPolicy, OneflowRole, ScheduledPolicy
from config.model.adjustments import AdjustmentVerb, Rounding
from config.model.expressions import Dialect, Expression, names_of
from config.units import Seconds, format_span

Entry = Mapping[str, Plain]
"""A mapping as it is written in the declaration."""

_MOST_GROWTH = 1000
_MOST_SHRINKAGE = 100
"""Per cent."""
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmappable:
    """Why something does not stand in the declaration."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a policy does, as it is written."""

    verb: AdjustmentVerb
    entry: Entry


def action(adjust: Adjust) -> Action | Unmappable:
    """Translate what a policy does to the cardinality.

    >>> from config.importers.oneflow.template import Adjust, AdjustmentType
    >>> tenth = Adjust(type=AdjustmentType.PERCENTAGE_CHANGE, amount=-10, min_adjust_step=2)
    >>> dict(action(tenth).entry)
    {'remove': '10%', 'at_least': 2, 'rounding': 'truncate'}
    """
    match adjust.type:
        case AdjustmentType.CHANGE:
            if adjust.amount == 0:
                return Unmappable(why="adjust is 0, which changes nothing")
            verb = AdjustmentVerb.ADD if adjust.amount > 0 else AdjustmentVerb.REMOVE
            return Action(verb=verb, entry={verb.value: abs(adjust.amount)})
        case AdjustmentType.CARDINALITY:
            if adjust.amount < 0:
                return Unmappable(why=f"no role has {adjust.amount} VMs")
            return Action(verb=AdjustmentVerb.SET, entry={AdjustmentVerb.SET.value: adjust.amount})
        case AdjustmentType.PERCENTAGE_CHANGE:
            return _percentage(adjust)
        case _:
            assert_never(adjust.type)


def _percentage(adjust: Adjust) -> Action | Unmappable:
    if adjust.amount == 0:
        return Unmappable(why="OneFlow takes a VM away for 0 % each time, which is hardly intended")
    if adjust.amount > _MOST_GROWTH:
        return Unmappable(why=f"more than {_MOST_GROWTH} % cannot be written: write how many to add, with CHANGE")
    verb = AdjustmentVerb.ADD if adjust.amount > 0 else AdjustmentVerb.REMOVE
    percent = adjust.amount if verb is AdjustmentVerb.ADD else min(-adjust.amount, _MOST_SHRINKAGE)
    entry: dict[str, Plain] = {verb.value: f"{percent}%"}
    if adjust.min_adjust_step:
        entry["at_least"] = adjust.min_adjust_step
    return Action(verb=verb, entry=entry | {"rounding": Rounding.TRUNCATE.value})


def condition(expression: Expression) -> Entry | Unmappable:
    """Translate an expression: as it stands, to be read as OneFlow reads it."""
    names = [name.name for name in names_of(expression.tree)]
    if not names:
        return Unmappable(why="the expression names nothing, so that it always comes to the same")
    if quoted := next((name for name in names if not name[0].isalpha()), None):
        return Unmappable(why=f"OneFlow looks {quoted} up with its quotes and so never finds it: remove them")
    if any(len(name) > _LONGEST_NAME for name in names):
        return Unmappable(why=f"a name of more than {_LONGEST_NAME} letters cannot be written")
    return {"expression": expression.text, "dialect": Dialect.ONEFLOW.value}


def in_a_row(policy: ElasticityPolicy) -> Entry:
    """Translate ``period_number`` and ``period``. A first evaluation that is true is enough if neither is there."""
    times, every = max(1, policy.period_number or 0), policy.period or 0.0
    if times == 1 and every == 0:
        return {}
    rule: dict[str, Plain] = {"times": times}
    if every:
        rule["every"] = format_span(every)
    return {"in_a_row": rule}


def quiet_time(policy: ElasticityPolicy | ScheduledPolicy, role: OneflowRole) -> Entry:
    """Translate the cooldown: the policy's, or else the role's; with neither it is the server's."""
    cooldown: Seconds | None = role.cooldown if policy.cooldown is None else policy.cooldown
    return {} if cooldown is None else {"quiet_time": format_span(cooldown)}
