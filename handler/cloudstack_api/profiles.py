"""Profiles: what members are made of, how their agents are reached, and how long they may finish their work."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final

from config.document.places import Plain
from config.model.catalogue import CloudstackRecipe, Group
from config.model.sections import Section
from config.units import ProfileId
from handler.cloudstack_api.call import Call, JobResult, ListResult, begun, changeable, ended
from handler.cloudstack_api.deploying import deploy_keys, shown_deploy_parameters
from handler.cloudstack_api.faults import unknown_id, wrong
from handler.cloudstack_api.handles import Key, new_uuid
from handler.cloudstack_api.owners import refuse_another_owner
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.relations import groups_of_profile, refuse_running, refuse_used
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.snmp_access import agent_of, given_agent, shown_agent
from handler.cloudstack_api.view import View
from handler.operations.declaration_proposals import entries

GRACE: Final = "expungevmgraceperiod"
_USUAL_GRACE: Final = "120"
_USER: Final = "autoscaleuserid"
_FREE: Final = frozenset({"id", "serviceofferingid", "fordisplay", "customid"})
"""Parameters of an update that CloudStack takes while groups run."""


def shown(view: View, entity_id: str) -> Shown:
    """Return the fields of a profile. A community that is a secret is not shown."""
    key, profile = (Section.PROFILES, entity_id), view.catalogue.profiles[ProfileId(entity_id)]
    details, recipe = view.handle(key).details, profile.recipe
    fields: Shown = {}
    if isinstance(recipe, CloudstackRecipe):
        zone = view.api.zones.get(recipe.zone)
        fields = {
            "zoneid": recipe.zone,
            "serviceofferingid": recipe.offering,
            "templateid": recipe.template,
            "otherdeployparams": shown_deploy_parameters(recipe, () if zone is None else zone.networks),
            "userdata": _encoded(recipe.user_data) if recipe.user_data else None,
        }
    agent = shown_agent(details, profile.snmp)
    return {
        "id": view.uuid(key),
        **fields,
        "counterparam": agent,
        GRACE: int(grace_of(view, entity_id)),
        _USER: details.get(_USER),
        "fordisplay": True,
        **view.owner(key),
    }


def grace_of(view: View, profile: str) -> str:
    """Return how many seconds members made of a profile may finish their work: its own, or what its groups say."""
    own = view.handle((Section.PROFILES, profile)).details.get(GRACE)
    if own is not None:
        return own
    groups: Sequence[Group] = [view.catalogue.groups[group] for group in groups_of_profile(view, profile)]
    return str(round(groups[0].drain)) if groups else _USUAL_GRACE


async def create(call: Call) -> JobResult:
    """Carry out createAutoScaleVmProfile."""
    arguments, view = call.arguments, call.view
    refuse_another_owner(arguments, view.by)
    zone = arguments.need("zoneid")
    known = view.api.zones.get(zone)
    if known is None:
        raise unknown_id(arguments.command.envelope, "zoneid", zone)
    cloud = known.cloud_of(view.by.name)
    body: dict[str, Plain] = {"cloud": cloud, "zone": zone, "networks": list(known.networks)}
    details = {GRACE: _USUAL_GRACE}
    _write(call, body, details)
    name = f"{arguments.need('templateid')[:30]} {new_uuid()[:8]}"
    made = await call.changes.make(Section.PROFILES, name, body, details)
    return begun(made, name)


async def update(call: Call) -> JobResult:
    """Carry out updateAutoScaleVmProfile. What is given replaces what was, groups included that drain by it."""
    arguments, view = call.arguments, call.view
    key = changeable(call, Section.PROFILES)
    groups = groups_of_profile(view, key[1])
    if arguments.values.keys() - _FREE:
        refuse_running(view, groups, "Vm Profile")
    body: dict[str, Plain] = dict(entries(view.declared, Section.PROFILES)[key[1]])
    details = dict(view.handle(key).details)
    _write(call, body, details)
    bodies: dict[Key, Mapping[str, Plain]] = {key: body}
    if details.get(GRACE) != view.handle(key).details.get(GRACE):
        for group in groups:
            before = entries(view.declared, Section.GROUPS)[group]
            bodies[Section.GROUPS, group] = {**before, "drain": f"{details[GRACE]}s"}
    await call.changes.replace_all(bodies)
    await call.changes.note(key, details)
    return ended(view, key)


async def delete(call: Call) -> JobResult:
    """Carry out deleteAutoScaleVmProfile."""
    key = changeable(call, Section.PROFILES)
    refuse_used(call.view, key, wrong("Cannot delete AutoScale Vm Profile when it is in use by one more vm groups"))
    done = ended(call.view, key, is_gone=True)
    await call.changes.delete(key)
    return done


async def listed(call: Call) -> ListResult:
    """Carry out listAutoScaleVmProfiles."""
    arguments, view = call.arguments, call.view
    objects = [shown(view, entity_id) for entity_id in view.listed(arguments, Section.PROFILES)]
    for name in ("templateid", "serviceofferingid", "zoneid"):
        wanted = arguments.text(name)
        if wanted is not None:
            objects = [each for each in objects if each.get(name) == wanted]
    part = arguments.text("otherdeployparams")
    if part is not None:
        objects = [each for each in objects if part in str(each.get("otherdeployparams"))]
    return ListResult(kind="autoscalevmprofile", objects=objects)


def _write(call: Call, body: dict[str, Plain], details: dict[str, str]) -> None:
    """Write what a request gives into a document and its details.

    Raises:
        CloudstackFault: a value is none.
    """
    arguments = call.arguments
    for parameter, name in (("templateid", "template"), ("serviceofferingid", "offering")):
        if arguments.text(parameter) is not None:
            body[name] = arguments.need(parameter)
    _write_grace(arguments, details)
    _write_user(call, body, details)
    more = arguments.pairs("otherdeployparams")
    if more is not None:
        body.update(deploy_keys(more, body))
    if arguments.text("userdata") is not None:
        body["user_data"] = _decoded(arguments.need("userdata"))
    agent = given_agent(arguments)
    if agent:
        details.update(agent)
        body["snmp"] = access = agent_of(call, agent, body.get("snmp"))
        if "community" in access:
            details.pop("snmpcommunity", None)


def _write_grace(arguments: Arguments, details: dict[str, str]) -> None:
    grace = arguments.number(GRACE)
    if grace is None:
        grace = arguments.number("destroyvmgraceperiod")
    if grace is None:
        return
    if grace < 0:
        raise wrong("Expunge Vm Grace Period cannot be less than 0.")
    details[GRACE] = str(grace)


def _write_user(call: Call, body: dict[str, Plain], details: dict[str, str]) -> None:
    """Have the calls for members made with the keys of the user that a request names: by the cloud declared with them.

    Raises:
        CloudstackFault: there is no such user, it is another account's, or no cloud is declared with its keys.
    """
    wanted = call.arguments.text(_USER)
    if wanted is None:
        return
    known = call.operations.users.known.users()
    found = next((user for user in known if user.uuid == wanted), None)
    if found is None or not call.view.by.grants.holds(found.account):
        raise unknown_id(call.arguments.command.envelope, _USER, wanted)
    if found.account != call.view.by.account:
        raise wrong("AutoScale User id does not belong to the same account")
    zone = str(body["zone"])
    acting = call.view.api.zones[zone].acts_as if zone in call.view.api.zones else {}
    if found.name not in acting:
        raise wrong(
            f"apiKey for user: {found.name} is empty. Please generate it: declare a cloud with this user's keys, and "
            f"name it at cloudstack_api.zones.{zone}.acts_as"
        )
    body["cloud"] = acting[found.name]
    details[_USER] = wanted


def _decoded(text: str) -> str:
    """Return user data, base64 on the wire, as text.

    Raises:
        CloudstackFault: it is not base64 of UTF-8.
    """
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise wrong("userdata must be text in UTF-8, encoded in base64") from None


def _encoded(text: str) -> str:
    """Return user data as it is sent."""
    return base64.b64encode(text.encode()).decode()
