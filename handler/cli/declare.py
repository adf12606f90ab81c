"""`trimtab declare`: what is declared over the API beside the file, every change of it, and what a change would do."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from config.model.sections import Section
from config.units import AccountId
from handler.cli.commands import Program
from handler.cli.names import account_names
from handler.cli.terminal import DONE, PROBLEMS, AsJson, State, fail, lines, outcome, print_json, read, refusals, show

if TYPE_CHECKING:
    from config.document.places import Plain
    from handler.operations.address import DataclassType

declare = Program("What is declared over the API: counters, conditions, policies, profiles and groups.")

Of = Annotated[Section, typer.Argument(metavar="SECTION", help="counters, conditions, policies, profiles or groups.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id, as the list shows it.")]
Entries = Annotated[Path, typer.Argument(metavar="FILE", help="Sections with entries, as the daemon's file has them.")]
OfAccount = Annotated[
    str | None, typer.Option("--account", metavar="ACCOUNT", help="Default: root.", autocompletion=account_names)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
WithMembers = Annotated[bool, typer.Option("--members", help="Groups may have members, which leave first.")]


@declare.command("list")
def listed(
    section: Annotated[
        Section | None, typer.Argument(metavar="[SECTION]", help="Only this section.", show_default=False)
    ] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List what is declared, with owner and place."""
    parts = ("declarations",) if section is None else ("declarations", section.value)
    answer = read(state, json, *parts)
    from handler.cli.declare_text import entries_table

    show(entries_table(answer))


@declare.command("show")
def shown(section: Of, id: Id, state: State = None, json: AsJson = False) -> None:
    """Show one entity: its document, its place and the entities that use it."""
    answer = read(state, json, "declarations", section.value, id)
    from handler.cli.declare_text import entry_lines

    lines(entry_lines(answer))


@declare.command("apply")
def apply(
    entries: Entries, dry_run: DryRun = False, account: OfAccount = None, state: State = None, json: AsJson = False
) -> None:
    """Make or replace all entities of a file, or none. Its keys are display names or ids; all other entities stay."""
    _apply(entries, account, state, json, dry_run=dry_run)


@declare.command("diff")
def diff(entries: Entries, account: OfAccount = None, state: State = None, json: AsJson = False) -> None:
    """Show what `apply` would change, and in which groups. Changes nothing."""
    _apply(entries, account, state, json, dry_run=True)


@declare.command("delete")
def delete(  # an option each
    section: Of,
    id: Id,
    members: WithMembers = False,
    dry_run: DryRun = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Delete an entity that nothing uses. A group that has members needs --members, and they leave first."""
    from handler.operations.declaration_operations import DeleteDeclared

    _changed(DeleteDeclared(section=section, id=id, members=members, dry_run=dry_run), state, json)


@declare.command("revisions")
def revisions(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most revisions, newest first.")] = 30,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List the changes over the API: when, the author, from where, and of what."""
    answer = read(state, json, "declarations", "revisions", query=f"?limit={limit}")
    from handler.cli.declare_text import revisions_table

    show(revisions_table(answer))


@declare.command("restore")
def restore(
    number: Annotated[int, typer.Argument(metavar="REVISION", min=0, help="Its number; 0 is before the first.")],
    members: WithMembers = False,
    dry_run: DryRun = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Declare over the API again what was declared after a revision. What the file declares stays as it is."""
    from handler.operations.declaration_operations import RestoreRevision

    _changed(RestoreRevision(number=number, members=members, dry_run=dry_run), state, json)


@declare.command("export")
def export(state: State = None, json: AsJson = False) -> None:
    """Print what both owners declare as one file, for check and replay. It is JSON, which is YAML, too."""
    print_json(read(state, json, "declarations", "document"))


def _apply(entries: Path, account: str | None, state: Path | None, json: bool, *, dry_run: bool) -> NoReturn:
    from handler.operations.declaration_operations import ApplyDeclarations

    with refusals(json):
        sections = _sections(entries, json)
    of = None if account is None else AccountId(account)
    _changed(ApplyDeclarations(sections=sections, dry_run=dry_run, account=of), state, json)


def _sections(entries: Path, json: bool) -> dict[Section, dict[str, dict[str, Any]]]:
    """Read a file of entries. Exits if it is none, or has a section that only the daemon's file can have."""
    from config.errors import DeclarationError
    from config.load import read as read_file

    reading = read_file(entries)
    if reading.problems:
        raise DeclarationError(reading.problems)
    known = {section.value: section for section in Section}
    found: dict[Section, dict[str, dict[str, Any]]] = {}
    for name, bodies in reading.data.items():
        if name not in known or not _is_section(bodies):
            site = reading.key_site((name,))
            fail(
                f"{site.file}:{site.line}: {name}: expected sections with entries, of {', '.join(known)}; "
                "everything else is declared in the daemon's file",
                PROBLEMS,
                json=json,
            )
        found[known[name]] = bodies  # type: ignore[assignment]  # as `_is_section` says
    return found


def _is_section(bodies: Plain) -> bool:
    return isinstance(bodies, dict) and all(isinstance(body, dict) for body in bodies.values())


def _changed(operation: DataclassType, state: Path | None, json: bool) -> NoReturn:
    """Have a change made, print what it does or why it is refused, and exit accordingly."""
    status, answer = outcome(state, json, operation)
    if json:
        print_json(answer)
    else:
        from handler.cli.declare_text import change_lines

        lines(change_lines(answer))
    raise typer.Exit(PROBLEMS if status == HTTPStatus.CONFLICT else DONE)
