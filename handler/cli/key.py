"""`trimtab user key`: pairs of API key and secret key, with which users sign requests."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from handler.cli.commands import Program
from handler.cli.names import key_pair_names, user_names
from handler.cli.terminal import AsJson, State, act, ask, print_json, read, show
from handler.cli.token import Expires, span_of

key = Program("Pairs of API key and secret key of users, for programs that sign their requests.")

User = Annotated[str, typer.Argument(metavar="USER", help="A user's name.", autocompletion=user_names)]
Name = Annotated[str, typer.Argument(metavar="[NAME]", help="A name for the pair.")]
Known = Annotated[str, typer.Argument(metavar="[NAME]", help="A pair's name.", autocompletion=key_pair_names)]
_ONE = "default"
"""The name of a pair, where its user has one and names none."""


@key.command("new")
def new(user: User, name: Name = _ONE, expires: Expires = "90d", state: State = None, json: AsJson = False) -> None:
    """Make a pair, and show its secret key, this one time."""
    from handler.operations.key_operations import NewKeyPair

    _show(ask(state, json, NewKeyPair(user=user, name=name, lasts=span_of(expires, json=json)))[1], json=json)


@key.command("list")
def list_(
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only this user's.")] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List pairs with their API keys, expiry and last use."""
    from urllib.parse import quote

    query = "" if user is None else f"?user={quote(user, safe='')}"
    answer = read(state, json, "keys", query=query)
    from handler.cli.user_tables import key_pairs_table

    show(key_pairs_table(answer))


@key.command("rotate")
def rotate(  # an option each
    user: User,
    name: Known = _ONE,
    finish: Annotated[bool, typer.Option("--finish", help="Only end the old pair.")] = False,
    expires: Expires = "90d",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a new pair in place of one; the old one is accepted until the next rotation, or --finish."""
    from handler.operations.key_operations import RotateKeyPair

    wanted = RotateKeyPair(user=user, pair=name, finish=finish, lasts=span_of(expires, json=json))
    _, answer = ask(state, json, wanted)
    if not finish:
        _show(answer, json=json)
    elif json:
        print_json(answer)
    else:
        typer.echo(f"{user} {name}: the old pair has ended")


@key.command("revoke")
def revoke(user: User, name: Known = _ONE, state: State = None, json: AsJson = False) -> None:
    """Delete a pair, so that it is not accepted any more."""
    from handler.operations.key_operations import RevokeKeyPair

    act(state, json, RevokeKeyPair(user=user, pair=name), message=f"{user} {name}: revoked")


def _show(answer: dict[str, Any], *, json: bool) -> None:
    """Print the two keys alone on standard output, so that they can be piped into a file."""
    if json:
        print_json(answer)
        return
    from handler.cli.time_format import clock_text

    expiry = answer["expires_at"]
    until = "does not expire" if expiry is None else f"expires {clock_text(expiry)} UTC"
    typer.echo(f"{answer['user']} {answer['name']}: the secret key is shown this one time; the pair {until}", err=True)
    typer.echo(f"api_key={answer['api_key']}")
    typer.echo(f"secret_key={answer['secret_key']}")
