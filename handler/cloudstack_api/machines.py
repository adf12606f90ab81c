"""``listVirtualMachines``: the members of groups, as CloudStack shows machines."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Final

from config.model.catalogue import CloudstackRecipe
from config.model.sections import Section
from config.units import GroupId
from handler.cloudstack_api.call import Call, ListResult
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.view import View, shown_time
from handler.planning.status import MemberState, MemberStatus

_STATES: Final = {
    MemberState.BUILDING: "Starting",
    MemberState.JOINING: "Running",
    MemberState.IN_SERVICE: "Running",
    MemberState.DRAINING: "Running",
    MemberState.LEAVING: "Stopping",
    MemberState.BROKEN: "Error",
    MemberState.UNKNOWN: "Unknown",
    MemberState.STUCK: "Error",
}


async def listed(call: Call) -> ListResult:
    """Carry out listVirtualMachines. A member's id is derived from its name, which it never loses."""
    arguments, view = call.arguments, call.view
    group = view.wanted(arguments, "autoscalevmgroupid", Section.GROUPS)
    groups = view.owned(arguments, Section.GROUPS) if group is None else (group,)
    found = [shown for entity_id in groups for shown in _of_group(call, entity_id)]
    for name in ("id", "name"):
        wanted = arguments.text(name)
        if wanted is not None:
            found = [each for each in found if each[name] == wanted]
    keyword = (arguments.text("keyword") or "").lower()
    return ListResult(kind="virtualmachine", objects=[each for each in found if keyword in str(each["name"]).lower()])


def _of_group(call: Call, group: str) -> Iterator[Shown]:
    if GroupId(group) in call.view.runtimes:
        for member in call.operations.group(GroupId(group)).members:
            yield _shown(call.view, group, member)


def _shown(view: View, group: str, member: MemberStatus) -> Shown:
    key = Section.GROUPS, group
    recipe = view.catalogue.profiles[view.catalogue.groups[GroupId(group)].profile].recipe
    made_of: Shown = {}
    if isinstance(recipe, CloudstackRecipe):
        made_of = {"zoneid": recipe.zone, "templateid": recipe.template, "serviceofferingid": recipe.offering}
    return {
        "id": str(uuid.uuid5(uuid.UUID(view.uuid(key)), member.name)),
        "name": member.name,
        "displayname": member.name,
        "state": _STATES[member.state],
        "created": shown_time(member.since),
        "ipaddress": member.address,
        "nic": () if member.address is None else ({"ipaddress": member.address, "isdefault": True},),
        "autoscalevmgroupid": view.uuid(key),
        "autoscalevmgroupname": view.name(key),
        **made_of,
        **view.owner(key),
    }
