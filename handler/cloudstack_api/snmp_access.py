"""How members' SNMP agents are reached: a port, and a community that is a secret unless it is ``public``."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from typing import Final

from config.document.places import Plain
from config.errors import TrimtabError
from config.model.access import SecretRef, SnmpAccess
from config.model.sections import Section
from config.units import ProfileId
from handler.cloudstack_api.call import Call
from handler.cloudstack_api.faults import wrong
from handler.cloudstack_api.parameters import Arguments
from handler.operations.declaration_proposals import entries

AGENT_KEYS: Final = ("snmpcommunity", "snmpport")
_PUBLIC: Final = "public"
_LAST_PORT: Final = 65535


def given_agent(arguments: Arguments) -> Mapping[str, str]:
    """Return what a request says of the agents, in today's form or that of 2012.

    Raises:
        CloudstackFault: a counter parameter is unknown, or the port is none.
    """
    found = {name.lower(): value for name, value in (arguments.pairs("counterparam") or {}).items()}
    for name in AGENT_KEYS:
        value = arguments.values.get(name)
        if value is not None:
            found[name] = str(value)
    unknown = sorted(set(found) - set(AGENT_KEYS))
    if unknown:
        raise wrong(f"Unsupported counterparam key: {unknown[0]}. Supported values are {list(AGENT_KEYS)}")
    port = found.get("snmpport", "161")
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) <= _LAST_PORT:
        raise wrong(f"snmpport is an invalid value: {port}")
    return found


def agent_of(call: Call, given: Mapping[str, str], before: Plain) -> dict[str, Plain]:
    """Return the key ``snmp`` of a profile. A secret is kept as a reference that the file has, never as it is.

    Args:
        call: the command.
        given: what it says of the agents; the rest stays.
        before: the key as it was.

    Raises:
        CloudstackFault: no profile of the file knows this community.
    """
    found: dict[str, Plain] = dict(before) if isinstance(before, dict) else {}
    if "snmpport" in given:
        found["port"] = int(given["snmpport"])
    if "snmpcommunity" in given:
        found.pop("community", None)
        if given["snmpcommunity"] != _PUBLIC:
            found["community"] = _reference_to(call, given["snmpcommunity"])
    return found


def _reference_to(call: Call, community: str) -> Plain:
    for reference, written in _known(call):
        try:
            if hmac.compare_digest(call.read_secret(reference).encode(), community.encode()):
                return written
        except TrimtabError:
            continue  # another profile's secret that cannot be read now
    raise wrong(
        "snmpcommunity is kept as a reference only: declare a profile in the file whose snmp.community refers to this "
        "one, and give it again; or use public"
    )


def _known(call: Call) -> Iterator[tuple[SecretRef, Plain]]:
    """Yield the communities that profiles of the file refer to, as references and as they are written."""
    declared, catalogue = call.view.declared, call.view.catalogue
    for entity_id, body in entries(declared, Section.PROFILES).items():
        snmp, profile = body.get("snmp"), catalogue.profiles.get(ProfileId(entity_id))
        if isinstance(snmp, dict) and profile is not None and profile.snmp.community is not None:
            yield profile.snmp.community, snmp["community"]


def shown_agent(details: Mapping[str, str], access: SnmpAccess) -> Mapping[str, str]:
    """Return how agents are reached, as far as a client has said it: as it stands now. No secret is shown."""
    now = {"snmpcommunity": None if access.community else _PUBLIC, "snmpport": str(access.port)}
    return {name: value for name, value in now.items() if name in details and value is not None}
