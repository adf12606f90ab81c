"""`trimtab store`, `backup` and `restore`: the store's state, its adoption and its copies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from config.units import GroupId
from handler.cli.commands import Program
from handler.cli.progress import progress, waiting
from handler.cli.terminal import (
    PROBLEMS,
    AsJson,
    File,
    State,
    directory,
    fail,
    lines,
    perform,
    print_json,
    read,
    refusals,
)

store = Program("Show the store's state, and adopt it after a loss.")


@store.command("status")
def status(state: State = None, json: AsJson = False) -> None:
    """Show this daemon's claim, whether it acts, and the groups that wait for `trimtab store adopt`."""
    answer = read(state, json, "store")
    lines([f"claim {answer['claim']} on {answer['host']} (boot {answer['boot'] or 'unknown'})"])
    lines(filter(None, [answer["superseded"]]))
    lines(f"cloud {cloud}: {why}" for cloud, why in answer["unwritten"].items())
    lines(
        f"{group}: its store may be older than its members: trimtab store adopt {group}" for group in answer["doubted"]
    )


@store.command("adopt")
def adopt(
    group: Annotated[str | None, typer.Argument(metavar="[GROUP]", help="Left out: all groups in doubt.")] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Confirm a store that may be older than the fleet, and that this daemon is to act."""
    from handler.operations.daemon_operations import AdoptStore

    answer = perform(state, json, AdoptStore(group=None if group is None else GroupId(group)))
    lines(_sentences(answer))


@store.command("move")
def move(file: File, state: State = None, json: AsJson = False) -> None:
    """Move the store to where FILE declares it (`store:`; left out: the state directory), while no daemon runs."""
    from handler.operations.store_move import move as move_store

    with refusals(json), progress("copying") as tell:
        moved = move_store(directory(state), file, tell)
    rows = {name: copied.rows for name, copied in moved.tables.items()}
    if json:
        kept = None if moved.aside is None else str(moved.aside)
        print_json({"before": moved.before, "after": moved.after, "rows": rows, "kept": kept})
        return
    lines([f"moved from {moved.before} to {moved.after}: {len(rows)} tables, {sum(rows.values())} rows, all compared"])
    if moved.aside is not None:
        lines([f"the store of before is kept as {moved.aside}"])


def _sentences(answer: dict[str, Any]) -> list[str]:
    claimed = [f"this daemon acts, under claim {answer['claim']}"] if answer["claim"] else []
    return [*claimed, *(_sentence(one) for one in answer["groups"])]


def _sentence(one: dict[str, Any]) -> str:
    surplus = max(one["found"] - (one["desired"] or 0), 0)
    more = f"; {surplus} more members were found, and leave now" if surplus else ""
    return f"{one['group']}: size {one['desired']} is kept (the store has {one['stored']}){more}"


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Copy the store, as of one instant, into one file; the daemon may be running."""
    from handler.cli import client
    from handler.operations.address import call_of
    from handler.operations.backups import take
    from handler.operations.daemon_operations import FlushStore

    where = directory(state)
    if file.is_dir():
        fail(f"{file} is a directory: name a file in it", PROBLEMS, json=json)
    if file.exists() and not force:
        fail(f"{file} exists already: name another file, or replace it with --force", 1, json=json)
    try:
        client.ask(where / "trimtab.sock", call_of(FlushStore()))
        running = True
    except client.NotReachable:
        running = False  # everything is on disk
    with refusals(json), waiting(f"copying the store to {file}"):
        content = take(where, file)
    summary = {
        "file": str(file),
        "installation": content.installation,
        "schema": content.schema,
        "groups": content.groups,
    }
    if json:
        print_json(summary | {"daemon": running})
    else:
        lines([f"{file}: installation {content.installation}, schema {content.schema}, groups: {content.groups}"])


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that `trimtab backup` wrote.")],
    state: State = None,
    json: AsJson = False,
) -> None:
    """Restore a copy of the store while no daemon runs. The replaced store is kept beside it."""
    from handler.operations.backups import missing_keys
    from handler.operations.backups import restore as put_back

    where = directory(state)
    with refusals(json), waiting(f"reading {file}"):
        content, aside = put_back(where, file)
        missing = missing_keys(where, content)
    if json:
        replaced = None if aside is None else str(aside)
        print_json({"file": str(file), "groups": content.groups, "replaced": replaced, "missing_keys": missing})
        return
    lines([f"restored from {file}; groups: {content.groups}"])
    if aside is not None:
        lines([f"the replaced store is kept as {aside}"])
    if missing:
        keys, file = ", ".join(missing), where / "seal-key"
        lines([f"secrets are sealed under key {keys}, which is not in {file}: put that file back before the start,"])
        lines(["unless the file's section seal refers to the key"])
    lines(
        [
            "start the daemon: a group whose cloud listing agrees with this store goes on by itself",
            "every other group keeps all its members, and waits for: trimtab store adopt",
        ]
    )
