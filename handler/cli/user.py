"""`trimtab user`: who may use the daemon, and what requests without a credential may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from config.units import AccountId
from handler.cli.commands import Program
from handler.cli.credentials import key
from handler.cli.names import account_names, user_names
from handler.cli.terminal import USAGE, AsJson, State, act, fail, groups_of, perform, read, show
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole

user = Program("Users, their roles and key pairs, and what requests without a credential may do.")
user.add_typer(key, name="key")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name for the user.")]
Known = Annotated[str, typer.Argument(metavar="NAME", help="A user's name.", autocompletion=user_names)]
Given = Annotated[UserRole, typer.Option("--role", help="What the user may do.")]
Groups = Annotated[
    str | None, typer.Option("--groups", metavar="A,B", help="The only groups that the user sees; default: all.")
]
NewGroups = Annotated[
    str | None,
    typer.Option("--groups", metavar="A,B", help="The only groups that the user sees; default: they stay."),
]
AllGroups = Annotated[bool, typer.Option("--all-groups", help="The user sees all groups, also those to come.")]
_ALLOWED = "What requests without a credential may do: nothing, read the metrics, or read everything."


@user.command("init")
def init(
    name: Name,
    anonymous: Annotated[Anonymous | None, typer.Option(help=_ALLOWED)] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make the first user, an admin. From then on rights hold, and the token of the state directory ends."""
    from handler.operations.user_operations import BeginUsers

    allowed = anonymous if anonymous is not None else _asked(json=json)
    perform(state, json, BeginUsers(name=name, anonymous=allowed))
    typer.echo(f"{name}: the first admin; requests without a credential: {allowed.value}")
    typer.echo(f"a token for it: trimtab token new {name} NAME; the token of the state directory has ended")
    typer.echo(f"a password for the console: trimtab user password {name}")


def _asked(*, json: bool) -> Anonymous:
    """Ask the person at the terminal; there is no default."""
    import sys

    if json or not sys.stdin.isatty():
        fail("say what requests without a credential may do: --anonymous none, metrics or viewer", USAGE, json=json)
    typer.echo(f"{_ALLOWED[:-1]}?")
    while True:
        word: str = typer.prompt("none, metrics or viewer")
        if word.strip() in {each.value for each in Anonymous}:
            return Anonymous(word.strip())


@user.command("anonymous")
def anonymous(
    allowed: Annotated[Anonymous, typer.Argument(metavar="none|metrics|viewer", help=_ALLOWED)],
    state: State = None,
    json: AsJson = False,
) -> None:
    """Change what requests without a credential may do."""
    from handler.operations.user_operations import AllowAnonymous

    act(state, json, AllowAnonymous(anonymous=allowed), message=f"requests without a credential: {allowed.value}")


@user.command("add")
def add(  # an option each
    name: Name,
    role: Given,
    groups: Groups = None,
    account: Annotated[
        str | None, typer.Option(metavar="ACCOUNT", help="Default: root.", autocompletion=account_names)
    ] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a user. Of another account than root, its name gets a suffix."""
    from handler.operations.user_operations import AddUser

    of = None if account is None else AccountId(account)
    made = perform(state, json, AddUser(name=name, role=role, groups=groups_of(groups, json=json), account=of))["name"]
    ways = f"a token: trimtab token new {made} NAME; a password: trimtab user password {made}"
    typer.echo(f"{made}: added, {role.value}; {ways}")


@user.command("list")
def list_(state: State = None, json: AsJson = False) -> None:
    """List users with their roles and groups."""
    answer = read(state, json, "users")
    from handler.cli.user_tables import users_table

    show(users_table(answer["users"]))
    if answer["anonymous"] is not None:
        typer.echo(f"requests without a credential: {answer['anonymous']}")


@user.command("role")
def role(
    name: Known,
    role: Annotated[UserRole, typer.Argument(metavar="ROLE", help="viewer, operator, tuner or admin.")],
    groups: NewGroups = None,
    all_groups: AllGroups = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Change a user's role; its groups stay, unless --groups or --all-groups changes them."""
    from handler.operations.user_operations import GiveRole

    given = GiveRole(user=name, role=role)
    if groups is not None and all_groups:
        fail("--groups limits the user, and --all-groups lifts the limit: leave one out", USAGE, json=json)
    if groups is not None or all_groups:
        given = replace(given, groups=groups_of(groups, json=json))
    held = perform(state, json, given)["groups"]
    typer.echo(f"{name}: {role.value}, groups: {'all' if held is None else ', '.join(held)}")


@user.command("disable")
def disable(
    name: Known,
    off: Annotated[bool, typer.Option("--off", help="Accept its tokens again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Accept none of a user's tokens until --off."""
    from handler.operations.user_operations import DisableUser

    message = f"{name}: its tokens are accepted again" if off else f"{name}: its tokens are not accepted any more"
    act(state, json, DisableUser(user=name, disabled=not off), message=message)


@user.command("password")
def password(
    name: Known,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the password: no more logging in by one.")] = False,
    from_input: Annotated[
        bool, typer.Option("--stdin", help="Read it from standard input, one line, instead of asking.")
    ] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Set the password with which a user logs in to the console; sessions of this user end."""
    from handler.operations.user_operations import GivePassword, RemovePassword

    if remove:
        act(state, json, RemovePassword(user=name), message=f"{name}: the password is removed")
        return
    given = GivePassword(user=name, password=_typed(from_input=from_input, json=json))
    act(state, json, given, message=f"{name}: the password is set; who was logged in as {name} no longer is")


def _typed(*, from_input: bool, json: bool) -> str:
    """Read a password without showing it; never from the command line, which every account can read."""
    import sys

    if from_input:
        return sys.stdin.readline().rstrip("\r\n")
    if json or not sys.stdin.isatty():
        fail("no terminal to type a password at: pass it with --stdin", USAGE, json=json)
    typed: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    return typed


@user.command("delete")
def delete(name: Known, state: State = None, json: AsJson = False) -> None:
    """Delete a user and its tokens."""
    from handler.operations.user_operations import DeleteUser

    act(state, json, DeleteUser(user=name), message=f"{name}: deleted")
