"""Groups: a rule, a profile, policies and bounds. A group is disabled by its whole pause, which is state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from config.document.places import Plain
from config.model.catalogue import Group
from config.model.cloudstack_api import ApiRule, StateCase
from config.model.sections import Section
from config.units import ROOT_ACCOUNT, GroupId
from handler.cloudstack_api import policies
from handler.cloudstack_api.call import Call, JobResult, Lazily, ListResult, begun, changeable, ended
from handler.cloudstack_api.faults import wrong
from handler.cloudstack_api.group_requests import (
    USUAL_INTERVAL,
    bounds_of,
    free_rule,
    interval_of,
    name_of,
    policies_of,
    rule_of,
    updated,
)
from handler.cloudstack_api.handles import Key, new_uuid
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.profiles import grace_of
from handler.cloudstack_api.relations import is_disabled, is_off
from handler.cloudstack_api.rendering import RenderedFields, Shown
from handler.cloudstack_api.view import View, shown_time
from handler.operations.size_operations import PauseGroup, ResumeGroup
from handler.planning.status import MemberState

_BOUND: Final = frozenset({"minmembers", "maxmembers", "interval", "scaleuppolicyids", "scaledownpolicyids"})
"""Parameters of an update that need the group to be disabled."""
_STEM: Final = 60
"""Characters of a rule's name that a longer one keeps."""
_PRESENT: Final = (
    MemberState.BUILDING, MemberState.JOINING, MemberState.IN_SERVICE, MemberState.DRAINING, MemberState.LEAVING,
)  # fmt: skip


def shown(view: View, entity_id: str) -> Shown:
    """Return the fields of a group."""
    state, count = state_of(view, GroupId(entity_id)), available(view, GroupId(entity_id))
    last = view.kept.groups.get(entity_id)
    if last is None or last[:2] != (state, count):
        last = state, count, RenderedFields(_fields(view, entity_id, state, count))
        view.kept.groups[entity_id] = last
    return last[2]


def _fields(view: View, entity_id: str, state: str, count: int) -> Shown:
    key, group = (Section.GROUPS, entity_id), view.catalogue.groups[GroupId(entity_id)]
    rule_id, rule = rule_of(view, group)
    return {
        "id": view.uuid(key),
        "name": view.name(key),
        "lbruleid": rule_id,
        "publicip": None if rule is None else rule.public_ip,
        "publicport": None if rule is None or rule.public_port is None else str(rule.public_port),
        "privateport": None if rule is None else str(rule.port),
        "vmprofileid": view.uuid((Section.PROFILES, group.profile)),
        "minmembers": group.minimum,
        "maxmembers": group.maximum,
        "availablevirtualmachinecount": count,
        "interval": round(group.interval),
        "state": state,
        "scaleuppolicies": _shown_policies(view, group, policies.UP),
        "scaledownpolicies": _shown_policies(view, group, policies.DOWN),
        **view.owner(key),
        "fordisplay": True,
        "created": shown_time(view.handle(key).made_at),
        "hasannotations": False,
    }


def state_of(view: View, group: GroupId) -> str:
    """Return the state of a group, in the case that the file asks for."""
    state = "DISABLED" if is_disabled(view, group) else "ENABLED"
    return state.lower() if view.api.states is StateCase.LOWER else state


def available(view: View, group: GroupId) -> int:
    """Return how many members of a group there are, coming and going ones included."""
    runtime = view.runtimes.get(group)
    states = () if runtime is None or runtime.seen is None else runtime.seen.states.values()
    return sum(state in _PRESENT for state in states)


async def create(call: Call) -> JobResult:
    """Carry out createAutoScaleVmGroup. The group is enabled, and its id begins with the name of its rule."""
    arguments, view = call.arguments, call.view
    rule = free_rule(view, arguments)
    least, most = bounds_of(arguments, None)
    interval = interval_of(arguments, USUAL_INTERVAL)
    profile = view.find(arguments, "vmprofileid", Section.PROFILES)
    up, down = policies_of(view, arguments, "up", interval), policies_of(view, arguments, "down", interval)
    body: dict[str, Plain] = {
        "profile": profile,
        "balancers": [{"use": rule.balancer, "port": rule.port}],
        "exclusive": True,
        "min": least,
        "max": most,
        "interval": f"{interval}s",
        "policies": [*up, *down],
        "drain": f"{grace_of(view, profile)}s",
    }
    name, declared_as = name_of(arguments), _free_name(view, rule)
    own_name = {} if name is None and declared_as == rule.name else {"name": name or rule.name}
    made = await call.changes.make(Section.GROUPS, declared_as, body, own_name)
    return begun(made, name or rule.name)


