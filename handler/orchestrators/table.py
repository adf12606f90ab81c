"""The driver of each kind of cloud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from collector.clients.circuits import Circuits
from config.model.access import SecretRef
from config.model.catalogue import (
    Cloud,
    CloudstackCloud,
    LibvirtCloud,
    OneflowCloud,
    OpennebulaCloud,
    OpenstackCloud,
    ProcessCloud,
    SimulatedCloud,
)
from config.units import Instant
from handler.orchestrators.cloudstack.driver import CloudstackOrchestrator
from handler.orchestrators.libvirt.driver import LibvirtOrchestrator
from handler.orchestrators.oneflow.driver import OneflowOrchestrator
from handler.orchestrators.opennebula.driver import OpennebulaOrchestrator
from handler.orchestrators.openstack.driver import OpenstackOrchestrator
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.orchestrators.simulated.driver import SimulatedOrchestrator
from handler.ports.orchestrator import Orchestrator, Papers, no_papers, no_secrets


def orchestrator_for(  # noqa: PLR0911, PLR0913, PLR0917  # the composition root's list, and one for each kind
    declaration: Cloud,
    installation: str,
    directory: Path,
    clock: Callable[[], Instant],
    papers: Papers = no_papers,
    read_secret: Callable[[SecretRef], str] = no_secrets,
    circuits: Circuits | None = None,
    elapsed: Callable[[], Instant] | None = None,
) -> Orchestrator:
    """Return the driver of a declared cloud; ``directory`` is Trimtab's state directory.

    ``elapsed`` is a clock that is never set, for drivers that measure spans in memory and compare with no other clock;
    without it they read ``clock``.
    """
    spans = clock if elapsed is None else elapsed
    match declaration:
        case ProcessCloud():
            return ProcessOrchestrator(declaration, installation, directory, spans, papers, read_secret)
        case SimulatedCloud():
            return SimulatedOrchestrator(declaration, installation, directory, clock)
        case CloudstackCloud():
            return CloudstackOrchestrator(declaration, installation, clock, read_secret, circuits=circuits)
        case OpennebulaCloud():
            return OpennebulaOrchestrator(declaration, installation, spans, read_secret, circuits)
        case OneflowCloud():
            return OneflowOrchestrator(declaration, installation, spans, read_secret, circuits)
        case OpenstackCloud():
            return OpenstackOrchestrator(declaration, installation, spans, read_secret, circuits=circuits)
        case LibvirtCloud():
            return LibvirtOrchestrator(declaration, installation, clock, circuits)
        case _:
            assert_never(declaration)
