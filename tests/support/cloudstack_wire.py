"""A CloudStack on loopback: its signing, envelopes, paging, jobs, states and refusals, as the real one has them.

Source: the wire protocol of CloudStack 4.22. The library `cs`, which we did not write, must be content with it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import re
import threading
import time
import urllib.parse
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tests.support.wire_server import Befallen, Fault, WireHandler, served

Answer = tuple[int, dict[str, Any]]

KEY, SECRET = "pi1oR8tYkeyQ", "s3cr-et+/= of the wire"
UNSEEN = "unable to verify user credentials and/or request signature"
_MOST = 500
_USER_DATA = {"GET": 4096, "POST": 4 * 2**20}
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]")
_OF_PROJECTS = {"network", "affinitygroup"}
_ENVELOPES = {"listServiceOfferings": "serviceoffering", "listAffinityGroups": "affinitygroup"}


def error(code: int, text: str, *, obeyed: bool = False) -> Fault:
    body = {"errorresponse": {"uuidList": [], "errorcode": code, "errortext": text}}
    return Fault(status=code, body=json.dumps(body).encode(), obeyed=obeyed)


class ApiError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


@dataclass
class Vm:
    id: str
    name: str
    display: str
    details: dict[str, str]
    networks: tuple[str, ...]
    address: str | None
    created: float
    state: str = "Stopped"
    given: dict[str, str] = field(default_factory=dict)
    """The whole call that made it."""
    tags: dict[str, str] = field(default_factory=dict)
    project: str | None = None
    measured: dict[str, Any] = field(default_factory=dict)
    """What StatsCollector has of it."""


@dataclass
class Job:
    polls: int
    """Looks at it or at listings until it has ended."""
    end: Callable[[], Answer]
    vm: str | None = None
    ended: Answer | None = None


@dataclass
class CloudstackWire(Befallen):
    """One account of one cloud."""

    clock: Callable[[], float] = time.time
    polls: int = 1
    quota: int = 1000
    cores: int | None = None
    """Of the account; ``None``: as many as it likes."""
    version: str = "4.22.0.0"
    may_expunge: bool = True
    forbidden: set[str] = field(default_factory=set)
    """Commands that the account's role does not have."""
    secrets: dict[str, str] = field(default_factory=lambda: {KEY: SECRET})
    vms: dict[str, Vm] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    """Ids that listings do not show yet."""
    jobs: dict[str, Job] = field(default_factory=dict)
    failing: deque[tuple[int, str]] = field(default_factory=deque)
    """How the next deployments' jobs fail."""
    calls: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    queries: set[str] = field(default_factory=set)
    """What stood in addresses, after the question mark."""
    most: int = _MOST
    user_data: int = 32768
    """The setting ``vm.userdata.max.length``."""
    things: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {
            "zone": [{"name": "par1"}, {"name": "par2"}],
            "template": [{"name": "web"}],
            "serviceoffering": [{"name": "small", "cpunumber": 2, "cpuspeed": 1000, "memory": 2048}],
            "network": [{"name": "tier"}, {"name": "back"}],
            "affinitygroup": [{"name": "apart"}],
            "project": [{"name": "fleet", "state": "Active", "vmlimit": "10", "vmtotal": 2}],
            "account": [{"name": "shop"}],
        }
    )
    before: Callable[[str], None] = lambda command: None
    _numbers: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        for kind, entries in self.things.items():
            for entry in entries:
                entry.setdefault("id", self.mint(f"{kind} {entry['name']}"))

    # What is there

    def add(self, name: str, *, state: str = "Running", **more: Any) -> Vm:
        """Put a machine there, ours or a foreign one."""
        self._numbers += 1
        vm = Vm(
            id=self.mint(f"vm {self._numbers}"),
            name=name,
            display=more.pop("display", name),
            details=more.pop("details", {}),
            networks=more.pop("networks", ("tier",)),
            address=f"10.1.{self._numbers // 250}.{self._numbers % 250 + 1}",
            created=more.pop("created", self.clock()),
            state=state,
            **more,
        )
        self.vms[vm.id] = vm
        return vm

    def bearing(self, name: str) -> list[Vm]:
        """Machines with this host or display name that are not destroyed."""
        return [vm for vm in self.vms.values() if name in {vm.name, vm.display} and vm.state != "Destroyed"]

    @property
    def alive(self) -> list[str]:
        return sorted(vm.display for vm in self.vms.values() if vm.state not in {"Destroyed", "Expunging"})

    def count(self, command: str) -> int:
        return [called for called, _ in self.calls].count(command)

    def mint(self, what: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, what))

    # One call

    def called(self, form: str, method: str = "POST") -> tuple[Fault, bytes]:
        """Answer one signed form; the fault that befalls the answer, and the answer."""
        given = dict(urllib.parse.parse_qsl(form, keep_blank_values=True))
        command = given.get("command", "")
        with self._lock:
            try:
                self._verify(given)
                self._read_user_data(given.get("userdata", ""), method)
            except ApiError as refused:
                return Fault(status=refused.code), _refusal(refused)
            self.calls.append((command, {key.lower(): value for key, value in given.items()}))
            queue = self.faults[command]
            fault = queue.popleft() if queue else Fault(obeyed=True, status=200)
            if not fault.obeyed:
                return fault, fault.body
        self.before(command)
        with self._lock:
            try:
                answer = self._obey(command, {key.lower(): value for key, value in given.items()})
                body = json.dumps({f"{command.lower()}response": answer}).encode()
            except ApiError as refused:
                return Fault(status=refused.code), _refusal(refused)
        return fault, fault.body or body

    def _verify(self, given: dict[str, str]) -> None:
        """Source: ApiServer.verifyRequest. Names sorted as sent, values in Java's encoding, all in lower case."""
        sent = given.pop("signature", "")
        secret = self.secrets.get(given.get("apiKey", ""))
        joined = "&".join(f"{name}={_java(given[name])}" for name in sorted(given)).lower()
        digest = hmac.new((secret or "").encode(), joined.encode(), hashlib.sha1).digest()
        late = given.get("signatureVersion") == "3" and _expired(given.get("expires", ""))
        if secret is None or late or not hmac.compare_digest(base64.b64encode(digest).decode(), sent):
            raise ApiError(401, UNSEEN)
        if given.get("command", "") in self.forbidden:
            text = f"The given command '{given['command']}' either does not exist, is not available for user."
            raise ApiError(401, text)

    def _read_user_data(self, encoded: str, method: str) -> None:
        """Source: UserDataManagerImpl.validateUserData. What is counted is base64."""
        if len(encoded) >= _USER_DATA[method]:
            raise ApiError(431, f"User data is too long for an http {method} request")
        if len(encoded) > self.user_data:
            raise ApiError(431, f"User data has exceeded configurable max length : {self.user_data}")
        try:
            base64.b64decode(encoded, validate=True)
        except ValueError:
            raise ApiError(431, "User data is not base64 encoded.") from None

    def _obey(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        own = {
            "deployVirtualMachine": self._deploy,
            "destroyVirtualMachine": self._destroy,
            "updateVirtualMachine": self._update,
            "queryAsyncJobResult": self._job,
            "listVirtualMachines": self._list_machines,
            "listVirtualMachinesMetrics": self._list_machines,
            "listCapabilities": lambda _: {"capability": {"cloudstackversion": self.version}},
            "createTags": partial(self._tag, command),
            "deleteTags": partial(self._tag, command),
        }
        if command in own:
            return own[command](given)
        if command.startswith("list"):
            return self._list(command, given)
        raise ApiError(401, f"The given command '{command}' either does not exist, is not available for user.")

    def _deploy(self, given: dict[str, str]) -> dict[str, Any]:
        self._permit(given)
        for parameter, kind in (
            ("zoneid", "zone"),
            ("templateid", "template"),
            ("serviceofferingid", "serviceoffering"),
        ):
            self._known(given, parameter, kind)
        if not _HOST.fullmatch(given["name"]):
            raise ApiError(431, "Invalid name. Vm name can contain ASCII letters, digits and the hyphen")
        networks = tuple(given["networkids"].split(",")) if "networkids" in given else ("default",)
        if any(vm.name == given["name"] and set(vm.networks) & set(networks) for vm in self._present()):
            text = f"The vm with hostName {given['name']} already exists in the network domain: cs1; network=tier"
            raise ApiError(431, text)
        if len(self._present()) >= self.quota:
            raise ApiError(
                535, "Maximum number of resources of type 'user_vm' for account name=shop has been exceeded."
            )
        if self.cores is not None and 2 * len(self._present()) + 2 > self.cores:
            raise ApiError(535, "Maximum number of resources of type 'cpu' for account name=shop has been exceeded.")
        details = {key.partition("].")[2]: value for key, value in given.items() if key.startswith("details[")}
        vm = self.add(
            given["name"],
            display=given["displayname"],
            state="Stopped",
            details=details,
            networks=networks,
            given=given,
            project=given.get("projectid"),
        )
        fails = self.failing.popleft() if self.failing else None

        def end() -> Answer:
            if fails is not None:
                vm.state = "Error"
                return 2, {"uuidList": [], "errorcode": fails[0], "errortext": fails[1]} if fails[0] else {}
            vm.state = "Running" if vm.state == "Stopped" else vm.state
            return 1, {"virtualmachine": self._shown(vm)}

        return {"id": vm.id, "jobid": self._begin(end, vm.id)}

    def _destroy(self, given: dict[str, str]) -> dict[str, Any]:
        vm = self._named(given["id"])
        expunge = given.get("expunge") == "true"
        if expunge and not self.may_expunge:
            raise ApiError(531, "Account does not have permission for expunging.")

        def end() -> Answer:
            vm.state = "Destroyed"
            if expunge:
                self.vms.pop(vm.id, None)
            return 1, {"virtualmachine": self._shown(vm)}

        return {"jobid": self._begin(end, vm.id)}

    def _named(self, id: str) -> Vm:
        if id not in self.vms:
            text = f"Invalid parameter id value={id} due to incorrect long value format, or entity does not exist"
            raise ApiError(431, text)
        return self.vms[id]

    def _update(self, given: dict[str, str]) -> dict[str, Any]:
        vm = self._named(given["id"])
        vm.display = given.get("displayname", vm.display)
        return {"virtualmachine": self._shown(vm)}

    def _tag(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        """A resource has one tag of a key at most: of two who create it, one is refused."""
        vm, key, value = self._named(given["resourceids"]), given["tags[0].key"], given["tags[0].value"]

        def end() -> Answer:
            if command == "deleteTags":
                vm.tags.pop(key, None)
            elif key in vm.tags:
                return 2, {"errorcode": 530, "errortext": f"tag {key} already on UserVm with id {vm.id}"}
            else:
                vm.tags[key] = value
            return 1, {"success": True}

        return {"jobid": self._begin(end, vm.id)}

    def _begin(self, end: Callable[[], Answer], vm: str) -> str:
        job = self.mint(f"job {len(self.jobs)}")
        self.jobs[job] = Job(polls=self.polls, end=end, vm=vm)
        return job

    def _job(self, given: dict[str, str]) -> dict[str, Any]:
        job = self.jobs.get(given["jobid"])
        if job is None:
            raise ApiError(431, "Unable to find the job")
        self._go_on(job)
        if job.ended is None:
            return {"jobid": given["jobid"], "jobstatus": 0, "jobprocstatus": 0, "jobresultcode": 0}
        status, result = job.ended
        shown = {"jobid": given["jobid"], "jobstatus": status, "jobresultcode": result.get("errorcode", 0)}
        return shown | ({"jobresult": result} if result else {"jobresultcode": 530})  # it ended before it could say why

    def _go_on(self, job: Job) -> None:
        job.polls -= 1
        if job.ended is None and job.polls <= 0:
            job.ended = job.end()

    def _present(self) -> list[Vm]:
        return [vm for vm in self.vms.values() if vm.state not in {"Destroyed", "Expunging"}]

    def _known(self, given: dict[str, str], parameter: str, kind: str) -> None:
        if given.get(parameter) not in {entry["id"] for entry in self.things[kind]}:
            text = f"Invalid parameter {parameter} value={given.get(parameter)} due to incorrect long value format"
            raise ApiError(431, text)

    def _list_machines(self, given: dict[str, str]) -> dict[str, Any]:
        for job in self.jobs.values():  # they end whether or not a client asks for them
            self._go_on(job)
        keyword = given.get("keyword", "").lower()
        newest_first = reversed(
            [vm for vm in self.vms.values() if vm.id not in self.hidden and vm.project == given.get("projectid")]
        )
        found = [vm for vm in newest_first if keyword in vm.name.lower() or keyword in vm.display.lower()]
        if "id" in given:
            found = [vm for vm in found if vm is self._named(given["id"])]
        if "tags[0].key" in given:
            found = [vm for vm in found if vm.tags.get(given["tags[0].key"]) == given["tags[0].value"]]
        measured = "stats" in given.get("details", "").split(",")
        shown = [self._shown(vm) | (vm.measured if measured else {}) for vm in found]
        return self._page("virtualmachine", shown, given)

    def _list(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        kind = _ENVELOPES.get(command, command.removeprefix("list").lower().removesuffix("s"))
        entries = self.things[kind]
        by = given.get("name", given.get("keyword", ""))
        zone = given.get("zoneid")
        found = [
            entry for entry in entries if by in entry["name"] and (zone is None or entry.get("zoneid", zone) == zone)
        ]
        if kind == "account":
            found = [{**entry, **self._counted()} for entry in found]
        if kind in _OF_PROJECTS:
            self._permit(given)
            found = [entry for entry in found if entry.get("projectid") == given.get("projectid")]
        if kind == "project" and "name" in given:
            found = [entry for entry in found if entry["name"] == given["name"]]
        if "id" in given:
            found = [entry for entry in found if entry["id"] == given["id"]]
        return self._page(kind, found, given)

    def _counted(self) -> dict[str, Any]:
        """What an account may have and has; limits are texts, totals are numbers."""
        there = len(self._present())
        cores = "Unlimited" if self.cores is None else str(self.cores)
        return {"vmlimit": str(self.quota), "vmtotal": there, "cpulimit": cores, "cputotal": 2 * there}

    def _permit(self, given: dict[str, str]) -> None:
        """A project that is named must be one of the account's."""
        if "projectid" in given and given["projectid"] not in {entry["id"] for entry in self.things["project"]}:
            raise ApiError(431, f"Invalid parameter projectid value={given['projectid']}: entity does not exist")

    def _page(self, kind: str, found: list[dict[str, Any]], given: dict[str, str]) -> dict[str, Any]:
        if ("page" in given) != ("pagesize" in given):
            raise ApiError(431, '"page" parameter is required when "pagesize" is specified')
        size = int(given.get("pagesize", self.most))
        if size > self.most:
            raise ApiError(431, f"Page size can't exceed max allowed page size value: {self.most}")
        first = (int(given.get("page", "1")) - 1) * size
        shown = found[first : first + size]
        return {"count": len(found), kind: shown} if shown else {}

    def _shown(self, vm: Vm) -> dict[str, Any]:
        created = datetime.fromtimestamp(vm.created, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
        shown: dict[str, Any] = {
            "id": vm.id,
            "name": vm.name,
            "displayname": vm.display,
            "account": "shop",
            "zonename": "par1",
        }
        shown |= {"state": vm.state, "created": created, "hypervisor": "KVM", "nic": []}
        if vm.address is not None:
            shown["nic"] = [
                {"isdefault": False, "ipaddress": "192.0.2.1"},
                {"isdefault": True, "ipaddress": vm.address},
            ]
        if vm.details:
            shown["details"] = vm.details
        shown["tags"] = [{"key": key, "value": value, "resourcetype": "UserVm"} for key, value in vm.tags.items()]
        pending = [number for number, job in self.jobs.items() if job.vm == vm.id and job.ended is None]
        return shown | ({"jobid": pending[-1], "jobstatus": 0} if pending else {})

    # Serving

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve it; the address of its API."""
        with served(_Handler, self) as address:
            yield f"{address}/client/api"


class _Handler(WireHandler):
    wire: CloudstackWire

    def answer(self) -> None:
        query = urllib.parse.urlsplit(self.path).query
        posted = self.command == "POST"
        if posted:
            self.wire.queries.add(query)
        self.give(*self.wire.called(self.asked().decode() if posted else query, self.command))


def _refusal(refused: ApiError) -> bytes:
    body = {"uuidList": [], "errorcode": refused.code, "cserrorcode": 9999, "errortext": refused.text}
    return json.dumps({"errorresponse": body}).encode()


def _java(value: str) -> str:
    """``java.net.URLEncoder`` with ``+`` as ``%20``; unlike RFC 3986 it encodes ``~``."""
    return urllib.parse.quote(value, safe="*").replace("~", "%7E")


def _expired(expires: str) -> bool:
    try:
        return datetime.fromisoformat(expires).timestamp() < time.time()
    except ValueError:
        return True
