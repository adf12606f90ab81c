"""``trimtab member``: show members, and operate on one by name."""

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

member = Program("Show members, and operate on one by name.")


@member.command("list")
def member_list(group: Group, state: State = None, json: AsJson = False) -> None:
    """List a group's members."""
    answer = read(state, json, "groups", group, "members")
    from handler.cli.tables import members_table

    show(members_table(answer))


@member.command("replace")
def member_replace(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Replace a member: the new one is in service before this one leaves."""
    from handler.operations.member_operations import ReplaceMember

    act(state, json, ReplaceMember(group=GroupId(group), member=MemberName(name)), message=f"{name}: will be replaced")


@member.command("observe")
def member_observe(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Show one member now: its record, its listing, its registrations, and the steps that a pass would take."""
    from handler.operations.member_operations import ObserveMember

    answer = perform(state, json, ObserveMember(group=GroupId(group), member=MemberName(name)))
    from handler.cli.member_text import closeup_lines

    lines(closeup_lines(answer))


@member.command("log")
def member_log(
    group: Group,
    name: Member,
    number: Annotated[int, typer.Option("--lines", "-n", min=1, max=10_000, help="So many lines of its end.")] = 100,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Show the end of what a member wrote on its console, where its cloud keeps that."""
    from handler.operations.member_operations import ReadMemberLog

    answer = perform(state, json, ReadMemberLog(group=GroupId(group), member=MemberName(name), lines=number))
    lines(answer["text"].split("\n") if answer["lines"] else [f"{name}: has written nothing"])


@member.command("converge")
def member_converge(group: Group, name: Member, state: State = None, json: AsJson = False) -> None:
    """Converge one member alone now, without waiting for more evidence about it."""
    from handler.operations.member_operations import ConvergeMember

    answer = perform(state, json, ConvergeMember(group=GroupId(group), member=MemberName(name)))
    from handler.cli.member_text import outcome_lines

    lines(outcome_lines(answer))


@member.command("delete")
def member_delete(
    group: Group,
    name: Member,
    force: Annotated[bool, typer.Option("--force", help="Even if protected; while paused even below min.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Lower the size by one and have this member leave."""
    from handler.operations.member_operations import DeleteMember

    resize(name, state, json, DeleteMember(group=GroupId(group), member=MemberName(name), force=force))


@member.command("adopt")
def member_adopt(
    group: Group,
    name: Annotated[str, typer.Argument(metavar="NAME|ID", help="The machine's name or id in the cloud.")],
    force: Annotated[bool, typer.Option("--force", help="Even while paused, or above max.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Raise the size by one and have an existing machine join the group."""
    from handler.operations.member_operations import AdoptMember

    resize(name, state, json, AdoptMember(group=GroupId(group), named=name, force=force))


@member.command("evict")
def member_evict(  # an option each
    group: Group,
    name: Member,
    replace: Annotated[bool, typer.Option("--replace", help="Keep the size: a new member is made.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even if protected; while paused even below min.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Lower the size by one and have this member leave: its machine is kept, without its mark."""
    from handler.operations.member_operations import EvictMember

    evict = EvictMember(group=GroupId(group), member=MemberName(name), replace=replace, force=force)
    if not replace:
        resize(name, state, json, evict)
    act(state, json, evict, message=f"{name}: leaves and is kept; a new member is made")


@member.command("protect")
def member_protect(
    group: Group,
    name: Member,
    off: Annotated[bool, typer.Option("--off", help="Allow it to leave again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Protect this member from being chosen as surplus."""
    from handler.operations.member_operations import ProtectMember

    message = f"{name}: may leave again" if off else f"{name}: protected"
    act(state, json, ProtectMember(group=GroupId(group), member=MemberName(name), protected=not off), message=message)
