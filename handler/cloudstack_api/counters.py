"""Counters: CloudStack's sources and values ↔ what a counter of the file measures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from config.document.places import Plain
from config.model.sections import Section
from handler.cloudstack_api.call import Call, JobResult, ListResult, begun, changeable, ended
from handler.cloudstack_api.faults import CloudstackFault, in_use, wrong
from handler.cloudstack_api.relations import refuse_used
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.view import View
from handler.operations.declaration_proposals import entries

PROVIDERS: Final = (
    "Netscaler", "VirtualRouter", "VpcVirtualRouter", "None", "Netris", "F5BigIp", "InternalLbVm", "NiciraNvp", "Nsx",
    "Tungsten", "SecurityGroupProvider", "BaremetalDhcpProvider", "BaremetalUserdataProvider", "ConfigDrive", "Ovs",
)  # fmt: skip
"""Of networks. What a counter measures does not depend on it here."""
_USUAL_PROVIDER: Final = {"NETSCALER": "Netscaler", "VIRTUALROUTER": "VirtualRouter"}
_KEYS: Final = {"SNMP": "snmp", "NETSCALER": "netscaler", "CPU": "cloudstack", "VIRTUALROUTER": "haproxy"}
_OF_CLOUD: Final[Mapping[tuple[str, str], Mapping[str, object]]] = {
    ("CPU", "vm.cpu.average.percentage"): {"cloudstack": "cpuused", "range": [0, 100]},
    ("CPU", "1.3.6.1.4.1.2021.11.9.1"): {"cloudstack": "cpuused", "range": [0, 100]},
    ("VIRTUALROUTER", "virtual.network.lb.average.connections"): {"haproxy": "scur"},
}
"""What CloudStack's own counters measure."""
_ANOTHER: Final = "measure it by SNMP, or by a counter of the balancer"


def body_of(source: str, value: str) -> Mapping[str, object]:
    """Return the document of a counter.

    Raises:
        CloudstackFault: there is no such source, or nothing measures this value.
    """
    source = source.upper()
    if source in {"SNMP", "NETSCALER"}:
        return {_KEYS[source]: value}
    if source not in {"CPU", "MEMORY", "VIRTUALROUTER"}:
        raise wrong(f"The Source {source} does not exist; Unable to create Counter")
    found = _OF_CLOUD.get((source, value.lower()))
    if found is None:
        raise wrong(f"The value {value} of source {source} is not measured here: {_ANOTHER}")
    return found


def provider_of(name: str | None, source: str, act: str) -> str:
    """Return the provider of a counter; left out, the usual one.

    Raises:
        CloudstackFault: there is no such provider.
    """
    if name is None:
        return _USUAL_PROVIDER.get(source.upper(), "None")
    for known in PROVIDERS:
        if known.lower() == name.lower():
            return known
    raise wrong(f"The Provider {name} does not exist; Unable to {act} Counter")


def shown(view: View, entity_id: str) -> Shown:
    """Return the fields of a counter."""
    key = Section.COUNTERS, entity_id
    details = view.handle(key).details
    source, value = _source_of(entries(view.declared, Section.COUNTERS)[entity_id], details)
    return {
        "id": view.uuid(key),
        "name": view.name(key),
        "source": source,
        "value": value,
        "provider": details.get("provider", _USUAL_PROVIDER.get(source, "None")),
    }


async def create(call: Call) -> JobResult:
    """Carry out createCounter."""
    arguments, view = call.arguments, call.view
    name, source, value = arguments.need("name"), arguments.need("source").upper(), arguments.need("value")
    body, provider = body_of(source, value), provider_of(arguments.text("provider"), source, "create")
    keys = ((Section.COUNTERS, entity_id) for entity_id in view.ids(Section.COUNTERS))
    if any(view.name(key) == name and view.account(key) == view.by.account for key in keys):
        raise wrong(f"Counter with name {name} and value {value} already exists. ")
    details = {"source": source, "value": value, "provider": provider}
    made = await call.changes.make(Section.COUNTERS, name, body, details)
    return begun(made, name)


async def delete(call: Call) -> JobResult:
    """Carry out deleteCounter."""
    key = changeable(call, Section.COUNTERS)
    refuse_used(call.view, key, in_use("Counter is in use."))
    done = ended(call.view, key, is_gone=True)
    await call.changes.delete(key)
    return done


async def listed(call: Call) -> ListResult:
    """Carry out listCounters."""
    arguments, view = call.arguments, call.view
    provider = arguments.text("provider")
    wanted = None if provider is None else provider_of(provider, "", "list")
    source, name = arguments.text("source"), arguments.text("name")
    objects = [shown(view, entity_id) for entity_id in view.listed(arguments, Section.COUNTERS)]
    return ListResult(
        kind="counter",
        objects=[
            each
            for each in objects
            if (source is None or each["source"] == source.upper())
            and (wanted is None or each["provider"] == wanted)
            and (name is None or name.lower() in str(each["name"]).lower())
        ],
    )


def _source_of(body: Mapping[str, Plain], details: Mapping[str, str]) -> tuple[str, str]:
    """Return the source and the value of a counter: as a client gave them, unless it measures something else now."""
    found, given = _measured(body), (details.get("source", ""), details.get("value", ""))
    try:
        return given if _measured(body_of(*given)) == found else found
    except CloudstackFault:
        return found


def _measured(body: Mapping[str, object]) -> tuple[str, str]:
    """Return the source and the value that a document itself has."""
    names = {key: name for name, key in _KEYS.items()}
    for key, value in body.items():
        if key in _SOURCE_KEYS:
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            return names.get(key, key.upper()), text
    return "", ""


_SOURCE_KEYS: Final = frozenset({
    "snmp", "haproxy", "netscaler", "prometheus", "push", "http", "plugin", "alert", "opennebula", "cloudstack", "nova",
    "gnocchi", "builtin",
})  # fmt: skip
