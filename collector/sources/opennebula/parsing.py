"""Decode OpenNebula's answers for counters: a page of virtual machines, and an attribute of one of them.

A pool lists machines without their measurements, which come in another answer.

Source: XML-RPC (one.vmpool.infoextended, one.vmpool.monitoring), ``vm_pool.xsd`` and ``monitoring_data.xsd`` of
OpenNebula 7.4; answers of a real 7.0.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from xml.etree.ElementTree import Element

from collector.clients.http.failures import HttpFailure
from collector.clients.opennebula.messages import MALFORMED, PAGE, ErrorCode, OpennebulaRefused, call, opened
from collector.parsing import number
from collector.samples import Reply
from config.counters.cloud_measures import OPENNEBULA_ATTRIBUTES
from config.model.node_orders import ORDER, ordered

_OWN, _NOT_DONE, _LAST = -3, -1, 0
_ACTIVE, _RUNNING = "3", "3"
_MEASURED, _RESERVED = "MONITORING", "TEMPLATE"
_PLACES = ("USER_TEMPLATE", _MEASURED, _RESERVED)

Attributes = Mapping[str, str | None]
"""Attribute → text; ``None``: a vector, or several of that name."""


class Value(NamedTuple):
    """A number, and when it was measured: seconds since the epoch by OpenNebula's clock; ``None``: unknown."""

    value: float
    taken: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaUsage:
    """The parts of a virtual machine that counters need."""

    id: str
    member: str
    """The member, of any installation; empty: none."""
    runs: bool
    monitored_at: float = 0.0
    """Seconds since the epoch; 0: never."""
    places: Mapping[str, Attributes]
    """Attributes by section. The machine's own are in ``VM``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaPage:
    """Some of a user's machines, in the order of their ids, without measurements."""

    machines: Sequence[OpennebulaUsage]
    count: int
    """Less than `PAGE`: this is the last page."""


def question(session: str, offset: int) -> bytes:
    """Encode the call for one page."""
    return call(session, "vmpool.infoextended", _OWN, offset, -PAGE, _NOT_DONE)


def measured_question(session: str) -> bytes:
    """Encode the call for the last measurement of all machines of the user."""
    return call(session, "vmpool.monitoring", _OWN, _LAST)


def decode_measured(body: bytes) -> Mapping[str, Attributes] | HttpFailure:
    """Decode the last measurements, by machine id; some of the machines may be gone.

    >>> record = "<MONITORING><CPU><![CDATA[12.5]]></CPU><ID><![CDATA[7]]></ID><TIMESTAMP>1769853600</TIMESTAMP>"
    >>> import xmlrpc.client
    >>> answer = [True, f"<MONITORING_DATA>{record}</MONITORING></MONITORING_DATA>", 0]
    >>> decode_measured(xmlrpc.client.dumps((answer,), methodresponse=True).encode())
    {'7': {'CPU': '12.5', 'ID': '7', 'TIMESTAMP': '1769853600'}}
    """
    root = _document(body, "MONITORING_DATA")
    if isinstance(root, HttpFailure):
        return root
    records = [_attributes(entry) for entry in root.findall(_MEASURED)]
    return {own_id: record for record in records if (own_id := record.get("ID"))}


def measured(machine: OpennebulaUsage, record: Attributes) -> OpennebulaUsage:
    """Return the machine with its last measurement."""
    taken = number(record.get("TIMESTAMP") or "")
    at = 0.0 if isinstance(taken, Reply) else taken
    return replace(machine, monitored_at=at, places={**machine.places, _MEASURED: record})


