"""The room that the quotas of an OpenNebula user and its group leave for more members.

Source: XML-RPC API of OpenNebula 7.4: ``user.info``, ``group.info`` (-1: one's own) and ``template.info``; ``CPU`` of a
template is in parts of a core, ``MEMORY`` in MiB. OpenNebula checks no quota for users in the group oneadmin.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from collector.clients.opennebula.client import OpennebulaClient
from collector.clients.opennebula.messages import text
from config.model.catalogue import OpennebulaRecipe, Profile
from handler.orchestrators.opennebula.doctor import limits_of
from handler.orchestrators.opennebula.ids import TEMPLATE, OpennebulaIds
from handler.planning.headroom import Quota, UsageLimit

_OWN = -1
_ONEADMIN = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaQuotaMeter:
    """Reads the quotas of one user."""

    client: OpennebulaClient
    ids: OpennebulaIds

    def quotas(self, profile: Profile) -> tuple[Quota, ...]:
        """Return the quotas, as `handler.ports.orchestrator.Metered`."""
        recipe = profile.recipe
        if not isinstance(recipe, OpennebulaRecipe):
            return ()
        user = self.client.ask("user.info", _OWN)
        if is_privileged(user):
            return ()
        group = self.client.ask("group.info", _OWN)
        template = self.client.ask("template.info", self.ids.of(TEMPLATE, recipe.template))
        taken = taken_of(template, recipe)
        return (
            *quotas_of(limits_of(user, "DEFAULT_USER_QUOTAS"), taken),
            *quotas_of(limits_of(group, "DEFAULT_GROUP_QUOTAS"), taken, " of the group"),
        )


def is_privileged(user: object) -> bool:
    """Return whether a user is in the group oneadmin.

    >>> from xml.etree.ElementTree import fromstring
    >>> is_privileged(fromstring("<USER><GID>1</GID><GROUPS><ID>1</ID><ID>0</ID></GROUPS></USER>"))
    True
    >>> is_privileged(fromstring("<USER><GID>1</GID><GROUPS><ID>1</ID></GROUPS></USER>"))
    False
    """
    groups = user.findall("GROUPS/ID") if isinstance(user, Element) else []
    return _ONEADMIN in {text(user, "GID"), *(group.text for group in groups)}


def taken_of(template: object, recipe: OpennebulaRecipe) -> tuple[float, ...]:
    """Return a machine's share of each of `limits_of`, in its order; values of the profile override the template's.

    >>> from xml.etree.ElementTree import fromstring
    >>> from config.model.recipes import Attribute
    >>> recipe = OpennebulaRecipe(template="web", extra=(Attribute(name="MEMORY", single="2048"),))
    >>> taken_of(fromstring("<VMTEMPLATE><TEMPLATE><CPU>0.5</CPU><MEMORY>9</MEMORY></TEMPLATE></VMTEMPLATE>"), recipe)
    (1, 0.5, 2048.0, 1)
    """
    attributes = template.find("TEMPLATE") if isinstance(template, Element) else None
    own = {each.name: each.single for each in recipe.extra if each.single is not None}
    cpu, memory = (_amount(own.get(key) or text(attributes, key)) for key in ("CPU", "MEMORY"))
    return 1, cpu, memory, 1


def quotas_of(limits: tuple[UsageLimit, ...], taken: tuple[float, ...], whose: str = "") -> tuple[Quota, ...]:
    """Combine limits with a machine's share of them; ``whose`` names the owner if there are several."""
    return tuple(
        Quota(limit=UsageLimit(what=f"{limit.what}{whose}", used=limit.used, most=limit.most), each=each)
        for limit, each in zip(limits, taken, strict=True)
    )


def _amount(written: str) -> float:
    """Return an amount; 0: it is missing."""
    try:
        return float(written)
    except ValueError:
        return 0.0
