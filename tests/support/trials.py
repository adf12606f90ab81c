"""What befalls clouds, and how each kind of cloud is made to suffer it: the matrix of behaviour × driver.

A new driver needs a column. In it every trial has a cell, which brings the trial about on an empty stage, or a reason
why it cannot befall that cloud.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from config.model.catalogue import CloudstackCloud, OpennebulaCloud, ProcessCloud, SimulatedCloud
from config.model.simulation import CallFaults, CallRate, Incident, ListingFaults, ScriptedEvent
from handler.ports.orchestrator import Orchestrator
from tests.support.cloudstack import CloudstackStage, cloudstack_stage
from tests.support.cloudstack_wire import UNSEEN, error
from tests.support.opennebula import OpennebulaStage, opennebula_stage
from tests.support.opennebula_wire import ALLOCATE, DONE, INTERNAL, LOCKED, USER, answering, refused
from tests.support.orchestrators import AT_ONCE, ProcessStage, SimulatedStage, a_recipe, process_stage, simulated_stage
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, UNREACHED, answered


class Trial(enum.Enum):
    """The conditions under which a driver must keep its promises. After each, ``stage.driver()`` is well again."""

    LOST_ANSWER = "a creation is done, and its answer is lost"
    LOST_REMOVAL = "a removal is done, and its answer is lost"
    FALSE_ERROR = "a creation is done, and an error is answered"
    BUSY = "calls are refused for a while"
    PARTIAL = "a listing breaks off"
    PAGED = "a listing has more entries than a page"
    EVENTUAL = "listings show late what was made"
    DELETED = "a machine is deleted behind our back, at worst between a look and its removal"
    FOREIGN = "machines of others are there, some with names like ours"
    NOT_ALLOWED = "the credentials are refused"
    RENEWED = "the credentials expire between two calls, at worst before a change"
    AMBIGUOUS = "a name in the profile means two things"
    UNICODE = "names are not ASCII"
    QUOTA = "a quota is used up"
    ROOM = "quotas leave room for three, and the scarcer one is of cores where the cloud counts them"
    SLOW = "answers take longer than they may"
    MALFORMED = "answers make no sense"
    STILLBORN = "machines fail while they are built"
    DEAD = "the endpoint does not answer, for a while"


@dataclass(frozen=True)
class Column:
    """One driver."""

    name: str
    cloud: type
    stage: Callable[[Path], AbstractContextManager[Any]]
    cells: Mapping[Trial, Callable[[Any], Orchestrator]]
    empty: Mapping[Trial, str]
    marks: tuple[pytest.MarkDecorator, ...] = ()
    """Of all cases: what they need."""


def untroubled(stage: Any) -> Orchestrator:
    """All is well until another client deletes something."""
    driver: Orchestrator = stage.driver()
    return driver


# process


def _among_foreign(stage: ProcessStage) -> Orchestrator:
    marked = {"TRIMTAB_MEMBER": f"web-{stage.there}-1", "TRIMTAB_INSTALLATION": stage.there, "TRIMTAB_GROUP": "web"}
    for environment in (marked, {**marked, "TRIMTAB_MEMBER": f"web-{stage.here}-1"}):
        os.posix_spawn("/bin/sleep", ["sleep", "60"], environment, setsid=True)  # the stage ends it
    return stage.driver()


def _unicode_process(stage: ProcessStage) -> Orchestrator:
    (stage.directory / "été").mkdir()
    stage.directory = stage.directory / "été"
    return stage.driver()


def _damaged_roll(stage: ProcessStage) -> Orchestrator:
    roll = stage.directory / stage.here / "members"
    roll.mkdir(parents=True)
    (roll / f"web-{stage.here}-1").symlink_to("not a process")
    return stage.driver()


def _unreadable_roll(stage: ProcessStage) -> Orchestrator:
    aside = stage.directory / "aside"
    (aside / stage.here).mkdir(parents=True)
    (aside / stage.here / "members").write_text("not a directory")
    return replace(stage, directory=aside).driver()


def _ended_at_once(stage: ProcessStage) -> Orchestrator:
    stage.recipe = a_recipe(("false",))
    return stage.driver()


_PROCESS = Column(
    name="process",
    cloud=ProcessCloud,
    stage=process_stage,
    cells={
        Trial.LOST_REMOVAL: untroubled,  # the daemon that follows one that died knows nothing of it
        Trial.PARTIAL: _unreadable_roll,
        Trial.DELETED: untroubled,
        Trial.FOREIGN: _among_foreign,
        Trial.UNICODE: _unicode_process,
        Trial.MALFORMED: _damaged_roll,
        Trial.STILLBORN: _ended_at_once,
    },
    empty={
        Trial.LOST_ANSWER: "the kernel's answer cannot be lost",
        Trial.FALSE_ERROR: "a program runs only once its line is written: whatever fails before leaves no process",
        Trial.BUSY: "the kernel refuses no call for a while; what it lacks is tried with the driver itself",
        Trial.PAGED: "/proc has no pages",
        Trial.EVENTUAL: "the roll is written before a creation returns",
        Trial.NOT_ALLOWED: "there are no credentials",
        Trial.RENEWED: "there are no credentials",
        Trial.AMBIGUOUS: "profiles name programs by their path",
        Trial.QUOTA: "what the kernel limits is lacking for a while, not refused for good",
        Trial.ROOM: "what a user may have is counted in threads, and it is not known how many a member will start",
        Trial.SLOW: "the kernel is not waited for",
        Trial.DEAD: "the kernel answers",
    },
)


# simulated


def _played(**changes: Any) -> Callable[[SimulatedStage], Orchestrator]:
    return lambda stage: replace(stage, behaviour=replace(AT_ONCE, **changes)).driver()


def _outage(stage: SimulatedStage) -> Orchestrator:
    hours = Incident(at=0.0, what=ScriptedEvent.OUTAGE, lasts=3600.0)
    return replace(stage, behaviour=replace(AT_ONCE, script=(hours,))).driver()


_SIMULATED = Column(
    name="simulated",
    cloud=SimulatedCloud,
    stage=simulated_stage,
    cells={
        Trial.LOST_ANSWER: _played(create=CallFaults(timeout=1.0)),
        Trial.LOST_REMOVAL: _played(destroy=CallFaults(timeout=1.0)),
        Trial.FALSE_ERROR: _played(create=CallFaults(false_error=1.0)),
        Trial.BUSY: _played(create=CallFaults(error=1.0), rate_limit=CallRate(calls=1, per=60.0)),
        Trial.PARTIAL: _played(listing=ListingFaults(partial=1.0)),
        Trial.EVENTUAL: _played(listing=ListingFaults(lag=3600.0)),
        Trial.DELETED: untroubled,
        Trial.FOREIGN: _played(foreign=3),
        Trial.QUOTA: _played(quota=0),
        Trial.ROOM: _played(quota=5, foreign=2),
        Trial.SLOW: _outage,
        Trial.STILLBORN: _played(stillborn=1.0),
    },
    empty={
        Trial.PAGED: "nothing is sent over a wire",
        Trial.NOT_ALLOWED: "there are no credentials",
        Trial.RENEWED: "there are no credentials",
        Trial.AMBIGUOUS: "profiles name nothing",
        Trial.UNICODE: "profiles name nothing",
        Trial.DEAD: "nothing is sent over a wire",
        Trial.MALFORMED: "nothing is sent over a wire; a damaged ledger is tried with the driver itself",
    },
)


def silenced(stage: Any) -> Orchestrator:
    """Return a driver of a cloud that answers no request."""
    stage.wire.dead = True
    driver: Orchestrator = stage.driver()
    return driver


# cloudstack


def _scripted(command: str, *faults: Any) -> Callable[[CloudstackStage], Orchestrator]:
    def prepared(stage: CloudstackStage) -> Orchestrator:
        stage.wire.script(command, *faults)
        return stage.driver(timeout=0.3 if any(fault.drip for fault in faults) else PATIENT)

    return prepared


def _broken_off(stage: CloudstackStage) -> Orchestrator:
    _many(stage)
    stage.wire.script("listVirtualMachines", answered(b"", obeyed=True), answered(b"{}", status=503))
    return stage.driver()


def _many(stage: CloudstackStage) -> Orchestrator:
    for number in range(1, 251):
        stage.wire.add(f"web-k3f9ab-{number}")
    return stage.driver()


def _late(stage: CloudstackStage) -> Orchestrator:
    def hide(_: str) -> None:
        stage.wire.hidden.update(stage.wire.vms)

    stage.wire.before = hide
    return stage.driver()


def _deleted_meanwhile(stage: CloudstackStage) -> Orchestrator:
    def delete(command: str) -> None:
        if command == "destroyVirtualMachine":
            stage.wire.vms.clear()

    stage.wire.before = delete
    return stage.driver()


def _crowded(stage: CloudstackStage) -> Orchestrator:
    wire = stage.wire
    wire.add("web-zzzzzz-1")  # another installation
    wire.add("by-hand", display="web-k3f9ab-1")  # called like a member, by a person
    wire.add("web-k3f9ab-2", details={"trimtab": "web-k3f9ab-9"})  # a copy of another one, with its mark
    wire.add("my-web-k3f9ab-3")
    wire.add("web-k3f9ab-x")
    return stage.driver()


def _two_templates(stage: CloudstackStage) -> Orchestrator:
    stage.wire.things["template"] += [{"name": "web", "id": stage.wire.mint("another")}]
    return stage.driver()


def _unicode_cloud(stage: CloudstackStage) -> Orchestrator:
    for kind in ("zone", "template", "network"):
        stage.wire.things[kind].append({"name": "été ☂ & =", "id": stage.wire.mint(f"unicode {kind}")})
    launch = stage.launch

    def named(*place: Any, **fields: Any) -> Any:
        there = {"zone": "été ☂ & =", "template": "été ☂ & =", "networks": ("été ☂ & =",), "user_data": "motd: ☂"}
        return launch(*place, **{**there, **fields})

    stage.launch = named  # type: ignore[method-assign]
    return stage.driver()


def _full(stage: CloudstackStage) -> Orchestrator:
    stage.wire.quota = 0
    return stage.driver()


def _room_for_three(stage: CloudstackStage) -> Orchestrator:
    stage.foreign_member("by-hand")
    stage.wire.quota, stage.wire.cores = 20, 8
    return stage.driver()


def _unknown_key(stage: CloudstackStage) -> Orchestrator:
    stage.secrets["SECRET"] = "not it"
    return stage.driver()


def _without_capacity(stage: CloudstackStage) -> Orchestrator:
    stage.wire.failing.append((533, "Unable to create a deployment for VM instance"))
    return stage.driver()


_DRIP = answered(b'{"listvirtualmachinesresponse":{}}' + b" " * 200, drip=0.05)
_GARBAGE = (answered(b"\xff\x00 no json"), answered(b"[]"), answered(b'{"a":{},"b":{}}'))

_CLOUDSTACK = Column(
    name="cloudstack",
    cloud=CloudstackCloud,
    stage=cloudstack_stage,
    cells={
        Trial.LOST_ANSWER: _scripted("deployVirtualMachine", LOST),
        Trial.LOST_REMOVAL: _scripted("destroyVirtualMachine", LOST),
        Trial.FALSE_ERROR: _scripted("deployVirtualMachine", error(530, "failed", obeyed=True)),
        Trial.BUSY: _scripted(
            "deployVirtualMachine",
            answered(b"busy", status=503, headers=(("Retry-After", "7"),)),
            error(429, "The given user has reached his/her account api limit"),
            answered(b"<html>", status=502),
            answered(b"{}", status=500),
        ),
        Trial.PARTIAL: _broken_off,
        Trial.PAGED: _many,
        Trial.EVENTUAL: _late,
        Trial.DELETED: _deleted_meanwhile,
        Trial.FOREIGN: _crowded,
        Trial.NOT_ALLOWED: _unknown_key,
        Trial.RENEWED: _scripted("deployVirtualMachine", error(401, UNSEEN)),
        Trial.AMBIGUOUS: _two_templates,
        Trial.UNICODE: _unicode_cloud,
        Trial.QUOTA: _full,
        Trial.ROOM: _room_for_three,
        Trial.SLOW: _scripted("listVirtualMachines", *[_DRIP] * 3),
        Trial.MALFORMED: _scripted("listVirtualMachines", *_GARBAGE),
        Trial.STILLBORN: _without_capacity,
        Trial.DEAD: silenced,
    },
    empty={},
)


# opennebula


def _failing(method: str, *faults: Any) -> Callable[[OpennebulaStage], Orchestrator]:
    def prepared(stage: OpennebulaStage) -> Orchestrator:
        stage.wire.script(method, *faults)
        return stage.driver(timeout=0.3 if any(fault.drip for fault in faults) else PATIENT)

    return prepared


def _many_members(stage: OpennebulaStage) -> Orchestrator:
    for number in range(1, 251):
        stage.wire.member(f"web-k3f9ab-{number}")
    return stage.driver()


def _broken_pool(stage: OpennebulaStage) -> Orchestrator:
    _many_members(stage)
    whole = answered(b"", obeyed=True)
    stage.wire.script("vmpool.infoextended", *[whole] * 4, answered(b"", status=503))  # the first pool is whole
    return stage.driver()


def _late_pool(stage: OpennebulaStage) -> Orchestrator:
    def hide(_: str) -> None:
        stage.wire.hidden.update(stage.wire.vms)

    stage.wire.before = hide
    return stage.driver()


def _done_meanwhile(stage: OpennebulaStage) -> Orchestrator:
    def delete(method: str) -> None:
        for vm in stage.wire.vms.values() if method == "vm.action" else ():
            vm.state = DONE

    stage.wire.before = delete
    return stage.driver()


def _among_others(stage: OpennebulaStage) -> Orchestrator:
    wire = stage.wire
    wire.member("web-zzzzzz-1")  # another installation
    wire.member("web-k3f9ab-1", owner="other")  # another user's
    wire.add("web-k3f9ab-1")  # called like a member, by a person
    wire.add("copy", user_template={"TRIMTAB": "web-k3f9ab-2"})  # made by hand of what a member's template says
    wire.add("copy", user_template={"TRIMTAB": "web-k3f9ab-3", "TRIMTAB_VM": "1"})
    wire.add("web-k3f9ab-3", user_template={"TRIMTAB": ["web-k3f9ab-3", "web-k3f9ab-3"]})
    return stage.driver()


def _two_owners(stage: OpennebulaStage) -> Orchestrator:
    stage.wire.templates[4] = ("web", {})
    return stage.driver()


def _unicode_nebula(stage: OpennebulaStage) -> Orchestrator:
    stage.wire.templates[4] = ("été ☂ & <", {})
    stage.wire.networks[4] = "été ☂ & <"
    launch = stage.launch

    def named(*place: Any, **fields: Any) -> Any:
        extra = (("MOTD", "☂ & <"), ("CONTEXT", (("MOTD", ']]> "☂"'),)))
        return launch(*place, **{"template": "été ☂ & <", "networks": ("été ☂ & <",), "extra": extra, **fields})

    stage.launch = named  # type: ignore[method-assign]
    return stage.driver()


def _used_up(stage: OpennebulaStage) -> Orchestrator:
    stage.wire.quota = 0
    return stage.driver()


def _cores_for_three(stage: OpennebulaStage) -> Orchestrator:
    stage.wire.add("by-hand", template={"CPU": "0.5"})
    stage.wire.quota, stage.wire.cores = 20, 3.5
    return stage.driver()


def _unknown_password(stage: OpennebulaStage) -> Orchestrator:
    stage.secrets["PASSWORD"] = "not it"
    return stage.driver()


class _Token(dict[str, str]):
    """A login token that is replaced once it has been read."""

    def __getitem__(self, name: str) -> str:
        value = super().__getitem__(name)
        self[name] = "renewed"
        return value


def _expired_token(stage: OpennebulaStage) -> Orchestrator:
    stage.wire.users[USER] = "renewed"
    stage.secrets = _Token(stage.secrets)
    return stage.driver()


def _failing_to_boot(stage: OpennebulaStage) -> Orchestrator:
    stage.wire.failing = 1
    return stage.driver()


_SENSELESS = (
    answered(b"\xff\x00 no xml"),
    answering("<VM_POOL><VM><ID>1</ID></VM></VM_POOL>"),
    answering("<VM_POOL><VM><ID>one</ID></VM></VM_POOL>"),
)

_OPENNEBULA = Column(
    name="opennebula",
    cloud=OpennebulaCloud,
    stage=opennebula_stage,
    cells={
        Trial.LOST_ANSWER: _failing("template.instantiate", LOST),
        Trial.LOST_REMOVAL: _failing("vm.action", LOST),
        Trial.FALSE_ERROR: _failing("template.instantiate", refused(INTERNAL, "[one.template] no", obeyed=True)),
        Trial.BUSY: _failing(
            "template.instantiate",
            answered(b"busy", status=503, headers=(("Retry-After", "7"),)),
            refused(LOCKED, "[one.template.instantiate] The resource virtual machine template is locked. [3]."),
            refused(ALLOCATE, "[one.template.instantiate] Error allocating a new virtual machine."),
            UNREACHED,
        ),
        Trial.PARTIAL: _broken_pool,
        Trial.PAGED: _many_members,
        Trial.EVENTUAL: _late_pool,
        Trial.DELETED: _done_meanwhile,
        Trial.FOREIGN: _among_others,
        Trial.NOT_ALLOWED: _unknown_password,
        Trial.RENEWED: _expired_token,
        Trial.AMBIGUOUS: _two_owners,
        Trial.UNICODE: _unicode_nebula,
        Trial.QUOTA: _used_up,
        Trial.ROOM: _cores_for_three,
        Trial.SLOW: _failing("vmpool.infoextended", *[answered(b" " * 200, drip=0.05)] * 3),
        Trial.MALFORMED: _failing("vmpool.infoextended", *_SENSELESS),
        Trial.STILLBORN: _failing_to_boot,
        Trial.DEAD: silenced,
    },
    empty={},
)

COLUMNS = (_PROCESS, _SIMULATED, _CLOUDSTACK, _OPENNEBULA)
