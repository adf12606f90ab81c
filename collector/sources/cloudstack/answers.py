"""What CloudStack's answers mean to counters: a page of virtual machines, and the value of a field of one of them.

Source: CloudStack 4.22: ``listVirtualMachinesMetrics`` (`ListVMsMetricsCmd`, `UserVmResponse`), `StatsCollector` and
``listCapabilities``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collector.clients.http.failures import Failure, refused
from collector.clients.json_once import loads
from collector.numbers import number
from collector.samples import Reply
from config.counters.cloud_measures import CLOUDSTACK_FIELDS, CLOUDSTACK_MOVED

PAGE = 100
"""Machines that are asked for at a time."""
_OK = 200
_UNAUTHORISED = 401
_PARAMETER = 431
_SINCE = (4, 17)
"""Before that CloudStack adds up what has moved since it was started itself, and cannot be asked not to."""
_MARK, _TAG, _RELEASED = "trimtab", "trimtab", "trimtab-released"
_MOST = re.compile(r"max allowed page size value: ([1-9][0-9]{0,5})", re.ASCII)
_SHARE = re.compile(r"([0-9]+(?:[.,][0-9]+)?) ?%", re.ASCII)
_FREE, _ALL = "memoryintfreekbs", "memorykbs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One virtual machine, as far as counters need it."""

    name: str
    """Which member it is, of whatever installation, by its tag, its mark or its host name; empty: none."""
    display: str
    """Which member it is called like, if no other machine is that; empty: none."""
    runs: bool
    measured: Mapping[str, object]
    """Field → as it came; equal as long as CloudStack has not measured anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some of an account's machines."""

    machines: Sequence[Machine]
    whole: bool
    """It is the last."""


def decode(body: bytes, status: int, *, before: int = 0, size: int = PAGE) -> Page | Failure:
    """Read one page. What CloudStack says in words is not repeated: it may hold the key.

    Args:
        body: JSON.
        status: of HTTP.
        before: how many machines the pages before this one had.
        size: how many were asked for.

    >>> import json
    >>> vm = {"name": "web-k3f9ab-1", "state": "Running", "cpuused": "31.5%", "memorykbs": 2097152}
    >>> said = {"listvirtualmachinesmetricsresponse": {"count": 1, "virtualmachine": [vm]}}
    >>> page = decode(json.dumps(said).encode(), 200)
    >>> look_up(page.machines[0], "cpuused"), look_up(page.machines[0], "memorykbs"), page.whole
    (31.5, 2097152.0, True)
    >>> decode(b"<html>", 200)
    Failure(reply=<Reply.MALFORMED: 5>, said='what answers there does not speak the API of CloudStack')
    """
    said = _inside(body, status)
    if isinstance(said, Failure):
        return said
    listed, count = said.get("virtualmachine", []), said.get("count", 0)
    if not isinstance(listed, list) or not isinstance(count, int):
        return _MALFORMED
    machines = tuple(_machine(entry) for entry in listed if isinstance(entry, dict))
    return Page(machines=machines, whole=not listed or (len(listed) < size and before + len(listed) >= count))


def can_tell_what_moved(body: bytes, status: int) -> bool | Failure:
    """Read from ``listCapabilities`` whether network and disk fields are those of one collection.

    >>> can_tell_what_moved(b'{"listcapabilitiesresponse": {"capability": {"cloudstackversion": "4.19.1.0"}}}', 200)
    True
    """
    said = _inside(body, status)
    if isinstance(said, Failure):
        return said
    told = said.get("capability")
    version = told.get("cloudstackversion") if isinstance(told, dict) else None
    read = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(\D|$)", version) if isinstance(version, str) else None
    return _MALFORMED if read is None else (int(read[1]), int(read[2])) >= _SINCE


def largest_page(body: bytes, status: int) -> int | None:
    """How many entries a page may have, where CloudStack refuses one for its size: its ``default.page.size``.

    >>> import json
    >>> said = {"errorcode": 431, "errortext": "Page size can't exceed max allowed page size value: 50"}
    >>> largest_page(json.dumps({"listprojectsresponse": said}).encode(), 431)
    50
    """
    if status != _PARAMETER:
        return None
    said = _MOST.search(body.decode(errors="replace"))
    return None if said is None else int(said[1])