async def update(call: Call) -> JobResult:
    """Carry out updateAutoScaleVmGroup. The profile and the rule of a group never change."""
    arguments, view = call.arguments, call.view
    key = changeable(call, Section.GROUPS)
    group, name = view.catalogue.groups[GroupId(key[1])], name_of(arguments)
    if arguments.values.keys() & _BOUND:
        if not is_disabled(view, group.id):
            raise wrong(
                "An AutoScale Vm Group can be updated with minMembers/maxMembers/Interval only when it is in disabled "
                "state"
            )
        await call.changes.replace(key, updated(view, arguments, group))
    if name is not None:
        await call.changes.note(key, {**view.handle(key).details, "name": name})
    return ended(view, key)


async def delete(call: Call) -> JobResult:
    """Carry out deleteAutoScaleVmGroup; ``cleanup`` removes its members first, whatever its state."""
    arguments, view = call.arguments, call.view
    key = changeable(call, Section.GROUPS)
    group, cleanup = GroupId(key[1]), arguments.flag("cleanup") is True
    refusal, remedy = f"Cannot delete autoscale vm group : {view.name(key)}", "cleanup=true flag which will destroy"
    if not cleanup and not is_disabled(view, group):
        raise wrong(
            f"{refusal} because it is in {state_of(view, group)} state. Please disable it or pass {remedy} all VMs."
        )
    count = available(view, group)
    if not cleanup and count:
        raise wrong(f"{refusal} because there are {count} VMs. Please remove the VMs or pass {remedy} all VMs.")
    done = ended(view, key, is_gone=True)
    await call.changes.delete(key, members=cleanup)
    return done


async def enable(call: Call) -> JobResult:
    """Carry out enableAutoScaleVmGroup."""
    view = call.view
    key: Key = Section.GROUPS, view.find(call.arguments, "id", Section.GROUPS)
    _refuse_off(view, key)
    if is_disabled(view, GroupId(key[1])):
        await call.changes.perform(ResumeGroup(group=GroupId(key[1])))
    return ended(view, key)


async def disable(call: Call) -> JobResult:
    """Carry out disableAutoScaleVmGroup: pause the group as a whole."""
    view = call.view
    key: Key = Section.GROUPS, view.find(call.arguments, "id", Section.GROUPS)
    if not is_disabled(view, GroupId(key[1])):
        await call.changes.perform(PauseGroup(group=GroupId(key[1])))
    return ended(view, key)


async def listed(call: Call) -> ListResult:
    """Carry out listAutoScaleVmGroups."""
    return ListResult(kind="autoscalevmgroup", objects=Lazily(wanted(call), partial(shown, call.view)))


def wanted(call: Call) -> Sequence[str]:
    """Return the ids of the groups that a list is about.

    Raises:
        CloudstackFault: a filter names nothing, or stands beside ``id``.
    """
    arguments, view = call.arguments, call.view
    if arguments.text("id") is not None and any(
        arguments.text(name) for name in ("lbruleid", "vmprofileid", "policyid")
    ):
        raise wrong("When id is specified other parameters need not be specified")
    ids = view.listed(arguments, Section.GROUPS)
    if not arguments.values.keys() & {"name", "lbruleid", "vmprofileid", "policyid", "zoneid"}:
        return ids
    profile = view.wanted(arguments, "vmprofileid", Section.PROFILES)
    policy = view.wanted(arguments, "policyid", Section.POLICIES)
    return [entity_id for entity_id in ids if _fits(view, arguments, entity_id, profile, policy)]


def _fits(view: View, arguments: Arguments, entity_id: str, profile: str | None, policy: str | None) -> bool:
    group, name = view.catalogue.groups[GroupId(entity_id)], arguments.text("name")
    rule, zone = arguments.text("lbruleid"), arguments.text("zoneid")
    recipe = view.catalogue.profiles[group.profile].recipe
    return (
        (name is None or view.name((Section.GROUPS, entity_id)) == name)
        and (profile is None or group.profile == profile)
        and (policy is None or policy in group.named)
        and (rule is None or rule_of(view, group)[0] == rule)
        and (zone is None or getattr(recipe, "zone", None) == zone)
    )


def _free_name(view: View, rule: ApiRule) -> str:
    """Return what a rule's group is declared as: the name of the rule, or one that begins so if a group has that."""
    account, groups, declared = view.by.account, Section.GROUPS, view.declared
    is_of_file = account == ROOT_ACCOUNT and (groups.value, rule.name) in declared.file.keys
    own = (each for each in declared.entities.values() if each.section is groups and each.account == account)
    is_taken = is_of_file or any(each.name == rule.name for each in own)
    return f"{rule.name[:_STEM]} {new_uuid()[:8]}" if is_taken else rule.name


def _shown_policies(view: View, group: Group, action: str) -> tuple[Shown, ...]:
    known = view.catalogue.policies
    named = (
        entity_id
        for entity_id in group.policies
        if entity_id in group.named and policies.action_of(known[entity_id]) == action
    )
    return tuple(policies.shown(view, entity_id) for entity_id in named)


def _refuse_off(view: View, key: Key) -> None:
    if is_off(view.catalogue.groups[GroupId(key[1])]):
        raise wrong(f"the mode of {view.name(key)} is off: change the group's mode to act, which enables it")
