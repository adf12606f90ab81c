"""How a host with libvirt is made to suffer what befalls clouds: its column of the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from collector.clients.libvirt.messages import Fault, Procedure
from collector.clients.libvirt.xdr import maybe, number
from config.model.catalogue import LibvirtCloud
from handler.orchestrators.libvirt.marks import NAMESPACE
from handler.ports.orchestrator import Orchestrator
from tests.support.libvirt import MIB, LibvirtStage, add_volume, gone, libvirt_stage, pretended
from tests.support.libvirt_relay import CLOSED, HANGING, LOST, Mishap, error
from tests.support.trials import Column, Trial, silenced
from tests.support.waiting import PATIENT

_INTERNAL, _OPERATION_FAILED, _TIMEOUT = 1, 9, 68
_REMOVALS = {Procedure.DOMAIN_SHUTDOWN_FLAGS, Procedure.DOMAIN_DESTROY_FLAGS}


def _failing(procedure: Procedure, *faults: Mishap) -> Callable[[LibvirtStage], Orchestrator]:
    def prepared(stage: LibvirtStage) -> Orchestrator:
        stage.wire.script(procedure, *faults)
        return stage.driver(timeout=0.3 if any(fault.hangs for fault in faults) else PATIENT)

    return prepared


def _broken_off(stage: LibvirtStage) -> Orchestrator:
    for number_ in range(1, 9):
        stage.driver().create(stage.launch(number_))
    there = len(stage.direct.domains())
    stage.wire.script(Procedure.DOMAIN_GET_METADATA, *[None] * there, LOST)
    return stage.driver()


def _deleted_meanwhile(stage: LibvirtStage) -> Orchestrator:
    def delete(procedure: Procedure) -> None:
        if procedure in _REMOVALS:
            for domain in stage.direct.domains():
                gone(stage.direct, domain)

    stage.wire.before = delete
    return stage.driver()


def _among_others(stage: LibvirtStage) -> Orchestrator:
    def marked(called: str, name: str) -> None:
        mark = f'<t:member xmlns:t="{NAMESPACE}" name="{name}" made="0"/>'
        stage.direct.define(pretended(called, f"<metadata>{mark}</metadata>"))

    marked("web-zzzzzz-1", "web-zzzzzz-1")  # another installation
    marked("a-copy", "web-k3f9ab-1")  # a copy of a member, with its mark
    for called in ("web-k3f9ab-2", "my-web-k3f9ab-3", "web-k3f9ab-x"):  # called like a member, by a person
        stage.direct.define(pretended(called))
    return stage.driver()


def _unknown_user(stage: LibvirtStage) -> Orchestrator:
    sasl = Mishap(answer=number(1) + number(1))
    stage.wire.script(Procedure.AUTH_LIST, sasl, sasl)
    return stage.driver()


def _unicode(stage: LibvirtStage) -> Orchestrator:
    add_volume(stage.direct, "default-pool", "été ☂ & =")
    launch = stage.launch

    def named(*place: Any, **fields: Any) -> Any:
        return launch(*place, **{"base": "été ☂ & =", **fields})

    stage.launch = named  # type: ignore[method-assign]
    return stage.driver()


def _without_memory(stage: LibvirtStage) -> Orchestrator:
    stage.foreign_member("large")
    return stage.driver(memory=16 * MIB / stage.direct.memory())


def _memory_for_three(stage: LibvirtStage) -> Orchestrator:
    stage.foreign_member("large")
    return stage.driver(memory=72 * MIB / stage.direct.memory())


_SENSELESS = (
    Mishap(answer=b"\xff\xff\xff\xff no array"),
    Mishap(answer=number(1) + maybe("web")),
    Mishap(answer=b""),
)

COLUMN = Column(
    name="libvirt",
    cloud=LibvirtCloud,
    stage=libvirt_stage,
    cells={
        Trial.LOST_ANSWER: _failing(Procedure.DOMAIN_CREATE_WITH_FLAGS, LOST),
        Trial.LOST_REMOVAL: _failing(Procedure.DOMAIN_DESTROY_FLAGS, LOST),
        Trial.FALSE_ERROR: _failing(
            Procedure.DOMAIN_CREATE_WITH_FLAGS, error(_INTERNAL, "internal error", obeyed=True)
        ),
        Trial.BUSY: _failing(
            Procedure.DOMAIN_DEFINE_XML_FLAGS,
            error(Fault.RESOURCE_BUSY, "busy"),
            error(_TIMEOUT, "cannot acquire state change lock"),
            error(_OPERATION_FAILED, "operation failed"),
            CLOSED,
        ),
        Trial.PARTIAL: _broken_off,
        Trial.DELETED: _deleted_meanwhile,
        Trial.FOREIGN: _among_others,
        Trial.NOT_ALLOWED: _unknown_user,
        Trial.UNICODE: _unicode,
        Trial.QUOTA: _without_memory,
        Trial.ROOM: _memory_for_three,
        Trial.SLOW: _failing(Procedure.CONNECT_LIST_ALL_DOMAINS, *[HANGING] * 3),
        Trial.MALFORMED: _failing(Procedure.CONNECT_LIST_ALL_DOMAINS, *_SENSELESS),
        Trial.STILLBORN: _failing(Procedure.DOMAIN_CREATE_WITH_FLAGS, error(_INTERNAL, "qemu exited")),
        Trial.DEAD: silenced,
    },
    empty={
        Trial.PAGED: "a listing has no pages",
        Trial.EVENTUAL: "a host shows at once what it has done",
        Trial.RENEWED: "no login expires",
        Trial.AMBIGUOUS: "pools, volumes and networks have names of their own on a host",
    },
    marks=(pytest.mark.real("libvirtd"),),
)