def project_called(name: str, body: bytes, status: int) -> str | Failure:
    """Read from ``listProjects`` which id the project of that name has.

    >>> project_called("shop", b'{"listprojectsresponse": {"project": [{"id": "p1", "name": "shop"}]}}', 200)
    'p1'
    """
    said = _inside(body, status)
    if isinstance(said, Failure):
        return said
    listed = said.get("project", [])
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    ids = {_text(entry.get("id")) for entry in entries if entry.get("name") == name} - {""}
    if len(ids) != 1:
        return Failure(
            reply=Reply.AUTH, said=f"{len(ids)} projects that the account is in have the name of the cloud's"
        )
    return ids.pop()


_MALFORMED = Failure(reply=Reply.MALFORMED, said="what answers there does not speak the API of CloudStack")


def _inside(body: bytes, status: int) -> Mapping[str, object] | Failure:
    """What is in an answer's envelope, whose only key is named after the command."""
    try:
        answer = loads(body)
    except (ValueError, RecursionError):
        return _MALFORMED if status == _OK else refused(status)
    inside = next(iter(answer.values())) if isinstance(answer, dict) and len(answer) == 1 else None
    if not isinstance(inside, dict):
        return _MALFORMED if status == _OK else refused(status)
    return inside if status == _OK else _refused(status, inside.get("errorcode"))


def _refused(status: int, code: object) -> Failure:
    if _UNAUTHORISED in (status, code):
        said = "CloudStack does not know the key and its signature, or the account's role does not have the command"
        return Failure(reply=Reply.AUTH, said=said)
    if isinstance(code, int):
        return Failure(reply=Reply.UNREACHABLE, said=f"CloudStack answers with the error {code}")
    return refused(status)


def _machine(entry: Mapping[str, object]) -> Machine:
    name, display = _names(entry)
    return Machine(
        name=name,
        display=display,
        runs=entry.get("state") == "Running",
        measured={name: entry[name] for name in CLOUDSTACK_FIELDS if name in entry},
    )


def _names(entry: Mapping[str, object]) -> tuple[str, str]:
    """Who it is, and whom it is called like. Tags have the last word; short host names leave only what is shown."""
    tags, details = entry.get("tags"), entry.get("details")
    given = (
        {tag.get("key"): tag.get("value") for tag in tags if isinstance(tag, dict)} if isinstance(tags, list) else {}
    )
    if given.keys() & {_TAG, _RELEASED}:
        return _text(given.get(_TAG)), ""
    mark = _text(details.get(_MARK)) if isinstance(details, dict) else ""
    return (mark, "") if mark else (_text(entry.get("name")), _text(entry.get("displayname")))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def look_up(machine: Machine, field: str, *, moved: bool = True) -> float | Failure:
    """Find the value of a field.

    Args:
        machine: that runs.
        field: a key of `config.counters.cloud_measures.CLOUDSTACK_FIELDS`.
        moved: whether this CloudStack tells what has moved in one collection.

    >>> told = {"memorykbs": 8, "memoryintfreekbs": 8}
    >>> look_up(Machine(name="", display="", runs=True, measured=told), "memoryintfreekbs").said
    'the hypervisor cannot look into the guest'
    """
    if field in CLOUDSTACK_MOVED and not moved:
        said = f"before 4.17 CloudStack adds {field} up, and does not say since when"
        return Failure(reply=Reply.NO_SUCH_COUNTER, said=said)
    if field not in machine.measured:
        return Failure(reply=Reply.NO_SUCH_COUNTER, said=f"CloudStack has not measured {field}")
    value = _read(machine.measured[field])
    if value is None:
        return Failure(reply=Reply.MALFORMED, said=f"{field} is no number")
    if value < 0 or (field == _FREE and value >= (_read(machine.measured.get(_ALL)) or 0.0)):
        return Failure(reply=Reply.NO_SUCH_COUNTER, said="the hypervisor cannot look into the guest")
    return value


def _read(said: object) -> float | None:
    """A number, or text that is one or a percentage; some of CloudStack's languages write a decimal comma."""
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    share = _SHARE.fullmatch(said.strip()) if isinstance(said, str) else None
    read = number(str(said) if share is None else share[1].replace(",", "."))
    return None if isinstance(read, Reply) else read
