"""`trimtab audit`: who did what, and whether the trail is whole. Reads the state directory; no daemon is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from handler.cli.commands import Program
from handler.cli.terminal import PROBLEMS, AsJson, State, directory, instant, lines, print_json, refusals, show

audit = Program("The audit trail: who did what, from where, and what came of it.")

Group = Annotated[str | None, typer.Option(metavar="GROUP", help="Only what was about this group.")]
Who = Annotated[str | None, typer.Option(metavar="NAME", help="Only what this user or program did.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Only from then on, such as -1d or 2026-01-31.")]
_COPY = "audit.jsonl"


@audit.command("list")
def list_(
    group: Group = None,
    who: Who = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 50,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List what was asked for, with its result; the newest last."""
    begin = None if since is None else instant(since, json=json)
    with refusals(json):
        wanted = [line for line in _joined(directory(state)) if _fits(line, group, who, begin)][-limit:]
        if json:
            print_json(wanted)
            return
        from handler.cli.tables import audit_table

        show(audit_table(wanted))


@audit.command("verify")
def verify(state: State = None, json: AsJson = False) -> None:
    """Check that no row was altered, removed or moved, and that store and copy agree."""
    with refusals(json):
        rows, problems = _examined(directory(state))
    if json:
        print_json({"rows": rows, "problems": problems})
    elif problems:
        lines(problems)
    else:
        lines([f"whole: {rows} rows, the same in the store and in {_COPY}"])
    if problems:
        raise typer.Exit(PROBLEMS)


@audit.command("export")
def export(since: Since = None, state: State = None, json: AsJson = False) -> None:
    """Write the rows with their digests, one JSON object a line."""
    from handler.runtime.store_place import store_source
    from handler.store.audit_rows import read_audit
    from handler.users.audit_file import written

    begin = None if since is None else instant(since, json=json)
    with refusals(json):
        rows = read_audit(store_source(directory(state)))
        for line in written(row for row in rows if begin is None or row.fields.get("at", begin) >= begin):
            typer.echo(line)


def _joined(state: Path) -> list[dict[str, Any]]:
    """Return one object for each request: its row, with the result of the row that tells it."""
    from handler.identity.audit import answered, is_whole
    from handler.runtime.store_place import store_source
    from handler.store.audit_rows import read_audit

    found: dict[int, dict[str, Any]] = {}
    for row in read_audit(store_source(state)):
        fields = dict(row.fields)
        if not is_whole(fields):
            continue  # `verify` tells of it
        of = fields.get("of", 0)
        if of in found:
            found[of] = answered(found[of], fields)
        else:
            found[row.number] = fields
    return list(found.values())


def _fits(line: dict[str, Any], group: str | None, who: str | None, begin: float | None) -> bool:
    return (
        (group is None or group in line.get("groups", ()))
        and (who is None or line["who"] == who)
        and (begin is None or line["at"] >= begin)
    )


def _examined(state: Path) -> tuple[int, list[str]]:
    """Return how many rows the store has, and what is wrong.

    A running daemon writes a row into the store first. So the copy is read last, and rows that it lacks at its end are
    looked for once more.
    """
    rows, problems, is_copying = _compared(state)
    return _compared(state)[:2] if is_copying else (rows, problems)


def _compared(state: Path) -> tuple[int, list[str], bool]:
    from handler.identity.audit import AuditRow, broken, differing
    from handler.runtime.store_place import store_source
    from handler.store.audit_rows import read_audit
    from handler.users.audit_file import AuditFile

    kept = list(read_audit(store_source(state)))
    copied: dict[int, AuditRow] = {}
    problems = list(broken(kept))
    for place, row in enumerate(AuditFile(state / _COPY).rows(), start=1):
        if isinstance(row, AuditRow):
            if row.number in copied or row.number < max(copied, default=0):
                problems.append(f"{_COPY}:{place}: row {row.number} stands twice or too late")
            copied[row.number] = row
        else:
            problems.append(f"{_COPY}:{place}: no row of an audit trail")
    by_number = {row.number: row for row in kept}
    tail = set(range(max(copied, default=0) + 1, max(by_number, default=0) + 1))
    is_copying = bool(tail) and not problems and by_number.keys() - tail == copied.keys()
    problems += differing(by_number, copied)
    return len(kept), problems, is_copying
