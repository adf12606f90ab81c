"""Conditions: a counter, an operator and a threshold. Made here, one compares the average across members."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from config.model.catalogue import Compare, Condition
from config.model.sections import Section
from config.model.where import dotted
from config.units import ConditionId, PolicyId
from handler.cloudstack_api import counters
from handler.cloudstack_api.call import Call, JobResult, Lazily, ListResult, begun, changeable, ended
from handler.cloudstack_api.faults import in_use, wrong
from handler.cloudstack_api.handles import new_uuid
from handler.cloudstack_api.owners import refuse_another_owner
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.relations import groups_of_condition, refuse_used, running_of
from handler.cloudstack_api.rendering import Shown, Value
from handler.cloudstack_api.view import View
from handler.operations.declaration_proposals import entries

_OPERATORS: Final[Mapping[str, Compare]] = {
    "GT": Compare.ABOVE,
    "GE": Compare.AT_LEAST,
    "LT": Compare.BELOW,
    "LE": Compare.AT_MOST,
    "EQ": Compare.EQUALS,
}
_WORDS: Final = {compare: word for word, compare in _OPERATORS.items()}
_COMPARISONS: Final = frozenset(compare.value for compare in Compare)


def shown(view: View, entity_id: str) -> Shown:
    """Return the fields of a condition; one with an expression has neither a counter nor an operator."""
    key = Section.CONDITIONS, entity_id
    found = view.catalogue.conditions[ConditionId(entity_id)]
    fields: dict[str, Value] = {"id": view.uuid(key)}
    if isinstance(found, Condition):
        counter = counters.shown(view, found.counter)
        whole = found.threshold.is_integer()
        fields |= {
            "threshold": int(found.threshold) if whole else found.threshold,
            "relationaloperator": _WORDS[found.compare],
            "counterid": counter["id"],
            "countername": counter["name"],
            "counter": counter,
        }
    return {**fields, **view.owner(key)}


async def create(call: Call) -> JobResult:
    """Carry out createCondition."""
    arguments, view = call.arguments, call.view
    refuse_another_owner(arguments, view.by)
    comparison = _comparison(arguments)
    counter = view.find(arguments, "counterid", Section.COUNTERS)
    _refuse_unoffered(view, counter)
    name = _free_name(view, counter, arguments)
    made = await call.changes.make(Section.CONDITIONS, name, {"counter": counter, **comparison}, {})
    return begun(made, name)


async def update(call: Call) -> JobResult:
    """Carry out updateCondition."""
    arguments, view = call.arguments, call.view
    key = changeable(call, Section.CONDITIONS)
    comparison = _comparison(arguments)
    running = running_of(view, groups_of_condition(view, key[1]))
    if running:
        count = len(running)
        raise in_use(f"Cannot update condition as it is being used in {count} vm groups NOT in Disabled state.")
    before = entries(view.declared, Section.CONDITIONS)[key[1]]
    kept = {name: value for name, value in before.items() if name not in _COMPARISONS}
    await call.changes.replace(key, {**kept, **comparison})
    return ended(view, key)


async def delete(call: Call) -> JobResult:
    """Carry out deleteCondition."""
    key = changeable(call, Section.CONDITIONS)
    text = "Cannot delete Condition when it is in use by one or more AutoScale Policies."
    refuse_used(call.view, key, in_use(text))
    done = ended(call.view, key, is_gone=True)
    await call.changes.delete(key)
    return done


async def listed(call: Call) -> ListResult:
    """Carry out listConditions."""
    arguments, view = call.arguments, call.view
    ids = view.listed(arguments, Section.CONDITIONS)
    policy = view.wanted(arguments, "policyid", Section.POLICIES)
    if policy is not None:
        ids = [entity_id for entity_id in ids if entity_id in view.catalogue.policies[PolicyId(policy)].when]
    counter = view.wanted(arguments, "counterid", Section.COUNTERS)
    if counter is not None:
        ids = [entity_id for entity_id in ids if counter in view.catalogue.conditions[ConditionId(entity_id)].counters]
    return ListResult(kind="condition", objects=Lazily(ids, partial(shown, view)))


def _refuse_unoffered(view: View, counter: str) -> None:
    """Refuse a counter that every caller sees, and that the caller's account may not name.

    Raises:
        CloudstackFault: the counter is account root's, and not among what the account may use.
    """
    account, key = view.by.account, (Section.COUNTERS.value, counter)
    known = view.accounts.named(account)
    if known is None or account == view.account((Section.COUNTERS, counter)):
        return
    if not any(key in offered for offered in view.declared.offers(known.uses).values()):
        raise wrong(f"account {account} may not use this counter: an admin adds {dotted(key)} to the account's uses")


def _comparison(arguments: Arguments) -> Mapping[str, int]:
    """Return the comparison of a request as a document has it."""
    operator, threshold = arguments.need("relationaloperator").upper(), arguments.need_number("threshold")
    if operator not in _OPERATORS:
        raise wrong(f"The Operator {operator} does not exist; Unable to create Condition.")
    if threshold < 0:
        raise wrong(f"The threshold {threshold} must be equal to or greater than 0.")
    return {_OPERATORS[operator].value: threshold}


def _free_name(view: View, counter: str, arguments: Arguments) -> str:
    """Return a display name: conditions have none in CloudStack, and more than one may say the same."""
    name = view.name((Section.COUNTERS, counter))[:40]
    operator, threshold = arguments.need("relationaloperator").upper(), arguments.need_number("threshold")
    return f"{name} {operator} {threshold} {new_uuid()[:8]}"
