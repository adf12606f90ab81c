"""`trimtab doctor`: check that clouds, profiles and balancers are as a file needs them, without a daemon."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handler.cli.progress import waiting
from handler.cli.terminal import DONE, PROBLEMS, AsJson, File, State, directory, lines, print_json, refusals

if TYPE_CHECKING:
    from config.model.catalogue import Catalogue
    from handler.operations.examining import Drivers
    from handler.ports.examination import DoctorFinding


def doctor(
    file: File,
    within: Annotated[float, typer.Option(min=1, max=600, help="Seconds for all checks together.")] = 30,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Test every cloud and balancer of a file, and say how to fix each problem.

    Checks access, versions, clocks, quotas, and the images and sizes of members. Changes nothing. Exit 1 for problems.
    """
    from config.load import load
    from handler.operations.examining import examined
    from handler.ports.examination import CheckVerdict

    with refusals(json):
        catalogue = load(file)
        with waiting(f"asking clouds and balancers, for {within:.0f} s at most"):
            findings = (*examined(catalogue, _drivers(catalogue, directory(state)), within), *_unwritten(state))
    problems = sum(finding.verdict is CheckVerdict.PROBLEM for finding in findings)
    if json:
        print_json([_row(finding) for finding in findings])
    else:
        lines(line for finding in findings for line in finding_lines(finding))
        typer.echo(f"{len(findings)} checks, {problems or 'no'} problem{'' if problems == 1 else 's'}")
    raise typer.Exit(PROBLEMS if problems else DONE)


def _unwritten(state: Path | None) -> tuple[DoctorFinding, ...]:
    """Return what a daemon over the same state directory reports of its claim; nothing if none runs."""
    from config.units import CloudId
    from handler.cli import client
    from handler.ports.examination import About, CheckVerdict, DoctorFinding

    try:
        code, answer = client.ask(directory(state) / "trimtab.sock", client.question("store"))
    except client.NotReachable:
        return ()
    unwritten = answer["unwritten"] if code == HTTPStatus.OK else {}
    remedy = "allow this account to write the metadata (user template, tags) of its machines"
    return tuple(
        DoctorFinding(
            about=About.CLOUD,
            name=CloudId(cloud),
            what="claim",
            verdict=CheckVerdict.PROBLEM,
            words=words,
            remedy=remedy,
            groups=(),
        )
        for cloud, words in unwritten.items()
    )


def finding_lines(finding: DoctorFinding) -> list[str]:
    """Return a finding's line, and for a problem a second one: its fix, and the groups that it concerns."""
    first = f"{finding.verdict.value:<8} {finding.about.value} {finding.name}, {finding.what}: {finding.words}"
    groups = f" (groups {', '.join(finding.groups)})" if finding.groups else ""
    return [first, f"          fix: {finding.remedy}{groups}"] if finding.remedy else [first]


def _row(finding: DoctorFinding) -> dict[str, Any]:
    return {
        "about": finding.about.value,
        "name": finding.name,
        "check": finding.what,
        "groups": list(finding.groups),
        "verdict": finding.verdict.value,
        "words": finding.words,
        "mend": finding.remedy,
    }


def _drivers(catalogue: Catalogue, state: Path) -> Drivers:
    """Make drivers as the daemon over this state directory does; without a daemon, no member counts as ours."""
    from collector.clients.circuits import Circuits
    from handler.balancers.table import balancer_for
    from handler.daemon import wiring
    from handler.operations.examining import Drivers
    from handler.orchestrators.table import orchestrator_for
    from handler.ports.orchestrator import no_papers
    from handler.runtime import clock
    from handler.runtime.directory import StateDirectory

    here = StateDirectory(state)
    ours = here.known_installation() or "doctor"
    circuits, secret = Circuits(clock.moment), wiring.secret_reader()
    secret.use(catalogue)
    return Drivers(
        cloud=lambda each: orchestrator_for(each, ours, here.path, clock.wall, no_papers, secret, circuits),
        balancer=lambda each: balancer_for(each, here.listeners, clock.wall, secret, ours, circuits),
    )
