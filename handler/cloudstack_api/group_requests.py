"""What a request wants of a group: its rule, bounds, interval, policies and name. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from config.document.places import Plain
from config.model.catalogue import Group
from config.model.cloudstack_api import ApiRule
from config.model.sections import Section
from config.units import PolicyId
from handler.cloudstack_api import policies
from handler.cloudstack_api.faults import wrong
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.view import View
from handler.operations.declaration_proposals import entries

USUAL_INTERVAL: Final = 30
_NAME: Final = re.compile(r"[A-Za-z0-9-]{1,255}")


def rule_of(view: View, group: Group) -> tuple[str | None, ApiRule | None]:
    """Return the rule that a group serves behind, and its id; ``None``: the file names no such rule."""
    uses = {(use.balancer, use.port) for use in group.balancers}
    for entity_id, rule in view.api.rules.items():
        if (rule.balancer, rule.port) in uses:
            return entity_id, rule
    return None, None


def free_rule(view: View, arguments: Arguments) -> ApiRule:
    """Return the rule that a request names, which has no group yet.

    Raises:
        CloudstackFault: there is no such rule, or it has one.
    """
    rule = view.api.rules.get(arguments.need("lbruleid"))
    if rule is None:
        raise wrong("Unable to find loadbalancer by lbRuleId")
    for group in view.catalogue.groups.values():
        if any(use.balancer == rule.balancer and use.port == rule.port for use in group.balancers):
            raise wrong(
                "an AutoScaleVmGroup is already attached to the lb rule, the existing vm group has to be first deleted"
            )
    return rule


def bounds_of(arguments: Arguments, group: Group | None) -> tuple[int, int]:
    """Return the bounds that a request gives; what it leaves out stays."""
    least, most = arguments.number("minmembers"), arguments.number("maxmembers")
    if least is None:
        least = arguments.need_number("minmembers") if group is None else group.minimum
    if most is None:
        most = arguments.need_number("maxmembers") if group is None else group.maximum
    if least < 1:
        raise wrong(f"minmembers is an invalid value: {least}")
    if most < 1:
        raise wrong(f"maxmembers is an invalid value: {most}")
    if least > most:
        raise wrong(f"minmembers ({least})cannot be greater than maxmembers ({most})")
    return least, most


def interval_of(arguments: Arguments, before: int) -> int:
    """Return the interval in seconds; left out, the one before.

    Raises:
        CloudstackFault: it is less than a second.
    """
    interval = arguments.number("interval")
    interval = before if interval is None else interval
    if interval < 1:
        raise wrong(f"interval is an invalid value: {interval}")
    return interval


def policies_of(view: View, arguments: Arguments, way: str, interval: float) -> Sequence[str]:
    """Return the ids of the policies for one direction."""
    parameter, action = f"scale{way}policyids", f"SCALE{way.upper()}"
    uuids = arguments.many(parameter) or ()
    if not uuids:
        raise wrong(f"AutoScale VM group must have at least one Scale{way.capitalize()} policy")
    ids = [view.found(arguments, parameter, uuid, Section.POLICIES) for uuid in uuids]
    for entity_id in ids:
        policy = view.catalogue.policies[PolicyId(entity_id)]
        if policies.action_of(policy) != action:
            raise wrong(f"Only scale{way} policies can be specified in {parameter}")
        _refuse_short(policy.duration, interval)
    return ids


def _refuse_short(duration: float, interval: float) -> None:
    if duration < interval:
        raise wrong(
            f"duration : {round(duration)} specified in a policy cannot be less than vm group's interval : {interval:g}"
        )


def updated(view: View, arguments: Arguments, group: Group) -> Mapping[str, Plain]:
    """Return the document of a group with what a request gives; all else stays as it is written."""
    body: dict[str, Plain] = dict(entries(view.declared, Section.GROUPS)[group.id])
    least, most = bounds_of(arguments, group)
    body |= {"min": least, "max": most}
    given = None if arguments.number("interval") is None else interval_of(arguments, USUAL_INTERVAL)
    named, others = _named(view, arguments, group, group.interval if given is None else given)
    if given is not None:
        body["interval"] = f"{given}s"
        for policy in named:
            _refuse_short(view.catalogue.policies[policy].duration, given)
    if arguments.values.keys() & {"scaleuppolicyids", "scaledownpolicyids"}:
        body["policies"] = [*named, *others]
    return body


def _named(
    view: View, arguments: Arguments, group: Group, interval: float
) -> tuple[Sequence[PolicyId], Sequence[PolicyId]]:
    """Return the policies that add or remove, those of a direction replaced that a request gives; and all others."""
    kept = [policy for policy in group.policies if policy in group.named]
    does = {policy: policies.action_of(view.catalogue.policies[policy]) for policy in kept}
    named: list[PolicyId] = []
    for way, action in (("up", policies.UP), ("down", policies.DOWN)):
        if arguments.many(f"scale{way}policyids") is not None:
            named += map(PolicyId, policies_of(view, arguments, way, interval))
        else:
            named += (policy for policy in kept if does[policy] == action)
    return named, [policy for policy in group.named if does.get(policy) is None]


def name_of(arguments: Arguments) -> str | None:
    """Return the name that a request gives; ``None``: it gives none.

    Raises:
        CloudstackFault: it has other characters than CloudStack allows.
    """
    name = arguments.text("name")
    if name is not None and not _NAME.fullmatch(name):
        raise wrong(
            "Invalid AutoScale VM group name. It can contain the ASCII letters 'a' through 'z', the digits '0' through "
            "'9', and the hyphen ('-'), and is between 1 and 255 characters long."
        )
    return name
