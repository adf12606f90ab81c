"""An OpenNebula on loopback: its XML-RPC, documents, paging, states and refusals, as the real one has them.

Source: oned of OpenNebula 7.4 (``PoolSharedAPI``, ``DispatchManager::terminate``, ``Request::failure_message``), and
a real 7.0.2, with which ``tests/contracts/test_opennebula_bed_shapes.py`` compares it. The library `pyone`, which we
did not write, must be content with it.
"""

from __future__ import annotations

import contextlib
import threading
import time
import xmlrpc.client
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

from handler.orchestrators.opennebula.states import LCM_STATES
from tests.support.opennebula_documents import PENDING, Attributes, Vm, each, measured_xml, parsed, vm_xml
from tests.support.wire_server import Befallen, Fault, WireHandler, served

USER, PASSWORD = "fleet", "s3cr-et:& <of the wire>"
AUTHENTICATION, AUTHORISATION, NO_EXISTS, ACTION = 0x100, 0x200, 0x400, 0x800
API, INTERNAL, ALLOCATE, LOCKED = 0x1000, 0x2000, 0x4000, 0x8000
ACTIVE, DONE, POWEROFF = 3, 6, 8
RUNNING, EPILOG, SHUTDOWN, BOOT_FAILURE = 3, 11, 12, 36
_NONE = -2
"""As a quota: there is none."""
_FAILURES = {36, 37, 38, 39, 40, 41, 42, 44, 46, 47, 48, 49, 50, 61}


def refused(code: int, text: str, *, obeyed: bool = False) -> Fault:
    return Fault(status=200, body=_response([False, text, code, -1, -1]), obeyed=obeyed)


def answering(value: object, **more: Any) -> Fault:
    return Fault(status=200, body=_response([True, value, 0]), **more)


def _response(answer: list[object]) -> bytes:
    return xmlrpc.client.dumps((answer,), methodresponse=True).encode()


class ApiError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


