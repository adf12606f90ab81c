"""`trimtab check`: problems of a file, and settings that are valid but probably mistakes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.errors import DeclarationError, Problem, by_place, first_lines
from config.gc_pause import WORTH_IT, uncollected
from handler.cli.progress import waiting
from handler.cli.terminal import PROBLEMS, AsJson, File, lines, print_json, refusals

if TYPE_CHECKING:
    from config.model.catalogue import Catalogue


@uncollected(WORTH_IT)  # a command ends before what it makes is worth a collection
def check(
    file: File,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings, too.")] = False,
    worker: Annotated[
        bool, typer.Option("--worker", help="Refuse also what workers on several machines could not go on with.")
    ] = False,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="NAME", help="Likewise, and refuse what worker NAME alone could not act by."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Check a file: print `FILE:LINE: message` for each problem, and warn about probable mistakes.

    A file with problems is refused, exit 1. Warnings begin with `warning:` after the place; the file runs, exit 0.
    Secrets that cannot be read here are warnings that `--strict` does not count: they may be readable elsewhere.
    """
    from collector.clients.vault.reader import SecretReader
    from config.checks.lint import lint
    from config.checks.vain_schedules import lint_at
    from config.settings import loose_secrets, unread_secrets
    from handler.runtime import clock
    from trigger.conditions.expressions import certain
    from trigger.policies.sizing import resized

    try:
        with waiting(f"checking {file}"):
            catalogue = _loaded(file, worker=worker, on=on, json=json)
    except DeclarationError as error:
        print_json(_rows(error.problems, "error")) if json else lines(str(error).splitlines())
        raise typer.Exit(PROBLEMS) from error
    counted = (*lint(catalogue, resized, certain), *lint_at(catalogue, clock.wall()), *loose_secrets(catalogue))
    secrets = SecretReader(os.environ, lambda: clock.moment().steady)
    secrets.use(catalogue)
    warnings = sorted((*counted, *unread_secrets(catalogue, secrets)), key=by_place)
    if json:
        print_json(_rows(warnings, "warning"))
    else:
        messages = [f"{warning.file}:{warning.line}: warning: {warning.message}" for warning in warnings]
        lines(first_lines(messages, "warning"))
        typer.echo(f"{file}: no problems{_count(len(warnings))}; groups: {', '.join(catalogue.groups) or 'none'}")
    if counted and strict:
        raise typer.Exit(PROBLEMS)


def _loaded(file: Path, *, worker: bool, on: str | None, json: bool) -> Catalogue:
    """Read a file, and judge it for workers, if that is asked. Raises `DeclarationError`."""
    from config.checks.workers import refuse_tied, worker_named
    from config.load import load

    with refusals(json):
        name = None if on is None else worker_named(on, "--on")
    catalogue = load(file)
    if worker or name is not None:
        refuse_tied(catalogue, name)
    return catalogue


def _rows(problems: Iterable[Problem], severity: str) -> list[dict[str, object]]:
    return [
        {"file": p.file, "line": p.line, "column": p.column, "severity": severity, "message": p.message}
        for p in problems
    ]


def _count(warnings: int) -> str:
    match warnings:
        case 0:
            return ""
        case 1:
            return ", 1 warning"
        case _:
            return f", {warnings} warnings"
