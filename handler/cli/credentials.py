"""`trimtab token` and `trimtab user key`: what users identify themselves with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from handler.cli.commands import Program
from handler.cli.names import key_pair_names, token_names, user_names
from handler.cli.terminal import USAGE, AsJson, State, act, fail, groups_of, limit_of, perform, read, show

if TYPE_CHECKING:
    from config.units import Seconds
    from handler.identity.rights import Verb

token = Program("Bearer tokens of users, for the API, the console and scrapers.")
key = Program("Pairs of API key and secret key of users, for programs that sign their requests.")

User = Annotated[str, typer.Argument(metavar="USER", help="A user's name.", autocompletion=user_names)]
OneUser = Annotated[str | None, typer.Argument(metavar="[USER]", help="Only this user's.")]
TokenName = Annotated[str, typer.Argument(metavar="NAME", help="A name for the token.")]
KnownToken = Annotated[str, typer.Argument(metavar="NAME", help="A token's name.", autocompletion=token_names)]
PairName = Annotated[str, typer.Argument(metavar="[NAME]", help="A name for the pair.")]
KnownPair = Annotated[str, typer.Argument(metavar="[NAME]", help="A pair's name.", autocompletion=key_pair_names)]
Expires = Annotated[str, typer.Option(metavar="SPAN", help="How long it is accepted, such as 90d; or never.")]
NewExpires = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="SPAN",
        help="How long it is accepted, or never; default: as long as the one before was made for.",
    ),
]
_ONE = "default"
"""The name of a pair, where its user has one and names none."""


@token.command("new")
def new_token(  # noqa: PLR0913, PLR0917  # an option each
    user: User,
    name: TokenName,
    groups: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these of the user's groups; default: all.")
    ] = None,
    verbs: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these of the role's rights; default: all.")
    ] = None,
    expires: Expires = "90d",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a token, and show it, this one time."""
    from handler.operations.user_operations import NewToken

    wanted = NewToken(
        user=user,
        name=name,
        groups=groups_of(groups, json=json),
        verbs=cast("tuple[Verb, ...] | None", limit_of(verbs, "--verbs", json=json)),  # the daemon checks the words
        lasts=_span_of(expires, json=json),
    )
    _show_token(perform(state, json, wanted))


@token.command("list")
def list_tokens(user: OneUser = None, state: State = None, json: AsJson = False) -> None:
    """List tokens with their scopes, expiry and last use."""
    answer = read(state, json, "tokens", query=_only(user))
    from handler.cli.user_tables import tokens_table

    show(tokens_table(answer))


@token.command("rotate")
def rotate_token(  # an option each
    user: User,
    name: KnownToken,
    finish: Annotated[bool, typer.Option("--finish", help="Only end the old token.")] = False,
    expires: NewExpires = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a new token in place of one; the old one is accepted until the next rotation, or --finish."""
    from handler.operations.user_operations import RotateToken

    wanted = RotateToken(user=user, token=name, finish=finish)
    if expires is not None:
        wanted = replace(wanted, lasts=_span_of(expires, json=json))
    answer = perform(state, json, wanted)
    if finish:
        typer.echo(f"{user} {name}: the old token has ended")
    else:
        _show_token(answer)


@token.command("revoke")
def revoke_token(user: User, name: KnownToken, state: State = None, json: AsJson = False) -> None:
    """Delete a token, so that it is not accepted any more."""
    from handler.operations.user_operations import RevokeToken

    act(state, json, RevokeToken(user=user, token=name), message=f"{user} {name}: revoked")


@key.command("new")
def new_pair(
    user: User, name: PairName = _ONE, expires: Expires = "90d", state: State = None, json: AsJson = False
) -> None:
    """Make a pair, and show its secret key, this one time."""
    from handler.operations.key_operations import NewKeyPair

    _show_pair(perform(state, json, NewKeyPair(user=user, name=name, lasts=_span_of(expires, json=json))))


@key.command("list")
def list_pairs(user: OneUser = None, state: State = None, json: AsJson = False) -> None:
    """List pairs with their API keys, expiry and last use."""
    answer = read(state, json, "keys", query=_only(user))
    from handler.cli.user_tables import key_pairs_table

    show(key_pairs_table(answer))


@key.command("rotate")
def rotate_pair(  # an option each
    user: User,
    name: KnownPair = _ONE,
    finish: Annotated[bool, typer.Option("--finish", help="Only end the old pair.")] = False,
    expires: NewExpires = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a new pair in place of one; the old one is accepted until the next rotation, or --finish."""
    from handler.operations.key_operations import RotateKeyPair

    wanted = RotateKeyPair(user=user, pair=name, finish=finish)
    if expires is not None:
        wanted = replace(wanted, lasts=_span_of(expires, json=json))
    answer = perform(state, json, wanted)
    if finish:
        typer.echo(f"{user} {name}: the old pair has ended")
    else:
        _show_pair(answer)


@key.command("revoke")
def revoke_pair(user: User, name: KnownPair = _ONE, state: State = None, json: AsJson = False) -> None:
    """Delete a pair, so that it is not accepted any more."""
    from handler.operations.key_operations import RevokeKeyPair

    act(state, json, RevokeKeyPair(user=user, pair=name), message=f"{user} {name}: revoked")


def _span_of(text: str, *, json: bool) -> Seconds | None:
    """Return the seconds of an option; ``None``: never. Ends the command with a usage error if it is no span."""
    from config.units import parse_span

    if text == "never":
        return None
    try:
        return parse_span(text)
    except ValueError as error:
        fail(str(error), USAGE, json=json)


def _only(user: str | None) -> str:
    from urllib.parse import quote

    return "" if user is None else f"?user={quote(user, safe='')}"


def _show_token(answer: dict[str, Any]) -> None:
    """Print the token alone on standard output, so that it can be piped into a file."""
    typer.echo(f"{answer['user']} {answer['name']}: shown this one time; it {_expiry(answer)}", err=True)
    typer.echo(answer["token"])


def _show_pair(answer: dict[str, Any]) -> None:
    """Print the two keys alone on standard output, so that they can be piped into a file."""
    typer.echo(
        f"{answer['user']} {answer['name']}: the secret key is shown this one time; the pair {_expiry(answer)}",
        err=True,
    )
    typer.echo(f"api_key={answer['api_key']}")
    typer.echo(f"secret_key={answer['secret_key']}")


def _expiry(answer: dict[str, Any]) -> str:
    from handler.cli.time_format import clock_text

    expiry = answer["expires_at"]
    return "does not expire" if expiry is None else f"expires {clock_text(expiry)} UTC"
