"""``trimtab member``: looks at members, and acts on one by name."""

from __future__ import annotations

from typing import Annotated

import typer

from handler.cli.commands import Program
from handler.cli.terminal import AsJson, Group, Member, State, act, ask, get, lines, print_json, show, tell_size

member = Program("Look at members, and act on one by name.")


@member.command("list")
def member_list(group: Group, state: State = None, json: AsJson = False) -> None:
    """List a group's members."""
    answer = get(state, json, "groups", group, "members")
    if json:
        print_json(answer)
        return
    from handler.cli.tables import members_table

    show(members_table(answer))


@member.command("replace")
def member_replace(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Have another member in this one's place: the new one comes first."""
    act(state, json, "POST", "groups", group, "members", name, "replace", body={}, said=f"{name}: will be replaced")


@member.command("observe")
def member_observe(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Look at one member now: what is remembered, listed and seated, what follows, and what would be done about it."""
    _, answer = ask(state, json, "POST", "groups", group, "members", name, "observe")
    if json:
        print_json(answer)
        return
    from handler.cli.closeup_lines import closeup_lines

    lines(closeup_lines(answer))


@member.command("converge")
def member_converge(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Do now what is to be done about one member, and believe what is seen of it; nobody else is touched."""
    _, answer = ask(state, json, "POST", "groups", group, "members", name, "converge", body={})
    if json:
        print_json(answer)
        return
    from handler.cli.closeup_lines import outcome_lines

    lines(outcome_lines(answer))


@member.command("delete")
def member_delete(
    group: Group,
    name: Member,
    force: Annotated[bool, typer.Option("--force", help="Also if protected; while paused also below min.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Lower the size by one, and have this very member leave for it."""
    query = f"?force={str(force).lower()}"
    tell_size(name, *ask(state, json, "DELETE", "groups", group, "members", name, query=query), json=json)


@member.command("adopt")
def member_adopt(
    group: Group,
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="As the cloud has it.")],
    force: Annotated[bool, typer.Option("--force", help="Also while paused, or above max.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Raise the size by one, and have a machine that is there already join the group for it."""
    body: dict[str, object] = {"named": name, "force": force}
    tell_size(name, *ask(state, json, "POST", "groups", group, "members", body=body), json=json)


@member.command("evict")
def member_evict(  # an option each
    group: Group,
    name: Member,
    replace: Annotated[bool, typer.Option("--replace", help="Keep the size: another one is made.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also if protected; while paused also below min.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Lower the size by one, and have this very member leave for it: its machine is kept, without its mark."""
    path = ("groups", group, "members", name, "evict")
    body: dict[str, object] = {"replace": replace, "force": force}
    if replace:
        act(state, json, "POST", *path, body=body, said=f"{name}: leaves and is kept; another one is made")
        return
    tell_size(name, *ask(state, json, "POST", *path, body=body), json=json)


@member.command("protect")
def member_protect(
    group: Group,
    name: Member,
    off: Annotated[bool, typer.Option("--off", help="Allow it to leave again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Never choose this member as surplus."""
    said = f"{name}: may leave again" if off else f"{name}: protected"
    act(state, json, "POST", "groups", group, "members", name, "protect", body={"protected": not off}, said=said)
