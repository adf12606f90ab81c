"""Every key of the reference is described, and what the page shows is what the loader takes and does."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from config.document.declared import IF_LEFT_OUT, NO_UNIT, UNIT
from config.document.places import read_places
from config.document.profile_keys import FURTHER, NEEDED, PROGRAM
from config.document.reference import (
    REFERENCE,
    ReferenceTable,
    anchor_of,
    choice_of,
    default_of,
    inline,
    main,
    reference_text,
    sections,
)
from config.document.schema import schema
from config.errors import DeclarationError
from config.load import parse
from config.model.catalogue import Catalogue

WHOLE = schema()
SECTIONS = {section.name: section for section in sections(WHOLE)}
SECRET = {"env": "SECRET"}
NEBULA = {"endpoint": "http://one.example.org:2633/RPC2", "user": "fleet", "password": SECRET}
STACK = {"endpoint": "https://cloud.example.org/client/api", "api_key": SECRET, "secret": SECRET}
BASE: dict[str, Any] = {
    "sources": {
        "prom": {"prometheus": {"url": "http://127.0.0.1:9090"}},
        "appliance": {
            "netscaler": {"url": "https://192.0.2.10", "user": "trimtab", "password": SECRET, "service_group": "web"}
        },
    },
    "counters": {
        "cpu": {"snmp": "UCD-SNMP-MIB::ssCpuUser.0"},
        "wanted": {"push": "WANTED", "per": "group"},
        "ttfb": {"push": "TTFB", "unit": "ms"},
        "requests": {"push": "REQUESTS"},
    },
    "conditions": {"busy": {"counter": "cpu", "above": 80}, "idle": {"counter": "cpu", "below": 20}},
    "policies": {"out": {"when": ["busy"], "add": 2}, "in": {"when": ["idle"], "remove": 1}},
    "clouds": {
        "local": {"process": {}},
        "toy": {"simulated": {}},
        "prod": {"openstack": {"cloud": "prod"}},
        "stack": {"cloudstack": STACK},
        "nebula": {"opennebula": NEBULA},
        "kvm": {"libvirt": {"uri": "qemu:///system"}},
        "flow": {"oneflow": NEBULA | {"endpoint": "http://one.example.org:2474", "rpc": NEBULA["endpoint"]}},
    },
    "balancers": {"edge": {"haproxy": {"socket": "/run/haproxy/admin.sock", "backend": "web"}}},
    "profiles": {"web": {"cloud": "local", "command": ["/usr/bin/web"]}},
    "groups": {"web": {"profile": "web", "min": 2, "max": 40, "policies": ["out", "in"]}},
    "alerts": {"depth": {"match": {"alertname": "Depth"}, "groups": ["web"], "value": "depth", "ttl": "15m"}},
}
"""What examples may refer to. They stand beside it, under a name of their own."""
KINDS = {
    "process": "local",
    "openstack": "prod",
    "cloudstack": "stack",
    "opennebula": "nebula",
    "oneflow": "flow",
    "libvirt": "kvm",
}
APART = object()
"""In place of a value: the key goes away."""
UNCONDITIONAL = {"when": APART, "duration": APART}
BY_CALENDAR = UNCONDITIONAL | {"schedule": "0 9 * * mon-fri"}
LIMITING = BY_CALENDAR | {"add": APART, "until": "0 19 * * mon-fri"}
QUERY = {"snmp": APART, "prometheus": "up"}
V3 = {"version": "3", "user": "trimtab"}
CERTIFIED = {"certificate": "/etc/trimtab/tls.pem", "key": "/etc/trimtab/tls.key"}
BESIDE: Mapping[tuple[str, str], Mapping[str, object]] = {
    **dict.fromkeys((("PolicyDocument", key) for key in ("target", "pass_through", "schedule", "at")), UNCONDITIONAL),
    ("PolicyDocument", "forecast"): UNCONDITIONAL,
    **dict.fromkeys((("PolicyDocument", key) for key in ("missed", "timezone")), BY_CALENDAR),
    **dict.fromkeys((("PolicyDocument", key) for key in ("floor", "ceiling")), LIMITING),
    ("PolicyDocument", "until"): LIMITING | {"floor": 6},
    ("PolicyDocument", "in_a_row"): {"duration": APART},
    ("PolicyDocument", "match"): {"when": ["busy", "idle"]},
    ("PolicyDocument", "by"): {"add": APART, "steps": [{"over": 0, "add": 1}]},
    ("TargetDocument", "value"): {"counter": "ttfb"},
    ("TargetDocument", "each"): {"counter": "wanted"},
    ("ForecastLoadDocument", "from"): {"each": "learned"},
    ("PassThroughDocument", "quorum"): {"counter": "cpu"},
    ("SnmpDocument", "user"): V3,
    ("SnmpDocument", "auth"): V3,
    ("SnmpDocument", "priv"): V3 | {"auth": {"sha256": SECRET}},
    ("ManagedDocument", "rule"): {"cloud": "stack"},
    ("HealthMonitorDocument", "type"): {"url_path": APART},
    ("PersistenceDocument", "cookie_name"): {"type": "APP_COOKIE"},
    ("ConditionDocument", "expression"): {"counter": APART},
    ("ConditionDocument", "dialect"): {"counter": APART, "above": APART, "expression": "cpu > 80"},
    ("ConditionDocument", "per_member"): {"across": "sum"},
    ("ConditionDocument", "above"): {"counter": "ttfb"},
    ("NotifyDocument", "secret"): {"command": APART},
    ("SecretDocument", "field"): {"file": APART},
    ("ListenDocument", "address"): CERTIFIED,
    ("ListenDocument", "clients"): CERTIFIED,
    ("CounterDocument", "server"): QUERY,
    ("CounterDocument", "label"): QUERY,
    ("CounterDocument", "over"): QUERY | {"rows": "avg"},
    ("CounterDocument", "rows"): {"snmp": "HOST-RESOURCES-MIB::hrProcessorLoad"},
    ("HttpCounterDocument", "url"): {"port": APART, "path": APART},
    ("HttpCounterDocument", "jsonpath"): {"metric": APART},
}
"""What a key needs in the same mapping, and what it cannot stand beside."""
EXISTING = {("managed", "vip"): APART, ("managed", "loadbalancer"): "front"}
FRONT = {("parts", "front"): {"port": {"network": "web-tier"}}}
AROUND: Mapping[tuple[str, str], Mapping[tuple[str, str], object]] = {
    ("PoolDocument", "id"): EXISTING,
    ("HealthMonitorDocument", "id"): EXISTING | {("managed", "pool"): {"id": "4bbc9fbf"}},
    ("PartDocument", "address"): FRONT,
    ("AddressDocument", "network"): FRONT,
    ("AddressDocument", "port"): FRONT,
}
"""What a key needs further out, under a key of its entity."""
OF_THIS_MACHINE = ("no plugin 'weather' is installed", "/etc/trimtab/mibs", "/etc/trimtab/holidays.ics")
"""Refusals of examples that say nothing about the example: what it names is only not here."""


def example_of(name: str, key: str) -> Any:
    return copy.deepcopy(SECTIONS[name].mapping["properties"][key]["examples"][0])


def put(name: str, mapping: dict[str, Any], key: str, value: object) -> None:
    """Write a key with what must stand beside it, and without what must not."""
    of = SECTIONS[name].mapping
    for rival in choice_of(of) if key in choice_of(of) else ():
        mapping.pop(rival, None)
    for other in of.get("dependentRequired", {}).get(key, ()):
        mapping.setdefault(other, example_of(name, other))
    for other, beside in BESIDE.get((name, key), {}).items():
        mapping.pop(other, None) if beside is APART else mapping.update({other: copy.deepcopy(beside)})
    if name == "ProfileDocument":
        _on_a_cloud_that_has(mapping, key)
    mapping[key] = value


def _on_a_cloud_that_has(mapping: dict[str, Any], key: str) -> None:
    kinds = {kind: {*NEEDED[kind], *FURTHER[kind]} for kind in NEEDED} | {"process": {*PROGRAM}}
    kind = next((kind for kind, keys in kinds.items() if key in keys), "openstack" if key == "parts" else "process")
    mapping.clear()
    mapping |= {other: example_of("ProfileDocument", other) for other in NEEDED.get(kind, ("command",))}
    mapping["cloud"] = KINDS[kind]


def document(section: ReferenceTable, key: str, value: object) -> dict[str, Any]:
    """A whole file in which the key of a mapping has a value, at the first place of the mapping."""
    place = section.places[0]
    whole = copy.deepcopy(BASE)
    entries = next(iter(WHOLE["properties"][place[0]]["examples"]))
    single = not WHOLE["properties"][place[0]].get("patternProperties")
    first = copy.deepcopy(entries if single else next(iter(entries.values())))
    name, mapping = _name_of(WHOLE["properties"][place[0]]), first
    for step in place[1:]:
        inner = example_of(name, step)
        put(name, mapping, step, inner)
        name, mapping = _name_of(SECTIONS[name].mapping["properties"][step]), _mapping_in(inner, step)
    put(name, mapping, key, value)
    for (outer, inner_key), around in AROUND.get((name, key), {}).items():
        first[outer].pop(inner_key, None) if around is APART else first[outer].update({inner_key: around})
    if name == "SecretDocument":
        whole["vault"] = copy.deepcopy(WHOLE["properties"]["vault"]["examples"][0])
    whole |= {place[0]: first if single else {**whole.get(place[0], {}), "example": first}}
    return whole


def _mapping_in(inner: Any, step: str) -> Any:
    """The mapping in which to go on: the value itself, the first of a list, or what a name leads to."""
    if isinstance(inner, list):
        del inner[1:]
        return inner[0]
    return next(iter(inner.values())) if step in {"parts", "zones", "rules"} else inner


def _name_of(value: Mapping[str, Any]) -> str:
    inner = next(each for each in (value, value.get("items", {}), *value.get("patternProperties", {}).values())
                 if "$ref" in each)  # fmt: skip
    return str(inner["$ref"]).rpartition("/")[2]


def keys() -> Iterator[tuple[ReferenceTable, str, Mapping[str, Any]]]:
    for section in SECTIONS.values():
        for key, value in section.mapping["properties"].items():
            yield section, key, value


def examples() -> Iterator[object]:
    for section, key, value in keys():
        for number, example in enumerate(value["examples"]):
            yield pytest.param(section, key, example, id=f"{section.title}.{key}-{number}")


def defaults() -> Iterator[object]:
    for section, key, value in keys():
        if "default" in value and IF_LEFT_OUT not in value and section.name != "PluginDocument":  # none is installed
            yield pytest.param(section, key, value["default"], id=f"{section.title}.{key}")


def loaded(whole: object) -> Catalogue:
    """What the loader makes of it, without where and how it is written."""
    nothing: Mapping[Any, Any] = MappingProxyType({})
    return replace(parse(json.dumps(whole), "example.yaml"), sites=nothing, written=nothing)


@pytest.mark.parametrize(("section", "key", "example"), list(examples()))
def test_an_example_is_taken_by_the_loader(section: ReferenceTable, key: str, example: object) -> None:
    try:
        loaded(document(section, key, example))
    except DeclarationError as refused:
        assert all(any(why in str(each) for why in OF_THIS_MACHINE) for each in refused.problems), refused  # noqa: PT017


@pytest.mark.parametrize(("section", "key", "default"), list(defaults()))
def test_a_default_written_out_means_the_same_as_leaving_the_key_out(
    section: ReferenceTable, key: str, default: object
) -> None:
    written = document(section, key, default)
    assert loaded(written) == loaded(_without(section, key, written))


def _without(section: ReferenceTable, key: str, written: dict[str, Any]) -> dict[str, Any]:
    whole = copy.deepcopy(written)
    place = section.places[0]
    mapping = whole[place[0]]
    mapping = mapping.get("example", mapping)
    for step in place[1:]:
        mapping = _mapping_in(mapping[step], step)
    del mapping[key]
    return whole


@pytest.mark.parametrize("key", list(WHOLE["properties"]))
def test_the_example_of_a_whole_section_is_taken_by_the_loader(key: str) -> None:
    value = WHOLE["properties"][key]
    example = value["examples"][0]
    whole = BASE | {key: BASE.get(key, {}) | example if "patternProperties" in value else example}
    try:
        loaded(whole)
    except DeclarationError as refused:
        assert all(any(why in str(each) for why in OF_THIS_MACHINE) for each in refused.problems), refused  # noqa: PT017


@pytest.mark.parametrize(
    ("section", "key", "value"), list(keys()), ids=lambda part: part if isinstance(part, str) else ""
)
def test_every_key_has_a_meaning_an_example_a_type_and_a_default(
    section: ReferenceTable, key: str, value: Mapping[str, Any]
) -> None:
    assert value["description"].endswith(".") or value["description"].endswith("…"), value
    assert value["examples"]
    assert default_of(key, value, section.mapping) or key in choice_of(section.mapping), "say what holds without it"
    worded = {"title", "$ref", "enum", "const"} & value.keys() or value.get("type") in {"array", "object", "boolean"}
    assert worded or UNIT in value, "say with `unit` what it counts, or with `worded` what it is"
    assert value.get(UNIT, NO_UNIT)


@pytest.mark.parametrize(("section", "key", "example"), list(examples()))
def test_an_example_as_the_page_shows_it_reads_as_the_value_that_is_meant(
    section: ReferenceTable, key: str, example: object
) -> None:
    assert read_places(f"it: {inline(example)}\n", "page").data == {"it": example}


def test_the_page_that_is_kept_is_the_one_of_the_document() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference_text()


def test_a_stale_page_is_reported_with_its_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reference.md"
    assert main(["--check"], path) == 1
    assert "make reference" in capsys.readouterr().err
    assert main([], path) == 0
    assert main(["--check"], path) == 0


def test_the_links_of_the_page_lead_to_its_headings() -> None:
    text = reference_text()
    headings = {anchor_of(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= headings


def test_every_mapping_of_the_document_has_one_table() -> None:
    mappings = {name for name, each in WHOLE["$defs"].items() if name.endswith("Document")}
    assert mappings == SECTIONS.keys()
