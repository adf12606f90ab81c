"""The room that the limits of a CloudStack account or project leave for more members.

Source: CloudStack 4.22, ``listAccounts``, ``listProjects``, and ``listServiceOfferings`` (``cpunumber``, ``memory`` in
MiB; a custom offering has neither). Users cannot read the limits of domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.parsing import text
from config.errors import Transient
from config.model.catalogue import CloudstackRecipe, Profile
from config.units import CloudId
from handler.orchestrators.cloudstack.doctor import limit_of, owners_of
from handler.orchestrators.cloudstack.ids import OFFERING, CloudstackIds
from handler.planning.headroom import Quota

_CUSTOM = {"cpunumber": "details[0].cpuNumber", "memory": "details[0].memory"}
"""Keys of a profile for the size of a custom offering's machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackQuotaMeter:
    """Reads the limits of the members' owner."""

    cloud: CloudId
    client: CloudstackClient
    ids: CloudstackIds

    def quotas(self, profile: Profile) -> tuple[Quota, ...]:
        """Return the quotas, as `handler.ports.orchestrator.Metered`."""
        recipe = profile.recipe
        if not isinstance(recipe, CloudstackRecipe):
            return ()
        owners = owners_of(self.client)
        if len(owners) != 1:
            raise Transient(f"{self.cloud}: {len(owners)} accounts or projects are listed instead of one")
        own_id = self.ids.of(OFFERING, recipe.offering)
        listed = self.client.whole(OFFERING.command, OFFERING.entry, id=own_id)
        offering = next((each for each in listed if text(each, "id") == own_id), None)
        return quotas_of(owners[0], offering, dict(recipe.parameters))


def quotas_of(owner: object, offering: object, parameters: dict[str, str]) -> tuple[Quota, ...]:
    """Return a machine's share of the limits of an account or project.

    >>> owner = {"vmlimit": "20", "vmtotal": 3, "cpulimit": "40", "cputotal": 38}
    >>> [(str(quota.limit), quota.each) for quota in quotas_of(owner, {"cpunumber": 4, "memory": 512}, {})]
    [('machines 3 of 20', 1), ('cores 38 of 40', 4)]
    """
    cores, memory = (_amount(offering, key) or _amount(parameters, _CUSTOM[key]) for key in ("cpunumber", "memory"))
    taken = (("vm", "machines", 1), ("cpu", "cores", cores), ("memory", "MiB of memory", memory))
    read = ((limit_of(owner, key, what), each) for key, what, each in (*taken, ("volume", "volumes", 1)))
    return tuple(Quota(limit=limit, each=each) for limit, each in read if limit is not None)


def _amount(entry: object, key: str) -> int:
    """Return an integer, from JSON or text; 0: it is missing."""
    digits = str(entry.get(key)) if isinstance(entry, Mapping) else ""
    return int(digits) if digits.isascii() and digits.isdecimal() else 0
