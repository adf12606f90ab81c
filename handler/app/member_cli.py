"""``trimtab member``: looks at members, and acts on one by name."""

from __future__ import annotations

from typing import Annotated

import typer

from handler.app.terminal import AsJson, Group, State, act, ask, get, print_json, show, tell_size

member = typer.Typer(help="Look at members, and act on one by name.", no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME")]


@member.command("list")
def member_list(group: Group, state: State = None, json: AsJson = False) -> None:
    """List a group's members."""
    answer = get(state, json, "groups", group, "members")
    if json:
        print_json(answer)
        return
    from handler.app.tables import members_table

    show(members_table(answer))


@member.command("replace")
def member_replace(group: Group, name: Name, state: State = None, json: AsJson = False) -> None:
    """Have another member in this one's place: the new one comes first."""
    act(state, json, "POST", "groups", group, "members", name, "replace", body={}, said=f"{name}: will be replaced")


@member.command("delete")
def member_delete(
    group: Group,
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Also if protected; while paused also below min.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Lower the size by one, and have this very member leave for it."""
    query = f"?force={str(force).lower()}"
    tell_size(name, *ask(state, json, "DELETE", "groups", group, "members", name, query=query), json=json)


@member.command("protect")
def member_protect(
    group: Group,
    name: Name,
    off: Annotated[bool, typer.Option("--off", help="Allow it to leave again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Never choose this member as surplus."""
    said = f"{name}: may leave again" if off else f"{name}: protected"
    act(state, json, "POST", "groups", group, "members", name, "protect", body={"protected": not off}, said=said)
