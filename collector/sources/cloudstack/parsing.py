"""Decode CloudStack's answers for counters: virtual machines, and the value of a field of one of them.

Source: CloudStack 4.22: ``listVirtualMachinesMetrics`` (`ListVMsMetricsCmd`, `UserVmResponse`), `StatsCollector` and
``listCapabilities``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collector.clients.cloudstack.parsing import tags_of, text
from collector.clients.http.failures import HttpFailure
from collector.parsing import number
from collector.samples import Reply
from config.counters.cloud_measures import CLOUDSTACK_FIELDS, CLOUDSTACK_MOVED

_SINCE = (4, 17)
"""Older versions add network and disk traffic up since CloudStack's own start, without a way to turn that off."""
_MARK, _TAG, _RELEASED = "trimtab", "trimtab", "trimtab-released"
_SHARE = re.compile(r"([0-9]+(?:[.,][0-9]+)?) ?%", re.ASCII)
_FREE, _ALL = "memoryintfreekbs", "memorykbs"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackUsage:
    """The fields of a virtual machine that counters need."""

    name: str
    """The member, of any installation, by the tag, mark or host name; empty: none."""
    display: str
    """The member with its display name, if no other machine is that member; empty: none."""
    runs: bool
    measured: Mapping[str, object]
    """Field → raw value; equal until CloudStack measures again."""


def reports_traffic(answer: Mapping[str, object]) -> bool | HttpFailure:
    """Read from ``listCapabilities`` whether network and disk fields cover a single collection period.

    >>> reports_traffic({"capability": {"cloudstackversion": "4.19.1.0"}})
    True
    """
    capability = answer.get("capability")
    version = capability.get("cloudstackversion") if isinstance(capability, dict) else None
    read = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(\D|$)", version) if isinstance(version, str) else None
    if read is None:
        return HttpFailure(reply=Reply.MALFORMED, detail="CloudStack does not report its version")
    return (int(read[1]), int(read[2])) >= _SINCE


def machine_of(entry: Mapping[str, object]) -> CloudstackUsage:
    """Read one virtual machine of a listing.

    >>> vm = {"name": "web-k3f9ab-1", "state": "Running", "cpuused": "31.5%", "memorykbs": 2097152}
    >>> look_up(machine_of(vm), "cpuused"), look_up(machine_of(vm), "memorykbs")
    (31.5, 2097152.0)
    """
    name, display = _names(entry)
    return CloudstackUsage(
        name=name,
        display=display,
        runs=entry.get("state") == "Running",
        measured={name: entry[name] for name in CLOUDSTACK_FIELDS if name in entry},
    )


def _names(entry: Mapping[str, object]) -> tuple[str, str]:
    """Return the member and the display name's member. Tags come first; a short host name leaves the display name."""
    given = tags_of(entry.get("tags"))
    if given.keys() & {_TAG, _RELEASED}:
        return given.get(_TAG, ""), ""
    mark = text(entry.get("details"), _MARK)
    return (mark, "") if mark else (text(entry, "name"), text(entry, "displayname"))


def look_up(machine: CloudstackUsage, field: str, *, moved: bool = True) -> float | HttpFailure:
    """Return the value of a field.

    Args:
        machine: must be running.
        field: a key of `config.counters.cloud_measures.CLOUDSTACK_FIELDS`.
        moved: whether this CloudStack reports traffic per collection period.

    >>> measured = {"memorykbs": 8, "memoryintfreekbs": 8}
    >>> look_up(CloudstackUsage(name="", display="", runs=True, measured=measured), "memoryintfreekbs").detail
    'the hypervisor cannot look into the guest'
    """
    if field in CLOUDSTACK_MOVED and not moved:
        detail = f"before version 4.17 CloudStack adds {field} up from an unreported start"
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=detail)
    if field not in machine.measured:
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"CloudStack has not measured {field}")
    value = _read(machine.measured[field])
    if value is None:
        return HttpFailure(reply=Reply.MALFORMED, detail=f"{field} is not a number")
    if value < 0 or (field == _FREE and value >= (_read(machine.measured.get(_ALL)) or 0.0)):
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="the hypervisor cannot look into the guest")
    return value


def _read(value: object) -> float | None:
    """Read a number, or text with a number or percentage; some of CloudStack's locales use a decimal comma."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    share = _SHARE.fullmatch(value.strip()) if isinstance(value, str) else None
    read = number(str(value) if share is None else share[1].replace(",", "."))
    return None if isinstance(read, Reply) else read
