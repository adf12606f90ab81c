"""A OneFlow server on loopback, before an OpenNebula of the same kind: its documents, states, locks and plain refusals.

Source: oneflow-server of OpenNebula 7.0 (``oneflow-server.rb``, ``LifeCycleManager.rb``, ``vmrole.rb``), and what one
that runs answered; for roles of 6.10, ``role.rb`` of that release. What it does by itself goes on while it is asked.
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from tests.support.opennebula_wire import ACTIVE, DONE, POWEROFF, USER, ApiError, OpennebulaWire, Vm
from tests.support.opennebula_wire import RUNNING as VM_RUNNING
from tests.support.wire_server import Befallen, Fault, WireHandler, served

DEPLOYING, RUNNING, WARNING, SCALING, FAILED_SCALING, COOLDOWN = 1, 2, 4, 8, 9, 10
WORDS = {1: "DEPLOYING", 2: "RUNNING", 4: "WARNING", 8: "SCALING", 9: "FAILED_SCALING", 10: "COOLDOWN"}
_FAILURES = {36, 37, 38, 39, 40, 41, 42, 44, 46, 47, 48, 49, 50, 61}
_SET_ASIDE = {4, 5, 8, 9}
_SERVICE_FIXED = (
    "deployment",
    "log",
    "name",
    "networks",
    "networks_values",
    "ready_status_gate",
    "state",
    "start_time",
)
_ROLE_FIXED = ("cardinality", "last_vmname", "nodes", "parents", "state", "template_id", "vm_template")

Body = dict[str, Any]


class Refusal(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


@dataclass
class OneflowWire(Befallen):
    """Services, and the machines that they are made of."""

    nebula: OpennebulaWire
    naming: str = "$ROLE_NAME_$VM_NUMBER_(service_$SERVICE_ID)"
    old: bool = False
    """Roles are those of 6.10: without a type, and what they give to their nodes is text."""
    patience: int = 0
    """How many looks a scaling or a cooldown lasts beyond its machines."""
    services: dict[int, Body] = field(default_factory=dict)
    owners: dict[int, str] = field(default_factory=dict)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    before: Callable[[str], None] = lambda call: None
    forgetful: bool = False
    """The next scaling dies before it is written down: machines are there, and the document does not know them."""
    _waits: dict[int, int] = field(default_factory=dict)
    _ran: dict[int, bool] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    # What is there

    def service(self, name: str, *roles: str, nodes: int = 0, owner: str = USER, **more: Any) -> int:
        """Put a service there, with so many nodes of each role."""
        own_id = len(self.services) + 3
        kind = {"vm_template": 3} if self.old else {"type": "vm", "template_id": 3, "template_contents": {}}
        made = [{"name": role, "cardinality": nodes, **json.loads(json.dumps(kind)), **more} for role in roles]
        body = {
            "name": name,
            "deployment": "none",
            "roles": made,
            "state": RUNNING,
            "log": [],
            "start_time": 1769853600,
        }
        self.services[own_id], self.owners[own_id] = body, owner
        for role in made:
            role |= {"state": RUNNING, "nodes": [], "last_vmname": 0}
            role.setdefault("cooldown", 0)
            self._deploy(own_id, role)
            for node in role["nodes"]:
                vm = self.nebula.vms[node["deploy_id"]]
                vm.state, vm.lcm, vm.looks = ACTIVE, VM_RUNNING, 0
        return own_id

    def role(self, service: int, name: str) -> Body:
        return next(role for role in self.services[service]["roles"] if role["name"] == name)

    def nodes(self, service: int, name: str) -> list[int]:
        return [node["deploy_id"] for node in self.role(service, name)["nodes"]]

    def count(self, call: str) -> int:
        return [called for called, _ in self.calls].count(call)

    # One call

    def called(self, verb: str, path: str, header: str, body: bytes) -> tuple[Fault, bytes]:
        call, own_id = _call(verb, path)
        try:
            with self._lock:
                user = self._user(header)
                given = json.loads(body) if body else None
                self.calls.append((call, given))
                queue = self.faults[call]
                fault = queue.popleft() if queue else Fault(obeyed=True, status=200)
            if not fault.obeyed:
                return fault, fault.body
            self.before(call)
            with self._lock:
                answer = self._obey(call, own_id, given, user)
        except Refusal as refused:
            return Fault(status=refused.status, headers=(("Content-Type", "text/html"),)), refused.text.encode()
        if answer is None and fault.status == 200:
            return Fault(status=204), b""
        return fault, fault.body or json.dumps(answer).encode()

    def _user(self, header: str) -> str:
        kind, _, known = header.partition(" ")
        if kind != "Basic":
            raise Refusal(401, "A username and password must be provided")
        user, _, password = base64.b64decode(known).decode().partition(":")
        if self.nebula.users.get(user) != password:
            raise Refusal(401, "Invalid credentials")
        return user

    def _obey(self, call: str, own_id: int, given: Any, user: str) -> Any:
        self.go_on()
        if call == "POOL":
            entries = [self._document(each) for each in self.services if self.owners[each] == user]
            return {"DOCUMENT_POOL": {"DOCUMENT": entries} if entries else {}}
        if own_id not in self.services:
            raise Refusal(404, f"[one.document.info] Error getting document [{own_id}].")
        if call == "GET":
            return {"DOCUMENT": self._document(own_id)}
        if call == "PUT":
            return self._update(own_id, given)
        if call == "scale":
            return self._scale(own_id, given["role_name"], int(given["cardinality"]), force=given["force"])
        assert given["action"]["perform"] == "recover", given
        return self._recover(own_id)

    def _document(self, own_id: int) -> Body:
        body = json.loads(json.dumps(self.services[own_id]))
        return {
            "ID": str(own_id),
            "UID": "2",
            "GID": "1",
            "UNAME": self.owners[own_id],
            "GNAME": "users",
            "NAME": body["name"],
            "TYPE": "100",
            "TEMPLATE": {"BODY": body},
        }

    def _update(self, own_id: int, given: Body) -> None:
        body = self.services[own_id]
        if body["state"] not in {RUNNING, WARNING}:
            raise Refusal(500, f"Service cannot be updated in state: {WORDS[body['state']]}")
        for key in _SERVICE_FIXED:
            if given.get(key) != body.get(key):
                raise Refusal(500, f"Immutable value: `service/{key}` can not be changed")
        for role in given["roles"]:
            for key in _ROLE_FIXED:
                if role.get(key) != self.role(own_id, role["name"]).get(key):
                    raise Refusal(500, f"Immutable value: `role/{key}` can not be changed")
        self.services[own_id] = given

    def _scale(self, own_id: int, name: str, size: int, *, force: bool) -> None:
        body = self.services[own_id]
        if body["state"] != RUNNING:
            raise Refusal(500, f"Service cannot be scaled in state: {WORDS[body['state']]}")
        role = next((role for role in body["roles"] if role["name"] == name), None)
        if role is None:
            raise Refusal(500, f"Role {name} not found")
        if not force and size > role.get("max_vms", size):
            raise Refusal(500, f"Can't scale service {own_id}: Maximum cardinality is {role['max_vms']}")
        assert size > role["cardinality"], "a scale-in by OneFlow removes the oldest"
        self._log(body, f"Role {name} scaling up from {role['cardinality']} to {size} nodes")
        if self.forgetful:
            self.forgetful = False
            self._deploy(own_id, json.loads(json.dumps(role)) | {"cardinality": size})
            raise Refusal(502, "Bad Gateway")
        role["cardinality"] = size
        self._try(own_id, role)

    def _try(self, own_id: int, role: Body) -> None:
        body = self.services[own_id]
        before = len(role["nodes"])
        failed = self._deploy(own_id, role)
        self._states(body, role, FAILED_SCALING if failed else SCALING)
        self._waits[own_id] = self.patience
        role["waiting"] = [node["deploy_id"] for node in role["nodes"][before:]]
        if failed:
            self._log(body, failed, severity="E")
            raise Refusal(500, f"Error deploying role {role['name']}: {failed}")

    def _deploy(self, own_id: int, role: Body) -> str:
        contents = {**_given(role), "SERVICE_ID": str(own_id), "ROLE_NAME": role["name"]}
        extra = "".join(f"<{key}>{escape(str(value))}</{key}>" for key, value in contents.items())
        for _ in range(role["cardinality"] - len(role["nodes"])):
            name = self.naming.replace("$SERVICE_ID", str(own_id)).replace("$ROLE_NAME", role["name"])
            name = name.replace("$SERVICE_NAME", self.services[own_id]["name"])
            name = name.replace("$VM_NUMBER", str(role["last_vmname"]))
            role["last_vmname"] += 1
            arguments = (
                role.get("template_id", role.get("vm_template")),
                name,
                False,
                f"<TEMPLATE>{extra}</TEMPLATE>",
                False,
            )
            try:
                vm = self.nebula._obey("template.instantiate", self.owners[own_id], arguments)
            except ApiError as error:
                return (
                    f"Error instantiating VM Template 3 in Role {role['name']}: [one.template.instantiate] {error.text}"
                )
            role["nodes"].append({"deploy_id": vm, "vm_info": {"VM": {"ID": str(vm), "NAME": name}}})
        return ""

    def _recover(self, own_id: int) -> None:
        body = self.services[own_id]
        role = next((role for role in body["roles"] if role["state"] == FAILED_SCALING), None)
        if role is None:
            raise Refusal(500, f"Service cannot be recovered in state: {WORDS[body['state']]}")
        with contextlib.suppress(Refusal):  # the real one fails in a thread of its own
            self._try(own_id, role)

    # What it does by itself

    def go_on(self) -> None:
        with self._lock:
            for each in self.services:
                self._go_on(each)

    def _go_on(self, own_id: int) -> None:
        body = self.services[own_id]
        for role in body["roles"]:
            if role["state"] == SCALING:
                self._watch_scaling(own_id, body, role)
            if role["state"] == COOLDOWN and self._waited(own_id):
                self._states(body, role, RUNNING)
            if body["state"] in {RUNNING, WARNING}:
                self._watch(body, role)

    def _waited(self, own_id: int) -> bool:
        self._waits[own_id] = self._waits.get(own_id, 0) - 1
        return self._waits[own_id] < 0

    def _watch_scaling(self, own_id: int, body: Body, role: Body) -> None:
        new = [self._looked_at(vm) for vm in role["waiting"]]
        if any(vm.state == ACTIVE and vm.lcm in _FAILURES for vm in new):
            self._states(body, role, FAILED_SCALING)
        elif all(_has_come(vm) for vm in new) and self._waited(own_id):
            self._drop(body, role, {vm.id for vm in new if vm.state == DONE})
            self._states(body, role, COOLDOWN)
            self._waits[own_id] = self.patience

    def _watch(self, body: Body, role: Body) -> None:
        nodes = [self._looked_at(node["deploy_id"]) for node in role["nodes"]]
        self._drop(body, role, {vm.id for vm in nodes if vm.state == DONE})
        for vm in nodes:
            if vm.state == POWEROFF or (vm.state == ACTIVE and vm.lcm in {16, *_FAILURES}):
                self._states(body, role, WARNING)
            runs = (vm.state, vm.lcm) == (ACTIVE, VM_RUNNING)
            if runs and not self._ran.get(vm.id, True) and role["state"] == WARNING:  # only who begins to run ends it
                self._states(body, role, RUNNING)
            self._ran[vm.id] = runs

    def _looked_at(self, own_id: int) -> Vm:
        vm = self.nebula.vms[own_id]
        self.nebula._go_on(vm)
        return vm

    def _drop(self, body: Body, role: Body, gone: set[int]) -> None:
        if gone:
            role["nodes"] = [node for node in role["nodes"] if node["deploy_id"] not in gone]
            self._log(body, f"Role {role['name']} scaling down to {role['cardinality'] - len(gone)} nodes")
            role["cardinality"] -= len(gone)

    def _states(self, body: Body, role: Body, state: int) -> None:
        if role["state"] != state:
            role["state"] = body["state"] = state
            self._log(body, f"New state: {WORDS[state]}")

    def _log(self, body: Body, message: str, severity: str = "I") -> None:
        entry = {"timestamp": int(self.nebula.clock()), "severity": severity, "message": message}
        body["log"] = [*body["log"], entry][-50:]

    # Serving

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve it; its address."""
        with served(_Handler, self) as address:
            yield address


class _Handler(WireHandler):
    wire: OneflowWire

    def answer(self) -> None:
        self.give(*self.wire.called(self.command, self.path, self.headers.get("Authorization", ""), self.asked()))


def _call(verb: str, path: str) -> tuple[str, int]:
    parts = path.strip("/").split("/")
    assert parts[0] == "service", path
    if len(parts) == 1:
        return "POOL", 0
    return (parts[2] if len(parts) > 2 else verb), int(parts[1])


def _given(role: Body) -> Body:
    """What its nodes get: 7.0 looks at one key only, and 6.10 at another."""
    if "vm_template" not in role:
        return role.get("template_contents") or {}
    lines = (line.partition("=") for line in (role.get("vm_template_contents") or "").splitlines())
    return {key.strip(): value.strip().strip('"') for key, _, value in lines if key.strip()}


def _has_come(vm: Vm) -> bool:
    return vm.state in {DONE, *_SET_ASIDE} or (vm.state, vm.lcm) == (ACTIVE, VM_RUNNING)
