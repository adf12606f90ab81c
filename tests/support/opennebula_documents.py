"""Machines of an OpenNebula that is not there, and its documents about them.

Source: oned of OpenNebula 7.4 (``VirtualMachine::to_xml_extended``, ``VirtualMachineMonitorInfo::to_xml``), and the
answers of a real 7.0.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

PENDING = 1
Attributes = dict[str, Any]
"""A template: single values, vectors, or lists of either."""


@dataclass
class Vm:
    id: int
    name: str
    owner: str
    started: int
    template: Attributes
    user_template: Attributes
    state: int = PENDING
    lcm: int = 0
    hosts: list[tuple[str, int]] = field(default_factory=list)
    """Where it has been: hosts, and the clusters that they are in."""
    monitoring: Attributes = field(default_factory=dict)
    polled: int = 0
    """When it was measured last."""
    looks: int = 1
    """Looks at it until what it is at has ended."""
    cut: bool = False
    """It is switched off, whatever its guest says."""
    calls: list[str] = field(default_factory=list)
    """The actions that it was told."""


def parsed(text: str) -> Attributes:
    """Read a template as OpenNebula does where it begins with ``<``; names are upper case to it."""
    read: Attributes = {}
    for child in ElementTree.fromstring(text):  # noqa: S314 of our own driver
        value: Any = {each.tag: each.text or "" for each in child} if len(child) else child.text or ""
        name = child.tag.upper()
        read[name] = [*each(read[name]), value] if name in read else value
    return read


def each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _template(attributes: Attributes) -> str:
    text = ""
    for name, values in attributes.items():
        for value in each(values):
            inner = _template(value) if isinstance(value, dict) else escape(value)
            text += f"<{name}>{inner}</{name}>"
    return text


def record_of(vm: Vm) -> Attributes:
    """What was measured last, with machine and time among it."""
    return {**vm.monitoring, "ID": str(vm.id), "TIMESTAMP": str(vm.polled)}


def measured_xml(vms: Iterable[Vm]) -> str:
    """The last measurement of each machine that was ever measured."""
    records = (f"<MONITORING>{_template(record_of(vm))}</MONITORING>" for vm in vms if vm.polled)
    return f"<MONITORING_DATA>{''.join(records)}</MONITORING_DATA>"


def vm_xml(vm: Vm, *, alone: bool = False) -> str:
    """One machine, as it is shown ``alone`` or in a pool: a pool knows nothing of what was measured."""
    polled, monitoring = (vm.polled, record_of(vm)) if alone and vm.polled else (0, {})
    history = "".join(
        f"<HISTORY><OID>{vm.id}</OID><SEQ>{number}</SEQ><HOSTNAME>{host}</HOSTNAME><HID>0</HID><CID>{cluster}</CID>"
        f"<STIME>{vm.started}</STIME><ETIME>0</ETIME><VM_MAD><![CDATA[kvm]]></VM_MAD><TM_MAD><![CDATA[ssh]]></TM_MAD>"
        f"<DS_ID>0</DS_ID><ACTION>0</ACTION></HISTORY>"
        for number, (host, cluster) in enumerate(vm.hosts)
    )
    return (
        f"<VM><ID>{vm.id}</ID><UID>2</UID><GID>1</GID><UNAME>{escape(vm.owner)}</UNAME><GNAME>users</GNAME>"
        f"<NAME>{escape(vm.name)}</NAME><PERMISSIONS><OWNER_U>1</OWNER_U><OWNER_M>1</OWNER_M><OWNER_A>0</OWNER_A>"
        "<GROUP_U>0</GROUP_U><GROUP_M>0</GROUP_M><GROUP_A>0</GROUP_A><OTHER_U>0</OTHER_U><OTHER_M>0</OTHER_M>"
        f"<OTHER_A>0</OTHER_A></PERMISSIONS><LAST_POLL>{polled}</LAST_POLL><STATE>{vm.state}</STATE>"
        f"<LCM_STATE>{vm.lcm}</LCM_STATE><PREV_STATE>{vm.state}</PREV_STATE><PREV_LCM_STATE>{vm.lcm}</PREV_LCM_STATE>"
        f"<RESCHED>0</RESCHED><STIME>{vm.started}</STIME><ETIME>0</ETIME><DEPLOY_ID/>"
        f"<MONITORING>{_template(monitoring)}</MONITORING><SCHED_ACTIONS></SCHED_ACTIONS>"
        f"<TEMPLATE>{_template(vm.template)}</TEMPLATE><USER_TEMPLATE>{_template(vm.user_template)}</USER_TEMPLATE>"
        f"<HISTORY_RECORDS>{history}</HISTORY_RECORDS><BACKUPS><BACKUP_CONFIG/><BACKUP_IDS/></BACKUPS></VM>"
    )
