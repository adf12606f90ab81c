"""`trimtab token`: bearer tokens of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from handler.cli.commands import Program
from handler.cli.names import token_names, user_names
from handler.cli.terminal import USAGE, AsJson, State, act, ask, fail, print_json, read, show

if TYPE_CHECKING:
    from config.units import Seconds
    from handler.identity.rights import Verb

token = Program("Bearer tokens of users, for the API, the console and scrapers.")

User = Annotated[str, typer.Argument(metavar="USER", help="A user's name.", autocompletion=user_names)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name for the token.")]
Known = Annotated[str, typer.Argument(metavar="NAME", help="A token's name.", autocompletion=token_names)]
Expires = Annotated[str, typer.Option(metavar="SPAN", help="How long it is accepted, such as 90d; or never.")]


@token.command("new")
def new(  # noqa: PLR0913, PLR0917  # an option each
    user: User,
    name: Name,
    groups: Annotated[str, typer.Option(metavar="A,B", help="Only these of the user's groups; default: all.")] = "",
    verbs: Annotated[str, typer.Option(metavar="A,B", help="Only these of the role's rights; default: all.")] = "",
    expires: Expires = "90d",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a token, and show it, this one time."""
    from handler.cli.user import groups_of
    from handler.operations.user_operations import NewToken

    words = tuple(word.strip() for word in verbs.split(",") if word.strip())
    made = NewToken(
        user=user,
        name=name,
        groups=groups_of(groups),
        verbs=cast("tuple[Verb, ...]", words) or None,  # the daemon checks the words
        lasts=span_of(expires, json=json),
    )
    _show(ask(state, json, made)[1], json=json)


@token.command("list")
def list_(
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only this user's.")] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List tokens with their scopes, expiry and last use."""
    from urllib.parse import quote

    query = "" if user is None else f"?user={quote(user, safe='')}"
    answer = read(state, json, "tokens", query=query)
    from handler.cli.user_tables import tokens_table

    show(tokens_table(answer))


@token.command("rotate")
def rotate(  # an option each
    user: User,
    name: Known,
    finish: Annotated[bool, typer.Option("--finish", help="Only end the old token.")] = False,
    expires: Expires = "90d",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a new token in place of one; the old one is accepted until the next rotation, or --finish."""
    from handler.operations.user_operations import RotateToken

    _, answer = ask(state, json, RotateToken(user=user, token=name, finish=finish, lasts=span_of(expires, json=json)))
    if not finish:
        _show(answer, json=json)
    elif json:
        print_json(answer)
    else:
        typer.echo(f"{user} {name}: the old token has ended")


@token.command("revoke")
def revoke(user: User, name: Known, state: State = None, json: AsJson = False) -> None:
    """Delete a token, so that it is not accepted any more."""
    from handler.operations.user_operations import RevokeToken

    act(state, json, RevokeToken(user=user, token=name), message=f"{user} {name}: revoked")


def span_of(text: str, *, json: bool) -> Seconds | None:
    """Return the seconds of an option; ``None``: never. Ends the command with a usage error if it is no span."""
    from config.units import parse_span

    if text == "never":
        return None
    try:
        return parse_span(text)
    except ValueError as error:
        fail(str(error), USAGE, json=json)


def _show(answer: dict[str, Any], *, json: bool) -> None:
    """Print the token alone on standard output, so that it can be piped into a file."""
    if json:
        print_json(answer)
        return
    from handler.cli.time_format import clock_text

    expiry = answer["expires_at"]
    until = "does not expire" if expiry is None else f"expires {clock_text(expiry)} UTC"
    typer.echo(f"{answer['user']} {answer['name']}: shown this one time; it {until}", err=True)
    typer.echo(answer["token"])