@dataclass
class OpennebulaWire(Befallen):
    """One OpenNebula and who may use it."""

    clock: Callable[[], float] = time.time
    looks: int = 1
    quota: int = 1000
    cores: float = -1
    """Of the user; -1: what the defaults say, which is any number."""
    group_quota: int = _NONE
    descending: bool = True
    """``API_LIST_ORDER``, as it is delivered."""
    stubborn: bool = False
    """Guests do not stop when they are asked to."""
    users: dict[str, str] = field(default_factory=lambda: {USER: PASSWORD, "other": "theirs"})
    forbidden: set[str] = field(default_factory=set)
    templates: dict[int, tuple[str, Attributes]] = field(
        default_factory=lambda: {3: ("web", {"CPU": "1", "MEMORY": "1024", "NIC": {"NETWORK_ID": "0"}})}
    )
    networks: dict[int, str] = field(default_factory=lambda: {0: "tier", 1: "back"})
    vms: dict[int, Vm] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    """Ids that pools do not show yet."""
    failing: int = 0
    """How many of the next machines fail to boot."""
    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    before: Callable[[str], None] = lambda method: None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    # What is there

    def add(self, name: str, *, state: int = ACTIVE, lcm: int = RUNNING, **more: Any) -> Vm:
        """Put a machine there, ours or a foreign one."""
        number = len(self.vms) + 7
        template = more.pop("template", None) or {"CPU": "1", "NIC": [self._nic(0, number)]}
        vm = Vm(
            id=number,
            name=name,
            owner=more.pop("owner", USER),
            started=int(more.pop("started", self.clock())),
            template=template,
            user_template=more.pop("user_template", {}),
            state=state,
            lcm=lcm,
            **more,
        )
        if state == ACTIVE and not vm.hosts:
            vm.hosts = [("node1", 100)]
        self.vms[vm.id] = vm
        return vm

    def member(self, name: str, **more: Any) -> Vm:
        """A machine as this driver makes it."""
        return self.add(name, user_template={"TRIMTAB": name}, **more)

    def bearing(self, name: str) -> list[Vm]:
        marked = (vm for vm in self.vms.values() if vm.user_template.get("TRIMTAB") == name)
        return [vm for vm in marked if vm.state != DONE]

    @property
    def alive(self) -> list[str]:
        return sorted(vm.name for vm in self.vms.values() if vm.state != DONE)

    def count(self, method: str) -> int:
        return [called for called, _ in self.calls].count(method)

    def _nic(self, network: int, number: int) -> Attributes:
        address = f"10.{network + 1}.{number // 250}.{number % 250 + 1}"
        return {"NETWORK": self.networks[network], "NETWORK_ID": str(network), "IP": address, "NIC_ID": "0"}

    # One call

    def called(self, method: str, given: tuple[Any, ...]) -> tuple[Fault, bytes]:
        """Answer one call; the fault that befalls the answer, and the answer."""
        method = method.removeprefix("one.")
        with self._lock:
            try:
                user = self._user(method, given)
            except ApiError as error:
                return Fault(status=200), _response([False, error.text, error.code, -1, -1])
            self.calls.append((method, given[1:]))
            queue = self.faults[method]
            fault = queue.popleft() if queue else Fault(obeyed=True, status=200)
            if not fault.obeyed:
                return fault, fault.body
        self.before(method)
        with self._lock:
            try:
                answer = self._obey(method, user, given[1:])
            except ApiError as error:
                return Fault(status=200), _response([False, f"[one.{method}] {error.text}", error.code, -1, -1])
            except xmlrpc.client.Fault as undefined:
                return Fault(status=200), xmlrpc.client.dumps(undefined, methodresponse=True).encode()
        return fault, fault.body or _response([True, answer, 0])

    def _user(self, method: str, given: tuple[Any, ...]) -> str:
        user, _, password = str(given[0] if given else "").partition(":")
        if self.users.get(user) != password:
            raise ApiError(AUTHENTICATION, f"[one.{method}] User couldn't be authenticated, aborting call.")
        if method in self.forbidden:
            raise ApiError(AUTHORISATION, f"[one.{method}] User [2] : Not authorized to perform MANAGE VM [7].")
        return user

    def _obey(self, method: str, user: str, given: tuple[Any, ...]) -> Any:
        own = {
            "template.instantiate": partial(self._instantiate, user),
            "vm.info": partial(self._info, user),
            "vm.action": partial(self._action, user),
            "vm.update": partial(self._update, user),
            "vmpool.monitoring": partial(self._measured, user),
            "vmpool.infoextended": partial(self._pool, user),
            "templatepool.info": partial(
                self._named, "VMTEMPLATE", {own: name for own, (name, _) in self.templates.items()}
            ),
            "vnpool.info": partial(self._named, "VNET", self.networks),
            "system.version": lambda: "7.4.0",
            "user.info": lambda _: self._holder("USER", user),
            "group.info": lambda _: self._holder("GROUP", user),
            "template.info": lambda own, *_: self._template(own),
            "vn.info": lambda own, *_: self._one("VNET", own, self.networks),
        }
        if method not in own:
            raise xmlrpc.client.Fault(-506, f"Method 'one.{method}' not defined")
        return own[method](*given)

    def _instantiate(self, user: str, template: int, name: str, hold: bool, extra: str, persistent: bool) -> int:
        assert not persistent
        if template not in self.templates:
            raise ApiError(NO_EXISTS, f"Error getting virtual machine template [{template}].")
        if sum(vm.owner == user and vm.state != DONE for vm in self.vms.values()) >= self.quota:
            text = f"User [2] : user [2] limit of {self.quota} reached for VMS quota in VM."
            raise ApiError(AUTHORISATION, text)
        attributes = {**self.templates[template][1], **parsed(extra)}
        if 0 <= self.cores < self._cores_of(user) + float(attributes["CPU"]):
            raise ApiError(AUTHORISATION, f"User [2] : user [2] limit of {self.cores} reached for CPU quota in VM.")
        number = len(self.vms) + 7
        nics = [self._nic(self._network(nic), number) for nic in each(attributes.pop("NIC", []))]
        own = {key: attributes.pop(key) for key in ("CPU", "MEMORY", "VCPU", "DISK", "CONTEXT") if key in attributes}
        vm = self.add(name, owner=user, template={**own, "NIC": nics}, user_template=attributes, state=PENDING, lcm=0)
        vm.looks = self.looks
        if hold:
            vm.state = 2
        return vm.id

    def _network(self, nic: Attributes) -> int:
        network = int(nic["NETWORK_ID"])
        if network not in self.networks:
            why = f"Virtual network with ID: {network} does not exist"
            raise ApiError(ALLOCATE, f"Error allocating a new virtual machine template. {why}")
        return network

    def _known(self, id: int, user: str, right: str) -> Vm:
        if id not in self.vms:
            raise ApiError(NO_EXISTS, f"Error getting virtual machine [{id}].")
        if self.vms[id].owner != user:
            raise ApiError(AUTHORISATION, f"User [2] : Not authorized to perform {right} VM [{id}].")
        return self.vms[id]

    def _info(self, user: str, id: int, *_: bool) -> str:
        vm = self._known(id, user, "USE")
        self._go_on(vm)
        return vm_xml(vm, alone=True)

    def _action(self, user: str, action: str, id: int) -> int:
        vm = self._known(id, user, "MANAGE")
        vm.calls.append(action)
        if action == "resume" and vm.state == POWEROFF:
            vm.state, vm.lcm = ACTIVE, RUNNING
            return id
        assert action in {"terminate", "terminate-hard"}, action
        hard = action == "terminate-hard"
        if vm.state != ACTIVE or vm.lcm in _FAILURES:
            vm.state, vm.lcm = DONE, 0
        elif vm.lcm in {RUNNING, 16} or (vm.lcm == SHUTDOWN and hard):
            vm.lcm, vm.cut, vm.looks = SHUTDOWN, hard, self.looks
        else:
            why = f"Could not terminate VM {id}, wrong state {LCM_STATES[vm.lcm][0]}."
            raise ApiError(ACTION, f'Error performing action "{action}": {why}')
        return id

    def _update(self, user: str, id: int, text: str, how: int) -> int:
        vm = self._known(id, user, "MANAGE")
        vm.user_template = {**(vm.user_template if how == 1 else {}), **parsed(text)}
        return id

    def _go_on(self, vm: Vm) -> None:
        """What machines do by themselves goes on while they are looked at."""
        vm.looks -= 1
        if vm.looks > 0:
            return
        if vm.state == PENDING:
            vm.state, vm.lcm, vm.hosts = ACTIVE, BOOT_FAILURE if self.failing else RUNNING, [("node1", 100)]
            self.failing = max(self.failing - 1, 0)
        elif (vm.state, vm.lcm) == (ACTIVE, SHUTDOWN) and self.stubborn and not vm.cut:
            vm.lcm = RUNNING
        elif vm.state == ACTIVE and vm.lcm in {SHUTDOWN, EPILOG}:
            vm.state, vm.lcm = DONE, 0

    def _pool(self, user: str, whose: int, start: int, end: int, state: int) -> str:
        for vm in self.vms.values():
            self._go_on(vm)
        assert state == -1, "any but DONE"
        shown = [vm for vm in self.vms.values() if vm.state != DONE and vm.id not in self.hidden]
        if whose == -3:
            shown = [vm for vm in shown if vm.owner == user]
        return f"<VM_POOL>{''.join(vm_xml(vm) for vm in self._paged(shown, start, end))}</VM_POOL>"

    def _measured(self, user: str, whose: int, seconds: int) -> str:
        """Of machines that are gone, too, for as long as measurements are kept."""
        assert (whose, seconds) == (-3, 0), "the last of each machine of the user"
        return measured_xml(vm for vm in self.vms.values() if vm.owner == user and vm.id not in self.hidden)

    def _named(self, kind: str, entries: Mapping[int, str], whose: int, start: int, end: int) -> str:
        assert whose == -2
        pool = "VMTEMPLATE_POOL" if kind == "VMTEMPLATE" else "VNET_POOL"
        shown = [
            f"<{kind}><ID>{own}</ID><UID>0</UID><GID>0</GID><UNAME>oneadmin</UNAME><GNAME>oneadmin</GNAME>"
            f"<NAME>{escape(name)}</NAME></{kind}>"
            for own, name in sorted(entries.items())
        ]
        return f"<{pool}>{''.join(self._paged(shown, start, end))}</{pool}>"

    def _one(self, kind: str, own: int, entries: Mapping[int, str]) -> str:
        if own not in entries:
            what = "virtual machine template" if kind == "VMTEMPLATE" else "virtual network"
            raise ApiError(NO_EXISTS, f"Error getting {what} [{own}].")
        return f"<{kind}><ID>{own}</ID><NAME>{escape(entries[own])}</NAME></{kind}>"

    def _cores_of(self, user: str) -> float:
        return sum(
            float(vm.template.get("CPU", 0)) for vm in self.vms.values() if vm.owner == user and vm.state != DONE
        )

    def _template(self, own: int) -> str:
        template = self._one("VMTEMPLATE", own, {k: v[0] for k, v in self.templates.items()})
        single = {key: value for key, value in self.templates[own][1].items() if isinstance(value, str)}
        inside = "".join(f"<{key}><![CDATA[{value}]]></{key}>" for key, value in single.items())
        return template.replace("</VMTEMPLATE>", f"<TEMPLATE>{inside}</TEMPLATE></VMTEMPLATE>")

    def _holder(self, kind: str, user: str) -> str:
        """A user or a group with its quotas; a group has none of its own."""
        used = sum(vm.owner == user and vm.state != DONE for vm in self.vms.values())
        own = f"<VM><VMS>{self.quota if kind == 'USER' else -1}</VMS><VMS_USED>{used}</VMS_USED>"
        own += f"<CPU>{self.cores if kind == 'USER' else -1}</CPU><CPU_USED>{self._cores_of(user)}</CPU_USED></VM>"
        default = "" if self.group_quota == _NONE else f"<VM><VMS>{self.group_quota}</VMS></VM>"
        defaults = f"<DEFAULT_{kind}_QUOTAS><VM_QUOTA>{default}</VM_QUOTA></DEFAULT_{kind}_QUOTAS>"
        return f"<{kind}><ID>2</ID><NAME>{user}</NAME><VM_QUOTA>{own}</VM_QUOTA>{defaults}</{kind}>"

    def _paged(self, entries: list[Any], start: int, end: int) -> list[Any]:
        """An end below -1 is the size of a page, and the start an offset."""
        assert end < -1
        ordered = entries[::-1] if self.descending else entries
        return ordered[start : start - end]

    # Serving

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve it; the address of its API."""
        with served(_Handler, self) as address:
            yield f"{address}/RPC2"


class _Handler(WireHandler):
    wire: OpennebulaWire
    content_type = "text/xml"

    def answer(self) -> None:
        if self.command != "POST":
            self.send_error(501)
            return
        given, method = xmlrpc.client.loads(self.asked())
        self.give(*self.wire.called(method or "", given))
