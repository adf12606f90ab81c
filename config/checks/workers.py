"""What a file may not declare that several daemons go by: workers, and all over the store of an applied file."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding, problem_of
from config.errors import DeclarationError, Problem
from config.model.access import SecretRef
from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import Catalogue
from config.model.clouds import ProcessCloud


def tied_to_machine(catalogue: Catalogue) -> tuple[Problem, ...]:
    """Return a problem for each place that only workers on one machine could reach, and for a store in a file.

    Another machine would list none of these members, take them for gone, and make all of them anew.
    """
    return tuple(sorted(problem_of(catalogue, finding) for finding in _findings(catalogue)))


def refuse_tied(catalogue: Catalogue) -> None:
    """Refuse a declaration that other workers could not go on with.

    Raises:
        DeclarationError: one problem for each place.
    """
    problems = tied_to_machine(catalogue)
    if problems:
        raise DeclarationError(problems)


def _findings(catalogue: Catalogue) -> Iterator[Finding]:
    if catalogue.store is None:
        yield Finding(
            ("store",), "workers need a store that all of them reach: declare PostgreSQL here, or run without --worker"
        )
    if catalogue.writable:
        yield Finding(
            ("writable",),
            "each worker has its own copy of the file, and a change of one would bar the others: leave it out",
        )
    yield from tied_places(catalogue)


def tied_places(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield what only one machine could reach."""
    for cloud in catalogue.clouds.values():
        if isinstance(cloud, ProcessCloud):
            words = "its members are processes of one machine, which no other worker could see: run without --worker"
            yield Finding(("clouds", cloud.id), words)
    for balancer in catalogue.balancers.values():
        if isinstance(balancer, SharedListener):
            words = "a shared listener belongs to one machine, which no other worker reaches: run without --worker"
            yield Finding(("balancers", balancer.id), words)
        elif isinstance(balancer, HaproxyBalancer):
            for socket in (each for each in balancer.sockets if each.startswith("/")):
                words = (
                    f"{socket} is a socket of each worker's own machine: have HAProxy listen on an address that all "
                    "workers reach (stats socket ipv4@HOST:PORT level admin), and write HOST:PORT here"
                )
                yield Finding(("balancers", balancer.id), words)


def refuse_unfit(catalogue: Catalogue, seal: SecretRef | None, *, of_workers: bool) -> None:
    """Refuse a file that daemons over one store could not all go by.

    Args:
        catalogue: that the file would lead to.
        seal: where each machine's own file says that the key of sealed secrets is.
        of_workers: daemons on several machines go by it.

    Raises:
        DeclarationError: one problem for each place.
    """
    findings = [*_unfit(catalogue, seal), *(tied_places(catalogue) if of_workers else ())]
    if findings:
        raise DeclarationError(tuple(sorted(problem_of(catalogue, each) for each in findings)))


def _unfit(catalogue: Catalogue, seal: SecretRef | None) -> Iterator[Finding]:
    if catalogue.writable:
        yield Finding(
            ("writable",),
            "an applied file is in the store, and no daemon writes into it: leave it out, and apply again",
        )
    if catalogue.seal != seal:
        yield Finding(
            ("seal",),
            "each machine's own file says something else of the key, under which this file itself is sealed: write the "
            "same into both",
        )
