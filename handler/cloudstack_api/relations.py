"""Which entities use which, and what may be changed while groups run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from config.checks.references import users
from config.model.catalogue import Group, Mode
from config.model.sections import Section
from config.units import GroupId
from handler.cloudstack_api.faults import CloudstackFault, wrong
from handler.cloudstack_api.handles import Key
from handler.cloudstack_api.view import View
from trigger.requests import Pause

_SECTIONS: Final = {section.value: section for section in Section}


def groups_of_policy(view: View, policy: str) -> list[GroupId]:
    """Return the groups that use a policy, of every account."""
    return [group.id for group in view.catalogue.groups.values() if policy in group.named]


def groups_of_condition(view: View, condition: str) -> list[GroupId]:
    """Return the groups that use a condition, of every account."""
    policies = view.catalogue.policies
    using = {entity_id for entity_id, policy in policies.items() if condition in policy.when}
    return [group.id for group in view.catalogue.groups.values() if using.intersection(group.policies)]


def groups_of_profile(view: View, profile: str) -> list[GroupId]:
    """Return the groups that use a profile, of every account."""
    return [group.id for group in view.catalogue.groups.values() if group.profile == profile]


def is_disabled(view: View, group: GroupId) -> bool:
    """Tell whether nothing happens to a group: it is paused as a whole, or its mode is off."""
    runtime = view.runtimes.get(group)
    return runtime is None or runtime.state.pause is Pause.ALL or is_off(view.catalogue.groups[group])


def is_off(group: Group) -> bool:
    """Tell whether the declaration itself keeps a group still."""
    return group.mode is Mode.OFF


def running_of(view: View, groups: Iterable[GroupId]) -> Sequence[GroupId]:
    """Return those of some groups that are not disabled."""
    return [group for group in groups if not is_disabled(view, group)]


def refuse_running(view: View, groups: Iterable[GroupId], kind: str) -> None:
    """Refuse to change a policy or a profile while a group that uses it is not disabled.

    Raises:
        CloudstackFault: there is such a group.
    """
    if running_of(view, groups):
        text = f"The AutoScale {kind} can be updated only if the Vm Group it is associated with is disabled in state"
        raise wrong(text)


def refuse_used(view: View, key: Key, fault: CloudstackFault) -> None:
    """Refuse to delete what another entity uses: there is no implicit deletion.

    Raises:
        CloudstackFault: the fault, with the names of the users that the caller may see.
    """
    section, entity_id = key
    using = users(view.catalogue).get((section.value, entity_id), {})
    if using:
        keys = [(_SECTIONS[name], user) for name, user in using if name in _SECTIONS]
        named = ", ".join(f"{kind.value} {view.name((kind, user))}" for kind, user in keys if view.sees((kind, user)))
        text = f"{fault.text} Used by: {named}." if named else fault.text
        raise CloudstackFault(fault.code, text, fault.internal)
