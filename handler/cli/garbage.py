"""``trimtab garbage``: list what has our mark and is not wanted, and abandon it."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

import typer

from config.units import MemberName
from handler.cli.names import group_names
from handler.cli.terminal import PROBLEMS, AsJson, State, act, get, lines, print_json, show


def garbage(
    group: Annotated[
        str | None,
        typer.Argument(metavar="[GROUP]", help="Only what has this group's mark.", autocompletion=group_names),
    ] = None,
    abandon: Annotated[
        str | None, typer.Option("--abandon", metavar="NAME", help="Forget this piece: it is never touched again.")
    ] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List what has Trimtab's mark and belongs to no member, with age and reason. Exits 1 if a listing is partial."""
    if abandon is not None:
        from handler.operations.daemon_operations import AbandonGarbage

        message = f"{abandon}: abandoned; it is never touched again"
        act(state, json, AbandonGarbage(name=MemberName(abandon)), message=message)
        return
    found = get(state, json, "garbage", query="" if group is None else f"?group={quote(group, safe='')}")
    if group is not None and not found["garbage"]:
        get(state, json, "groups", group)  # garbage may outlive its group; without garbage, the group must exist
    if json:
        print_json(found)
    else:
        from handler.cli.tables import garbage_table

        show(garbage_table(found["garbage"]))
        lines((f"incomplete: {each}" for each in found["unseen"]), err=True)
    if found["unseen"]:
        raise typer.Exit(PROBLEMS)
