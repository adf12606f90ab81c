"""How an OpenStack is made to suffer what befalls clouds: its column of the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from config.model.catalogue import OpenstackCloud
from handler.ports.orchestrator import Orchestrator
from tests.support.openstack import OpenstackStage, openstack_stage
from tests.support.openstack_wire import error, mint
from tests.support.trials import Column, Trial, silenced
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, answered

_DRIP = answered(b'{"servers": []}' + b" " * 200, drip=0.05)


def _befalling(label: str, *faults: Any) -> Callable[[OpenstackStage], Orchestrator]:
    def prepared(stage: OpenstackStage) -> Orchestrator:
        stage.wire.script(label, *faults)
        return stage.driver(timeout=0.5 if any(fault.drip for fault in faults) else PATIENT)

    return prepared


def _many_servers(stage: OpenstackStage) -> Orchestrator:
    stage.nova.most = 100
    for number in range(1, 251):
        stage.nova.member(f"web-k3f9ab-{number}")
    return stage.driver()


def _servers_broken_off(stage: OpenstackStage) -> Orchestrator:
    _many_servers(stage)
    stage.wire.script("GET /servers/detail", answered(b"", obeyed=True), answered(b"{}", status=503))
    return stage.driver()


def _servers_late(stage: OpenstackStage) -> Orchestrator:
    def hide(_: str) -> None:
        stage.nova.hidden.update(stage.nova.vms)

    stage.wire.before = hide
    return stage.driver()


def _deleted_meanwhile(stage: OpenstackStage) -> Orchestrator:
    def delete(label: str) -> None:
        if label == "DELETE /servers/{id}":
            stage.nova.vms.clear()

    stage.wire.before = delete
    return stage.driver()


def _expiring(stage: OpenstackStage) -> Orchestrator:
    """The token is good for all that is asked before something is changed."""
    changes = iter(("POST /servers", "DELETE /servers/{id}"))
    due = [next(changes)]

    def expire(label: str) -> None:
        if label in due:
            due[:] = [next(changes, "")]
            stage.wire.expire()

    stage.wire.before = expire
    return stage.driver()


def _servers_of_others(stage: OpenstackStage) -> Orchestrator:
    nova = stage.nova
    nova.member("web-zzzzzz-1")  # another installation
    nova.add("web-k3f9ab-1")  # called like a member, by a person
    nova.add("web-k3f9ab-2", metadata={"trimtab.member": "web-k3f9ab-2"})  # half a mark
    mark = {"trimtab.member": "web-k3f9ab-3", "trimtab.installation": "zzzzzz", "trimtab.group": "web"}
    nova.add("web-k3f9ab-3", metadata=mark)
    nova.add("my-web-k3f9ab-3", metadata={"trimtab.member": "web-k3f9ab-x"})
    return stage.driver()


def _two_images(stage: OpenstackStage) -> Orchestrator:
    stage.nova.things.image.append({"name": "web", "id": mint("another")})
    return stage.driver()


def _unicode_openstack(stage: OpenstackStage) -> Orchestrator:
    for kind in ("image", "flavor", "network"):
        things = getattr(stage.nova.things, kind)
        things.append({"name": "été ☂ & =", "id": mint(f"unicode {kind}")})
    launch = stage.launch

    def named(*place: Any, **fields: Any) -> Any:
        there = {"image": "été ☂ & =", "flavor": "été ☂ & =", "networks": ("été ☂ & =",), "user_data": "motd: ☂"}
        return launch(*place, **{**there, **fields})

    stage.launch = named  # type: ignore[method-assign]
    return stage.driver()


def _used_up(stage: OpenstackStage) -> Orchestrator:
    stage.nova.quota = 0
    return stage.driver()


def _cores_for_three(stage: OpenstackStage) -> Orchestrator:
    stage.foreign_member("by-hand")
    stage.nova.quota, stage.nova.cores = 20, 4
    return stage.driver()


def _wrong_secret(stage: OpenstackStage) -> Orchestrator:
    stage.secrets["SECRET"] = "not it"
    return stage.driver()


def _without_hosts(stage: OpenstackStage) -> Orchestrator:
    stage.nova.failing.append("No valid host was found. There are not enough hosts available.")
    return stage.driver()


COLUMN = Column(
    name="openstack",
    cloud=OpenstackCloud,
    stage=openstack_stage,
    cells={
        Trial.LOST_ANSWER: _befalling("POST /servers", LOST),
        Trial.LOST_REMOVAL: _befalling("DELETE /servers/{id}", LOST),
        Trial.FALSE_ERROR: _befalling("POST /servers", error(500, "Unexpected API Error.", obeyed=True)),
        Trial.BUSY: _befalling(
            "POST /servers",
            answered(b"busy", status=503, headers=(("Retry-After", "7"),)),
            error(429, "This request was rate-limited.", key="overLimit"),
            answered(b"<html>", status=502),
            error(413, "This request was rate-limited.", key="overLimit"),
        ),
        Trial.PARTIAL: _servers_broken_off,
        Trial.PAGED: _many_servers,
        Trial.EVENTUAL: _servers_late,
        Trial.DELETED: _deleted_meanwhile,
        Trial.FOREIGN: _servers_of_others,
        Trial.NOT_ALLOWED: _wrong_secret,
        Trial.RENEWED: _expiring,
        Trial.AMBIGUOUS: _two_images,
        Trial.UNICODE: _unicode_openstack,
        Trial.QUOTA: _used_up,
        Trial.ROOM: _cores_for_three,
        Trial.SLOW: _befalling("GET /servers/detail", *[_DRIP] * 3),
        Trial.MALFORMED: _befalling(
            "GET /servers/detail", answered(b"\xff\x00 no json"), answered(b"[]"), answered(b'{"servers": [3, {}]}')
        ),
        Trial.STILLBORN: _without_hosts,
        Trial.DEAD: silenced,
    },
    empty={},
)
