"""Attributes that expressions name → counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from config.counters.cloud_measures import OPENNEBULA_ATTRIBUTES
from config.importers.oneflow.policies import Entry
from config.importers.oneflow.template import Note, NoteKind
from config.model.counters import CounterKind

_RISES = (
    "OpenNebula counts it from the start of a VM, and compares the count; as {kind: counter} it is a rate per second "
    "here, and the threshold another number"
)
_MEASURED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "CPU": "OpenNebula measures it from outside, in percent, 100 for each core",
        "MEMORY": "OpenNebula measures it from outside, in KB (a VM without measurements has its template's MB)",
        **dict.fromkeys(("NETRX", "NETTX"), _RISES),
        **dict.fromkeys(("DISKRDBYTES", "DISKWRBYTES", "DISKRDIOPS", "DISKWRIOPS"), _RISES),
        "VCPU": "it stands in a VM's template and never changes",
    }
)
"""What OpenNebula knows of every VM without the guest's help. Source: its monitoring records."""


def counters_for(
    attributes: Iterable[str], declared: Iterable[str], *, on_opennebula: bool = False
) -> Mapping[str, Entry]:
    """One counter for each attribute: read where OneFlow reads it, or else pushed by members as to OneGate.

    Args:
        attributes: as expressions have them, in upper case.
        declared: counters that there are already; OneFlow's names have no case.
        on_opennebula: members are virtual machines of OpenNebula.

    >>> dict(counters_for(["ATT", "CPU"], ["Cpu"]))
    {'att': {'push': 'ATT'}}
    >>> dict(counters_for(["ATT", "NETTX", "MEMORY"], [], on_opennebula=True))
    {'att': {'opennebula': 'ATT'}, 'nettx': {'opennebula': 'NETTX', 'kind': 'gauge'}, \
'memory': {'opennebula': 'MEMORY', 'unit': 'KiB'}}
    """
    there = {name.upper() for name in declared}
    wanted = [name for name in dict.fromkeys(attributes) if name not in there]
    return {name.lower(): _looked_up(name) if on_opennebula else {"push": name} for name in wanted}


def _looked_up(name: str) -> Entry:
    """With the numbers that OneFlow compares: counts as they stand, and memory in KB."""
    known = OPENNEBULA_ATTRIBUTES.get(name)
    if known is not None and known.kind is CounterKind.RISING:
        return {"opennebula": name, "kind": "gauge"}
    return {"opennebula": name, "unit": "KiB"} if name == "MEMORY" else {"opennebula": name}


def notes_on(counters: Mapping[str, Entry]) -> Iterator[Note]:
    """Say which values come from where from now on."""
    for name, entry in counters.items():
        yield _of_opennebula(name, entry) if "opennebula" in entry else _pushed(name, str(entry["push"]))


def _of_opennebula(name: str, entry: Entry) -> Note:
    attribute = str(entry["opennebula"])
    if "kind" in entry:
        text = (
            f"{attribute} → counters.{name}: the count itself is compared; without kind: gauge it is a rate per second"
        )
        return Note(kind=NoteKind.KEPT, where=(), text=text)
    text = f"{attribute} → counters.{name}: read from OpenNebula, where guests and hypervisors leave it"
    return Note(kind=NoteKind.MAPPED, where=(), text=text)


def _pushed(name: str, attribute: str) -> Note:
    if attribute in _MEASURED:
        text = (
            f"{attribute}: {_MEASURED[attribute]}. No member pushes it yet: push it, or give counters.{name} a source"
        )
        return Note(kind=NoteKind.UNMAPPED, where=(), text=text)
    text = f"{attribute} → counters.{name}: pushed by members, as to OneGate, at least once in an interval"
    return Note(kind=NoteKind.MAPPED, where=(), text=text)
