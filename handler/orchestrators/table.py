"""Which driver serves which kind of cloud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from config.model import Cloud, ProcessCloud, SimulatedCloud
from config.units import Instant
from handler.orchestrators.interface import Orchestrator, Papers, no_papers
from handler.orchestrators.process import ProcessOrchestrator
from handler.orchestrators.simulated import SimulatedOrchestrator


def orchestrator_for(
    declaration: Cloud,
    installation: str,
    directory: Path,
    clock: Callable[[], Instant],
    papers: Papers = no_papers,
) -> Orchestrator:
    """The driver of a declared cloud; ``directory`` is Trimtab's state directory."""
    match declaration:
        case ProcessCloud():
            return ProcessOrchestrator(declaration, installation, directory, clock, papers)
        case SimulatedCloud():
            return SimulatedOrchestrator(declaration, installation, directory, clock)
        case _:
            assert_never(declaration)
