"""The commands that are served, as a table (their parameters, and the keys of their answers), and ``listApis`` of it.

Names, types, defaults and releases are CloudStack's, and so are the eight keys that are not ``<command>response``: its
own console reads exactly these. Beside today's parameters stand those of the specification of 2012. Source:
CloudStack 4.22; "LB rule based AutoScale", functional specification, 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from handler.cloudstack_api.parameters import Command, CommandParameter, Kind
from handler.cloudstack_api.rendering import Shown

_ID: Final = CommandParameter("id", Kind.UUID, "the id", required=True)
_PAGED: Final = (
    CommandParameter("keyword", Kind.STRING, "part of the name"),
    CommandParameter("page", Kind.INTEGER, "the number of the page, from 1"),
    CommandParameter("pagesize", Kind.INTEGER, "how many a page has; -1: all"),
)
_OWNED: Final = (
    CommandParameter("account", Kind.STRING, "the account that owns it; goes with domainid"),
    CommandParameter("domainid", Kind.UUID, "the domain of the account"),
    CommandParameter("projectid", Kind.UUID, "a project; there are none here"),
)
_LISTED: Final = (
    *_PAGED,
    *_OWNED,
    CommandParameter("listall", Kind.BOOLEAN, "also what belongs to others, as far as the caller may see it"),
    CommandParameter("isrecursive", Kind.BOOLEAN, "also what belongs to domains below"),
)
_FOR_DISPLAY: Final = CommandParameter(
    "fordisplay", Kind.BOOLEAN, "whether users see it; everything is shown here", since="4.4"
)
_CUSTOM_ID: Final = CommandParameter("customid", Kind.STRING, "another id; ids do not change here", since="4.4")


def _optional(name: str, kind: Kind, about: str, since: str = "") -> CommandParameter:
    return CommandParameter(name, kind, about, since=since)


def _needed(name: str, kind: Kind, about: str) -> CommandParameter:
    return CommandParameter(name, kind, about, required=True)


def _list(
    command: str, entity: str, about: str, *own: CommandParameter, envelope: str = "", paged: bool = True
) -> Command:
    return Command(
        name=command,
        about=about,
        envelope=envelope or command.lower(),
        entity=entity,
        parameters=(*own, *(_LISTED if paged else ())),
    )


def _made(entity: str, name: str, about: str, *parameters: CommandParameter) -> Command:
    return Command(
        name=f"create{name}",
        about=about,
        envelope=entity,
        entity=entity,
        parameters=parameters,
        is_job=True,
        makes=True,
    )


def _changed(
    verb: str, entity: str, name: str, about: str, *more: CommandParameter, envelope: str = "", since: str = ""
) -> Command:
    command = f"{verb}{name}"
    return Command(
        name=command,
        about=about,
        envelope=envelope or command.lower(),
        entity=entity,
        parameters=(_ID, *more),
        is_job=True,
        since=since,
    )


_COUNTERS: Final = (
    _made(
        "counter", "Counter", "Makes a counter. For root admins.",
        _needed("name", Kind.STRING, "its name"),
        _needed("source", Kind.STRING, "SNMP, NETSCALER, CPU, MEMORY or VIRTUALROUTER"),
        _needed("value", Kind.STRING, "an OID with source SNMP, else the name of a counter of the balancer"),
        _optional("provider", Kind.STRING, "the network's provider; left out: the usual one of the source", "4.18"),
    ),
    _changed("delete", "", "Counter", "Deletes a counter that no condition uses. For root admins."),
    _list(
        "listCounters", "counter", "Lists counters.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("name", Kind.STRING, "part of the name"),
        _optional("source", Kind.STRING, "only of this source"),
        _optional("provider", Kind.STRING, "only of this provider", "4.18"),
        envelope="counter",
    ),
)  # fmt: skip
_OPERATOR: Final = _needed("relationaloperator", Kind.STRING, "EQ, GT, LT, GE or LE")
_THRESHOLD: Final = _needed("threshold", Kind.LONG, "what the counter is compared with; 0 or more")
_CONDITIONS: Final = (
    _made(
        "condition", "Condition", "Makes a condition.",
        _needed("counterid", Kind.UUID, "the counter"), _OPERATOR, _THRESHOLD, *_OWNED,
    ),
    _changed(
        "update", "condition", "Condition", "Changes a condition, while the groups that use it are disabled.",
        _OPERATOR, _THRESHOLD, since="4.18",
    ),
    _changed("delete", "", "Condition", "Deletes a condition that no policy uses."),
    _list(
        "listConditions", "condition", "Lists conditions.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("counterid", Kind.UUID, "only those of this counter"),
        _optional("policyid", Kind.UUID, "only those of this policy"),
    ),
)  # fmt: skip
_POLICY_FIELDS: Final = (
    _optional("name", Kind.STRING, "its name", "4.18"),
    _optional("quiettime", Kind.INTEGER, "seconds without another action after one; 300 if left out"),
)
_POLICIES: Final = (
    _made(
        "autoscalepolicy", "AutoScalePolicy", "Makes a policy.",
        _needed("action", Kind.STRING, "scaleup or scaledown"),
        _needed("duration", Kind.INTEGER, "seconds for which the conditions must hold"),
        _needed("conditionids", Kind.LIST, "the conditions, all of which must hold"),
        *_POLICY_FIELDS,
    ),
    _changed(
        "update", "autoscalepolicy", "AutoScalePolicy", "Changes a policy, while its groups are disabled.",
        _optional("duration", Kind.INTEGER, "seconds for which the conditions must hold"),
        _optional("conditionids", Kind.LIST, "the conditions, instead of those that it has"),
        *_POLICY_FIELDS,
    ),
    _changed("delete", "", "AutoScalePolicy", "Deletes a policy that no group uses."),
    _list(
        "listAutoScalePolicies", "autoscalepolicy", "Lists policies.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("name", Kind.STRING, "only of this name", "4.18"),
        _optional("conditionid", Kind.UUID, "only those with this condition"),
        _optional("action", Kind.STRING, "only scaleup or scaledown"),
        _optional("vmgroupid", Kind.UUID, "only those of this group"),
    ),
)  # fmt: skip
_PROFILE_FIELDS: Final = (
    _optional("otherdeployparams", Kind.MAP, "more parameters of deployVirtualMachine; 2012: one text name=value&…"),
    _optional("counterparam", Kind.MAP, "snmpcommunity and snmpport", "4.4"),
    _optional("snmpcommunity", Kind.STRING, "2012: the community of the members' agents; public if left out"),
    _optional("snmpport", Kind.INTEGER, "2012: the port of the members' agents; 161 if left out"),
    _optional(
        "expungevmgraceperiod", Kind.INTEGER, "seconds that a member may finish its work; 120 if left out", "4.18"
    ),
    _optional("destroyvmgraceperiod", Kind.INTEGER, "2012: the same"),
    _optional("autoscaleuserid", Kind.UUID, "the user whose key makes the calls for members"),
    _optional("userdata", Kind.STRING, "what cloud-init finds, in base64", "4.18"),
    _FOR_DISPLAY,
)
_PROFILES: Final = (
    _made(
        "autoscalevmprofile", "AutoScaleVmProfile", "Makes a profile.",
        _needed("zoneid", Kind.UUID, "the zone"),
        _needed("serviceofferingid", Kind.UUID, "the service offering"),
        _needed("templateid", Kind.UUID, "the template"),
        *_PROFILE_FIELDS, *_OWNED,
    ),
    _changed(
        "update", "autoscalevmprofile", "AutoScaleVmProfile", "Changes a profile, while its groups are disabled.",
        _optional("templateid", Kind.UUID, "the template"),
        _optional("serviceofferingid", Kind.UUID, "the service offering", "4.18"),
        *_PROFILE_FIELDS, _CUSTOM_ID,
    ),
    _changed("delete", "", "AutoScaleVmProfile", "Deletes a profile that no group uses."),
    _list(
        "listAutoScaleVmProfiles", "autoscalevmprofile", "Lists profiles.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("templateid", Kind.UUID, "only those with this template"),
        _optional("serviceofferingid", Kind.STRING, "only those with this offering", "4.4"),
        _optional("zoneid", Kind.STRING, "only those of this zone", "4.4"),
        _optional("otherdeployparams", Kind.STRING, "only those with this text in them"),
        _FOR_DISPLAY,
    ),
)  # fmt: skip
_MIN: Final = CommandParameter("minmembers", Kind.INTEGER, "the least number of members, 1 or more", required=True)
_MAX: Final = CommandParameter("maxmembers", Kind.INTEGER, "the greatest number of members", required=True)
_UP: Final = CommandParameter("scaleuppolicyids", Kind.LIST, "the policies that add members", required=True)
_DOWN: Final = CommandParameter("scaledownpolicyids", Kind.LIST, "the policies that remove members", required=True)
_INTERVAL: Final = _optional("interval", Kind.INTEGER, "seconds between two evaluations; 30 if left out")
_GROUP_NAME: Final = _optional("name", Kind.STRING, "its name; the rule's if left out", "4.18")


def _left_out(parameter: CommandParameter) -> CommandParameter:
    """Return a parameter as a change takes it."""
    return CommandParameter(parameter.name, parameter.kind, parameter.about, since=parameter.since)


_GROUPS: Final = (
    _made(
        "autoscalevmgroup", "AutoScaleVmGroup", "Makes a group, which is enabled, and grows to its least number.",
        _needed("lbruleid", Kind.UUID, "the load-balancer rule"), _MIN, _MAX, _UP, _DOWN,
        _needed("vmprofileid", Kind.UUID, "the profile"), _INTERVAL, _GROUP_NAME, _FOR_DISPLAY,
    ),
    _changed(
        "update", "autoscalevmgroup", "AutoScaleVmGroup", "Changes a group that is disabled.",
        *map(_left_out, (_MIN, _MAX, _UP, _DOWN)), _INTERVAL, _GROUP_NAME, _FOR_DISPLAY, _CUSTOM_ID,
    ),
    _changed(
        "delete", "", "AutoScaleVmGroup", "Deletes a group that is disabled and empty.",
        _optional("cleanup", Kind.BOOLEAN, "its members are removed first, whatever its state", "4.18"),
    ),
    _changed(
        "enable", "autoscalevmgroup", "AutoScaleVmGroup", "Lets a group be judged and changed again.",
        envelope="enableautoscalevmGroup",
    ),
    _changed(
        "disable", "autoscalevmgroup", "AutoScaleVmGroup", "Stops all that happens to a group.",
        envelope="disableautoscalevmGroup",
    ),
    _list(
        "listAutoScaleVmGroups", "autoscalevmgroup", "Lists groups.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("name", Kind.STRING, "only of this name", "4.18"),
        _optional("lbruleid", Kind.UUID, "only that of this rule"),
        _optional("vmprofileid", Kind.UUID, "only those of this profile"),
        _optional("policyid", Kind.UUID, "only those with this policy"),
        _optional("zoneid", Kind.UUID, "only those of this zone"),
        _FOR_DISPLAY,
    ),
)  # fmt: skip
_LOOKED_UP: Final = (
    *_PAGED,
    _optional("id", Kind.UUID, "only this one"),
    _optional("name", Kind.STRING, "only of this name"),
    _optional("listall", Kind.BOOLEAN, "all that are known are listed in any case"),
)
_ZONE: Final = _optional("zoneid", Kind.UUID, "only those of this zone")
_AVAILABLE: Final = _optional("available", Kind.BOOLEAN, "all that are known are available")
_DETAILED: Final = (
    _needed("resourceid", Kind.UUID, "the entity"),
    _needed("resourcetype", Kind.STRING, "AutoScaleVmProfile or AutoScaleVmGroup"),
)
_OTHERS: Final = (
    _list("queryAsyncJobResult", "", "Returns a job.", _needed("jobid", Kind.UUID, "the job"), paged=False),
    _list(
        "listAsyncJobs", "asyncjobs", "Lists the caller's jobs.",
        _optional("startdate", Kind.STRING, "only those that began then or later"),
    ),
    _list(
        "listApis", "api", "Lists the commands that the caller may give.",
        _optional("name", Kind.STRING, "only this one"), paged=False,
    ),
    _list(
        "listEvents", "event", "Lists what commands did, and changes of size.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("type", Kind.STRING, "only of this type"),
        _optional("level", Kind.STRING, "only of this level: INFO, WARN or ERROR"),
        _optional("startdate", Kind.STRING, "only from then on"),
        _optional("enddate", Kind.STRING, "only until then"),
        _optional("resourceid", Kind.UUID, "only of this entity", "4.14"),
        _optional("resourcetype", Kind.STRING, "goes with resourceid", "4.14"),
    ),
    _list(
        "listVirtualMachines", "virtualmachine", "Lists the members of groups.",
        _optional("id", Kind.UUID, "only this one"),
        _optional("name", Kind.STRING, "only of this name"),
        _optional("autoscalevmgroupid", Kind.UUID, "only those of this group", "4.18"),
    ),
    _list(
        "listResourceDetails", "resourcedetail", "Lists details of a profile or a group.",
        *map(_left_out, _DETAILED), _optional("key", Kind.STRING, "only this one"),
    ),
    Command(
        name="addResourceDetail", about="Writes details of a profile or a group.", envelope="addresourcedetail",
        parameters=(*_DETAILED, _needed("details", Kind.MAP, "the details")), is_job=True,
    ),
    Command(
        name="removeResourceDetail", about="Deletes details of a profile or a group.", envelope="removeresourcedetail",
        parameters=(*_DETAILED, _optional("key", Kind.STRING, "only this one; left out: all")), is_job=True,
    ),
    _list("listZones", "zone", "Lists the zones that profiles may name.", *_LOOKED_UP, _AVAILABLE, paged=False),
    _list(
        "listTemplates", "template", "Lists templates that the file names, and those of profiles.",
        *_LOOKED_UP, _ZONE, _optional("templatefilter", Kind.STRING, "all that are known are executable here"),
        paged=False,
    ),
    _list(
        "listServiceOfferings", "serviceoffering", "Lists offerings that the file names, and those of profiles.",
        *_LOOKED_UP, _ZONE, paged=False,
    ),
    _list("listLoadBalancerRules", "loadbalancerrule", "Lists rules that groups may name.", *_LOOKED_UP, paged=False),
    _list(
        "listUsers", "user", "Lists the users of the caller's accounts.",
        _optional("id", Kind.UUID, "only this one"), _optional("username", Kind.STRING, "only of this name"),
    ),
    _list(
        "listAccounts", "account", "Lists the caller's accounts.",
        _optional("id", Kind.UUID, "only this one"), _optional("name", Kind.STRING, "only of this name"),
    ),
    _list("listDomains", "domain", "Lists the domains of the caller's accounts.", *_LOOKED_UP, paged=False),
    _list("listCapabilities", "capability", "Lists what this server can do.", paged=False),
)  # fmt: skip

COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        command.name.lower(): command
        for command in (*_COUNTERS, *_CONDITIONS, *_POLICIES, *_PROFILES, *_GROUPS, *_OTHERS)
    }
)
"""By lower-case name."""
ROOT_ONLY: Final = frozenset({"createCounter", "deleteCounter"})
"""Commands of root admins."""


_LENGTH: Final = 255


def described(commands: Iterable[Command]) -> tuple[Shown, ...]:
    """Return commands sorted by name, in the form that cloudmonkey, Marvin and CloudStack's console read."""
    return tuple(_described(command) for command in sorted(commands, key=lambda each: each.name))


@lru_cache(maxsize=256)
def _described(command: Command) -> Shown:
    return {
        "name": command.name,
        "description": command.about,
        "since": command.since or None,
        "isasync": command.is_job,
        "related": command.related,
        "params": tuple(map(_parameter, command.parameters)),
        "response": _response(command),
    }


def _parameter(parameter: CommandParameter) -> Shown:
    return {
        "name": parameter.name,
        "description": parameter.about,
        "type": parameter.kind.value,
        "length": _LENGTH,
        "required": parameter.required,
        "since": parameter.since or None,
        "related": "",
    }


def _response(command: Command) -> tuple[Shown, ...]:
    if command.is_job:
        return ({"name": "jobid", "description": "the job", "type": "string"},)
    return ({"name": "id", "description": "the id", "type": "string"},)