def decode(body: bytes) -> OpennebulaPage | HttpFailure:
    """Decode one page. OpenNebula's own error texts are not repeated: they may hold a password.

    >>> import xmlrpc.client
    >>> vm = '<VM><ID>7</ID><NAME>web-k3f9ab-1</NAME><LAST_POLL>0</LAST_POLL><STATE>3</STATE>'
    >>> vm += '<LCM_STATE>3</LCM_STATE><MONITORING></MONITORING><TEMPLATE><VCPU>2</VCPU></TEMPLATE>'
    >>> vm += '<USER_TEMPLATE><TRIMTAB>web-k3f9ab-1</TRIMTAB></USER_TEMPLATE></VM>'
    >>> answer = [True, f"<VM_POOL>{vm}</VM_POOL>", 0]
    >>> page = decode(xmlrpc.client.dumps((answer,), methodresponse=True).encode())
    >>> machine = measured(page.machines[0], {"CPU": "12.5", "TIMESTAMP": "1769853600"})
    >>> machine.member, look_up(machine, "CPU"), look_up(machine, "VCPU")
    ('web-k3f9ab-1', Value(value=12.5, taken=1769853600.0), Value(value=2.0, taken=None))
    >>> decode(b"<html>")
    HttpFailure(reply=<Reply.MALFORMED: 5>, detail='the endpoint does not speak XML-RPC')
    """
    root = _document(body, "VM_POOL")
    if isinstance(root, HttpFailure):
        return root
    machines = tuple(_machine(entry) for entry in root.findall("VM"))
    return OpennebulaPage(machines=machines, count=len(machines))


def _document(body: bytes, tag: str) -> Element | HttpFailure:
    """Return the document of a successful answer."""
    found = opened(body)
    match found:
        case HttpFailure():
            return found
        case OpennebulaRefused():
            return _refused(found)
        case Element(tag=root) if root == tag:
            return found
        case _:
            return MALFORMED


def _refused(refused: OpennebulaRefused) -> HttpFailure:
    match refused.fault:
        case ErrorCode.AUTHENTICATION:
            return HttpFailure(reply=Reply.AUTH, detail="OpenNebula does not recognise the user")
        case ErrorCode.AUTHORISATION:
            return HttpFailure(reply=Reply.AUTH, detail="OpenNebula does not allow the user to list machines")
        case _:
            return HttpFailure(reply=Reply.UNREACHABLE, detail=f"OpenNebula answers with the error {refused.code:#x}")


def _machine(entry: Element) -> OpennebulaUsage:
    places = {place: _attributes(entry.find(place)) for place in _PLACES} | {"VM": _attributes(entry)}
    own, user = places["VM"], places["USER_TEMPLATE"]
    mark = user.get("TRIMTAB") or ""
    agrees = own.get("NAME") == mark or (user.get("TRIMTAB_VM") or "none") == own.get("ID")
    return OpennebulaUsage(
        id=own.get("ID") or "",
        member=mark if agrees else "" if mark else ordered(user.get(ORDER) or "", own.get("NAME") or ""),
        runs=(own.get("STATE"), own.get("LCM_STATE")) == (_ACTIVE, _RUNNING),
        places=places,
    )


def _attributes(place: Element | None) -> Attributes:
    found: dict[str, str | None] = {}
    for child in () if place is None else place:
        usable = len(child) == 0 and child.tag not in found
        found[child.tag] = (child.text or "") if usable else None
    return found


def look_up(machine: OpennebulaUsage, attribute: str) -> Value | HttpFailure:
    """Return an attribute: from USER_TEMPLATE, MONITORING, TEMPLATE or the machine itself, in this order.

    Attributes that hypervisors measure are never read from TEMPLATE, unlike in OneFlow: TEMPLATE holds the reserved
    amount, in another unit, which would pass for load until the first measurement.
    """
    for place in (*_PLACES, "VM"):
        if attribute not in machine.places[place] or (place == _RESERVED and attribute in OPENNEBULA_ATTRIBUTES):
            continue
        text = machine.places[place][attribute]
        read = Reply.MALFORMED if text is None else number(text)
        if isinstance(read, Reply):
            return HttpFailure(reply=read, detail=f"{attribute} in {place} is not a number")
        return Value(read, machine.monitored_at if place == _MEASURED and machine.monitored_at else None)
    return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"the machine has no attribute {attribute}")
