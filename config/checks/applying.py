"""What a file may not say that is applied for all daemons over one store."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding, problem_of
from config.checks.workers import tied_places
from config.errors import DeclarationError
from config.model.access import SecretRef
from config.model.catalogue import Catalogue


def refuse_unfit(catalogue: Catalogue, seal: SecretRef | None, *, of_workers: bool) -> None:
    """Refuse a file that daemons over one store could not all go by.

    Args:
        catalogue: that the file would lead to.
        seal: where each machine's own file says that the key of sealed secrets is.
        of_workers: daemons on several machines go by it.

    Raises:
        DeclarationError: one problem for each place.
    """
    findings = [*_findings(catalogue, seal), *(tied_places(catalogue) if of_workers else ())]
    if findings:
        raise DeclarationError(tuple(sorted(problem_of(catalogue, each) for each in findings)))


def _findings(catalogue: Catalogue, seal: SecretRef | None) -> Iterator[Finding]:
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
