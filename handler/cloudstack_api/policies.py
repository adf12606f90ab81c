"""Policies: conditions that must all hold for a duration, and one member more or less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from config.document.places import Plain
from config.model.adjustments import Adjustment, AdjustmentVerb
from config.model.catalogue import Condition, Policy
from config.model.sections import Section
from config.units import ConditionId, GroupId, PolicyId
from handler.cloudstack_api import conditions
from handler.cloudstack_api.call import Call, JobResult, Lazily, ListResult, begun, changeable, ended
from handler.cloudstack_api.faults import wrong
from handler.cloudstack_api.handles import new_uuid
from handler.cloudstack_api.owners import refuse_another_owner
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.relations import groups_of_policy, refuse_running, refuse_used
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.view import View
from handler.operations.declaration_proposals import entries

UP: Final = "SCALEUP"
DOWN: Final = "SCALEDOWN"
_CHANGES: Final[Mapping[str, Mapping[str, int]]] = {UP: {"add": 1}, DOWN: {"remove": 1}}
_QUIET_TIME: Final = 300


def action_of(policy: Policy) -> str | None:
    """Return a policy's action; ``None``: it has another than to add or remove, which CloudStack does not know."""
    change = policy.adjustment
    if not isinstance(change, Adjustment):
        return None
    return {AdjustmentVerb.ADD: UP, AdjustmentVerb.REMOVE: DOWN}.get(change.verb)


def shown(view: View, entity_id: str) -> Shown:
    """Return the fields of a policy."""
    key, policy = (Section.POLICIES, entity_id), view.catalogue.policies[PolicyId(entity_id)]
    return {
        "id": view.uuid(key),
        "name": view.name(key),
        "action": action_of(policy),
        "duration": round(policy.duration),
        "quiettime": round(policy.quiet_time),
        "conditions": tuple(conditions.shown(view, condition) for condition in policy.when),
        **view.owner(key),
    }


async def create(call: Call) -> JobResult:
    """Carry out createAutoScalePolicy."""
    arguments, view = call.arguments, call.view
    refuse_another_owner(arguments, view.by)
    action = _action(arguments)
    duration, quiet_time = _spans(arguments)
    body = {
        **_CHANGES[action],
        "when": _conditions(view, arguments),
        "duration": f"{duration or 0}s",
        "quiet_time": f"{_QUIET_TIME if quiet_time is None else quiet_time}s",
    }
    name = arguments.text("name") or f"{action.lower()} {new_uuid()[:8]}"
    made = await call.changes.make(Section.POLICIES, name, body, {})
    return begun(made, name)


async def update(call: Call) -> JobResult:
    """Carry out updateAutoScalePolicy. The conditions are replaced as a set."""
    arguments, view = call.arguments, call.view
    key = changeable(call, Section.POLICIES)
    duration, quiet_time = _spans(arguments)
    groups = groups_of_policy(view, key[1])
    refuse_running(view, groups, "Policy")
    body: dict[str, Plain] = dict(entries(view.declared, Section.POLICIES)[key[1]])
    if duration is not None:
        _refuse_shorter(view, groups, duration)
        body["duration"] = f"{duration}s"
    if quiet_time is not None:
        body["quiet_time"] = f"{quiet_time}s"
    if arguments.many("conditionids") is not None:
        body["when"] = list(_conditions(view, arguments))
    await call.changes.replace(key, body, arguments.text("name"))
    return ended(view, key)


async def delete(call: Call) -> JobResult:
    """Carry out deleteAutoScalePolicy."""
    key = changeable(call, Section.POLICIES)
    text = "Cannot delete AutoScale Policy when it is in use by one or more AutoScale Vm Groups"
    refuse_used(call.view, key, wrong(text))
    done = ended(call.view, key, is_gone=True)
    await call.changes.delete(key)
    return done


async def listed(call: Call) -> ListResult:
    """Carry out listAutoScalePolicies. Policies that neither add nor remove are not shown."""
    arguments, view = call.arguments, call.view
    ids = [
        entity_id
        for entity_id in view.listed(arguments, Section.POLICIES)
        if action_of(view.catalogue.policies[PolicyId(entity_id)])
    ]
    condition = view.wanted(arguments, "conditionid", Section.CONDITIONS)
    if condition is not None:
        ids = [entity_id for entity_id in ids if condition in view.catalogue.policies[PolicyId(entity_id)].when]
    group = view.wanted(arguments, "vmgroupid", Section.GROUPS)
    if group is not None:
        ids = [entity_id for entity_id in ids if entity_id in view.catalogue.groups[GroupId(group)].named]
    if arguments.text("action") is not None:
        action = _action(arguments)
        ids = [entity_id for entity_id in ids if action_of(view.catalogue.policies[PolicyId(entity_id)]) == action]
    name = arguments.text("name")
    if name is not None:
        ids = [entity_id for entity_id in ids if view.name((Section.POLICIES, entity_id)) == name]
    return ListResult(kind="autoscalepolicy", objects=Lazily(ids, partial(shown, view)))


def _action(arguments: Arguments) -> str:
    action = arguments.need("action").upper()
    if action not in _CHANGES:
        raise wrong(f"action is invalid. Supported actions are: [{UP}, {DOWN}]")
    return action


def _spans(arguments: Arguments) -> tuple[int | None, int | None]:
    """Return the duration and the quiet time of a request, in seconds; ``None``: not given."""
    duration, quiet_time = arguments.number("duration"), arguments.number("quiettime")
    if duration is not None and duration < 0:
        raise wrong(f"duration is an invalid value: {duration}")
    if quiet_time is not None and quiet_time < 0:
        raise wrong(f"quietTime is an invalid value: {quiet_time}")
    return duration, quiet_time


def _conditions(view: View, arguments: Arguments) -> Sequence[str]:
    """Return the ids of the conditions that a request names: at least one, and one for each counter."""
    wanted = arguments.many("conditionids") or ()
    if not wanted:
        raise wrong("AutoScale policy must have at least one condition")
    ids = [view.found(arguments, "conditionids", uuid, Section.CONDITIONS) for uuid in wanted]
    found = [view.catalogue.conditions[ConditionId(entity_id)] for entity_id in ids]
    counters = [each.counter for each in found if isinstance(each, Condition)]
    if len(set(counters)) < len(counters):
        raise wrong(
            "at least two conditions in the conditionids have the same counter. It is not right to apply two different "
            "conditions for the same counter"
        )
    return ids


def _refuse_shorter(view: View, groups: Sequence[GroupId], duration: int) -> None:
    if any(duration < view.catalogue.groups[group].interval for group in groups):
        raise wrong("duration is less than the associated AutoScaleVmGroup's interval")
