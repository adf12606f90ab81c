"""``trimtab member``: looks at members, and acts on one by name."""

from __future__ import annotations

from typing import Annotated

import typer

from config.units import GroupId, MemberName
from handler.cli.commands import Program
from handler.cli.terminal import (
    AsJson,
    Group,
    Member,
    State,
    act,
    lines,
    perform,
    read,
    resize,
    show,
)

member = Program("Look at members, and act on one by name.")


@member.command("list")
def member_list(group: Group, state: State = None, json: AsJson = False) -> None:
    """List a group's members."""
    answer = read(state, json, "groups", group, "members")
    from handler.cli.tables import members_table

    show(members_table(answer))


@member.command("replace")
def member_replace(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Have another member in this one's place: the new one comes first."""
    from handler.operations.member_operations import ReplaceMember

    act(state, json, ReplaceMember(group=GroupId(group), member=MemberName(name)), said=f"{name}: will be replaced")


@member.command("observe")
def member_observe(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Look at one member now: what is remembered, listed and seated, what follows, and what would be done about it."""
    from handler.operations.member_operations import ObserveMember

    answer = perform(state, json, ObserveMember(group=GroupId(group), member=MemberName(name)))
    from handler.cli.member_text import closeup_lines

    lines(closeup_lines(answer))


@member.command("converge")
def member_converge(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Do now what is to be done about one member, and believe what is seen of it; nobody else is touched."""
    from handler.operations.member_operations import ConvergeMember

    answer = perform(state, json, ConvergeMember(group=GroupId(group), member=MemberName(name)))
    from handler.cli.member_text import outcome_lines

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
    from handler.operations.member_operations import DeleteMember

    resize(name, state, json, DeleteMember(group=GroupId(group), member=MemberName(name), force=force))


@member.command("adopt")
def member_adopt(
    group: Group,
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="As the cloud has it.")],
    force: Annotated[bool, typer.Option("--force", help="Also while paused, or above max.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Raise the size by one, and have a machine that is there already join the group for it."""
    from handler.operations.member_operations import AdoptMember

    resize(name, state, json, AdoptMember(group=GroupId(group), named=name, force=force))


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
    from handler.operations.member_operations import EvictMember

    evict = EvictMember(group=GroupId(group), member=MemberName(name), replace=replace, force=force)
    if not replace:
        resize(name, state, json, evict)
    act(state, json, evict, said=f"{name}: leaves and is kept; another one is made")


@member.command("protect")
def member_protect(
    group: Group,
    name: Member,
    off: Annotated[bool, typer.Option("--off", help="Allow it to leave again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Never choose this member as surplus."""
    from handler.operations.member_operations import ProtectMember

    said = f"{name}: may leave again" if off else f"{name}: protected"
    act(state, json, ProtectMember(group=GroupId(group), member=MemberName(name), protected=not off), said=said)
