"""What CloudStack's answers mean to counters: virtual machines, and the value of a field of one of them.

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
"""Before that CloudStack adds up what has moved since it was started itself, and cannot be asked not to."""
_MARK, _TAG, _RELEASED = "trimtab", "trimtab", "trimtab-released"
_SHARE = re.compile(r"([0-9]+(?:[.,][0-9]+)?) ?%", re.ASCII)
_FREE, _ALL = "memoryintfreekbs", "memorykbs"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackUsage:
    """One virtual machine, as far as counters need it."""

    name: str
    """Which member it is, of whatever installation, by its tag, its mark or its host name; empty: none."""
    display: str
    """Which member it is called like, if no other machine is that; empty: none."""
    runs: bool
    measured: Mapping[str, object]
    """Field → as it came; equal as long as CloudStack has not measured anew."""


def can_tell_what_moved(answer: Mapping[str, object]) -> bool | HttpFailure:
    """Read from ``listCapabilities`` whether network and disk fields are those of one collection.

    >>> can_tell_what_moved({"capability": {"cloudstackversion": "4.19.1.0"}})
    True
    """
    told = answer.get("capability")
    version = told.get("cloudstackversion") if isinstance(told, dict) else None
    read = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(\D|$)", version) if isinstance(version, str) else None
    if read is None:
        return HttpFailure(reply=Reply.MALFORMED, said="CloudStack does not tell its version")
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
    """Who it is, and whom it is called like. Tags have the last word; short host names leave only what is shown."""
    given = tags_of(entry.get("tags"))
    if given.keys() & {_TAG, _RELEASED}:
        return given.get(_TAG, ""), ""
    mark = text(entry.get("details"), _MARK)
    return (mark, "") if mark else (text(entry, "name"), text(entry, "displayname"))


def look_up(machine: CloudstackUsage, field: str, *, moved: bool = True) -> float | HttpFailure:
    """Find the value of a field.

    Args:
        machine: that runs.
        field: a key of `config.counters.cloud_measures.CLOUDSTACK_FIELDS`.
        moved: whether this CloudStack tells what has moved in one collection.

    >>> told = {"memorykbs": 8, "memoryintfreekbs": 8}
    >>> look_up(CloudstackUsage(name="", display="", runs=True, measured=told), "memoryintfreekbs").said
    'the hypervisor cannot look into the guest'
    """
    if field in CLOUDSTACK_MOVED and not moved:
        said = f"before 4.17 CloudStack adds {field} up, and does not say since when"
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, said=said)
    if field not in machine.measured:
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, said=f"CloudStack has not measured {field}")
    value = _read(machine.measured[field])
    if value is None:
        return HttpFailure(reply=Reply.MALFORMED, said=f"{field} is no number")
    if value < 0 or (field == _FREE and value >= (_read(machine.measured.get(_ALL)) or 0.0)):
        return HttpFailure(reply=Reply.NO_SUCH_COUNTER, said="the hypervisor cannot look into the guest")
    return value


def _read(said: object) -> float | None:
    """A number, or text that is one or a percentage; some of CloudStack's languages write a decimal comma."""
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    share = _SHARE.fullmatch(said.strip()) if isinstance(said, str) else None
    read = number(str(said) if share is None else share[1].replace(",", "."))
    return None if isinstance(read, Reply) else read
