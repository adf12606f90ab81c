"""How a OneFlow is made to suffer what befalls clouds: its column of the matrix.

What makes no members goes over OpenNebula's own API, and is tried with its faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from config.model.catalogue import OneflowCloud
from handler.ports.orchestrator import Orchestrator
from tests.support import trials
from tests.support.oneflow_stage import OneflowStage, oneflow_stage
from tests.support.trials import Column, Trial
from tests.support.wire_server import LOST, UNREACHED, answered


def _scripted(call: str, *faults: Any) -> Callable[[OneflowStage], Orchestrator]:
    def prepared(stage: OneflowStage) -> Orchestrator:
        stage.flow.script(call, *faults)
        return stage.driver()

    return prepared


def _broken_off(stage: OneflowStage) -> Orchestrator:
    _of_opennebula(Trial.PAGED)(stage)
    whole = answered(b"", obeyed=True)
    two_pools = [whole] * 8
    stage.wire.script("vmpool.infoextended", *two_pools, answered(b"", status=503))
    return stage.driver()


def _two_services(stage: OneflowStage) -> Orchestrator:
    stage.flow.service("web", "node")
    return stage.driver()


def _unicode_service(stage: OneflowStage) -> Orchestrator:
    stage.flow.service("été ☂ & =", "node")
    launch = stage.launch
    stage.launch = lambda *place, **fields: launch(*place, service="été ☂ & =", **fields)  # type: ignore[method-assign]
    stage.flow.naming = "$SERVICE_NAME.$VM_NUMBER"
    return stage.driver(vm_name="$SERVICE_NAME.$VM_NUMBER")


def _among_nodes_of_others(stage: OneflowStage) -> Orchestrator:
    _of_opennebula(Trial.FOREIGN)(stage)
    order = "web-k3f9ab-1:node_0_(service_3)|web-zzzzzz-9:node_1_(service_3)"
    stage.wire.add("node_2_(service_3)", user_template={"TRIMTAB_ORDER": order})  # scaled up by hand, later
    stage.wire.add("copy", user_template={"TRIMTAB_ORDER": order})
    stage.wire.add("node_1_(service_3)", user_template={"TRIMTAB_ORDER": order})  # another installation's
    stage.wire.add("node_0_(service_3)", user_template={"TRIMTAB_ORDER": order, "TRIMTAB": "released"})
    return stage.driver()


def _of_opennebula(trial: Trial) -> Callable[[Any], Orchestrator]:
    cells: Mapping[Trial, Callable[[Any], Orchestrator]] = next(
        column for column in trials.COLUMNS if column.name == "opennebula"
    ).cells
    return cells[trial]


COLUMN = Column(
    name="oneflow",
    cloud=OneflowCloud,
    stage=oneflow_stage,
    cells={
        Trial.LOST_ANSWER: _scripted("scale", LOST),
        Trial.FALSE_ERROR: _scripted("scale", answered(b"Internal Server Error", status=500, obeyed=True)),
        Trial.BUSY: _scripted(
            "scale",
            answered(b"busy", status=503, headers=(("Retry-After", "7"),)),
            answered(b"Service cannot be scaled in state: COOLDOWN", status=500),
            answered(b'{"message":"Internal server error","reason":"execution expired"}', status=500),
            UNREACHED,
        ),
        Trial.PARTIAL: _broken_off,
        Trial.AMBIGUOUS: _two_services,
        Trial.UNICODE: _unicode_service,
        Trial.FOREIGN: _among_nodes_of_others,
        **{
            trial: _of_opennebula(trial)
            for trial in (
                *(Trial.PAGED, Trial.EVENTUAL, Trial.NOT_ALLOWED, Trial.QUOTA, Trial.SLOW),
                *(Trial.MALFORMED, Trial.STILLBORN, Trial.ROOM, Trial.LOST_REMOVAL, Trial.DELETED),
                *(Trial.RENEWED, Trial.DEAD),
            )
        },
    },
    empty={},
)
