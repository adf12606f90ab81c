"""Attributes that expressions name → counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from config.oneflow.notes import Fate, Note
from config.oneflow.policies import Entry

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


def counters_for(attributes: Iterable[str], declared: Iterable[str]) -> Mapping[str, Entry]:
    """One counter for each attribute, which members push as they push it to OneGate.

    Args:
        attributes: as expressions have them, in upper case.
        declared: counters that there are already; OneFlow's names have no case.

    >>> dict(counters_for(["ATT", "CPU"], ["Cpu"]))
    {'att': {'push': 'ATT'}}
    """
    there = {name.upper() for name in declared}
    return {name.lower(): {"push": name} for name in dict.fromkeys(attributes) if name not in there}


def remarks(counters: Mapping[str, Entry]) -> Iterator[Note]:
    """Say which values come from where from now on."""
    for name, entry in counters.items():
        attribute = str(entry["push"])
        if attribute in _MEASURED:
            said = f"{attribute}: {_MEASURED[attribute]}. Nobody pushes it yet: do so, or give counters.{name} a source"
            yield Note(fate=Fate.UNMAPPED, where=(), said=said)
        else:
            said = f"{attribute} → counters.{name}: pushed by members, as to OneGate, at least once in an interval"
            yield Note(fate=Fate.MAPPED, where=(), said=said)
