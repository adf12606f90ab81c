"""Resource details of profiles and groups: texts that clients keep with an entity, and nothing here reads."""

from __future__ import annotations

from typing import Final

from config.model.sections import Section
from handler.cloudstack_api.call import Call, JobResult, ListResult, ended
from handler.cloudstack_api.faults import wrong
from handler.cloudstack_api.handles import Key
from handler.cloudstack_api.rendering import Shown

_PREFIX: Final = "detail."
"""Of a detail among what this API keeps of an entity."""
_AT_MOST: Final = 100
_LONGEST: Final = 5120
_SECTIONS: Final = {"autoscalevmprofile": Section.PROFILES, "autoscalevmgroup": Section.GROUPS}


async def add(call: Call) -> JobResult:
    """Carry out addResourceDetail."""
    key = _key(call)
    details = call.arguments.pairs("details") or {}
    kept = {**call.view.handle(key).details, **{_PREFIX + name: value for name, value in details.items()}}
    if len(kept) > _AT_MOST or any(len(name) + len(value) > _LONGEST for name, value in details.items()):
        raise wrong(f"an entity has at most {_AT_MOST} details, of {_LONGEST} characters each")
    await call.changes.note(key, kept)
    return ended(call.view, key, is_gone=True)


async def remove(call: Call) -> JobResult:
    """Carry out removeResourceDetail: one detail, or all of them."""
    key, name = _key(call), call.arguments.text("key")
    gone = {each for each in call.view.handle(key).details if each == f"{_PREFIX}{name}" or name is None}
    kept = {
        each: value
        for each, value in call.view.handle(key).details.items()
        if each not in gone or not each.startswith(_PREFIX)
    }
    await call.changes.note(key, kept)
    return ended(call.view, key, is_gone=True)


async def listed(call: Call) -> ListResult:
    """Carry out listResourceDetails."""
    arguments, view = call.arguments, call.view
    kind = arguments.text("resourcetype") or "AutoScaleVmProfile"
    section = _section(kind)
    entity_id = view.wanted(arguments, "resourceid", section)
    keys: list[Key] = [(section, each) for each in (view.ids(section) if entity_id is None else (entity_id,))]
    wanted = arguments.text("key")
    objects: list[Shown] = [
        {
            "resourceid": view.uuid(key),
            "resourcetype": kind,
            "key": name.removeprefix(_PREFIX),
            "value": value,
            "fordisplay": True,
            **view.owner(key),
        }
        for key in keys
        for name, value in view.handle(key).details.items()
        if name.startswith(_PREFIX) and wanted in {None, name.removeprefix(_PREFIX)}
    ]
    return ListResult(kind="resourcedetail", objects=objects)


def _key(call: Call) -> Key:
    section = _section(call.arguments.need("resourcetype"))
    return section, call.view.find(call.arguments, "resourceid", section)


def _section(kind: str) -> Section:
    section = _SECTIONS.get(kind.lower())
    if section is None:
        raise wrong(f"Unsupported resource type {kind}: AutoScaleVmProfile and AutoScaleVmGroup have details here")
    return section
