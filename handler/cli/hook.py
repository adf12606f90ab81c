"""`trimtab hook`: webhooks that take alerts, and checks of saved payloads."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from config.units import PolicyId
from handler.cli.commands import Program
from handler.cli.names import hook_names
from handler.cli.terminal import (
    DONE,
    PROBLEMS,
    USAGE,
    AsJson,
    State,
    act,
    ask,
    fail,
    groups_of,
    lines,
    perform,
    print_json,
    read,
    refusals,
    send,
    show,
    words_of,
)

if TYPE_CHECKING:
    from config.model.effects import EffectKind
    from trigger.verdicts import Direction

hook = Program("Webhooks that take alerts and pushed values.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name for it.")]
Known = Annotated[str, typer.Argument(metavar="NAME", help="A webhook's name.", autocompletion=hook_names)]
_ALL_EFFECTS = "fire,floor,shield,freeze,value"


@hook.command("new")
def new(  # noqa: PLR0913, PLR0917  # an option each
    name: Name,
    groups: Annotated[str | None, typer.Option(metavar="A,B", help="Groups that it may affect; default: all.")] = None,
    effects: Annotated[str, typer.Option(metavar="A,B", help="Effects that it may have.")] = _ALL_EFFECTS,
    directions: Annotated[str, typer.Option(metavar="A,B", help="Directions of its changes: in, out.")] = "in,out",
    hmac_env: Annotated[str | None, typer.Option(metavar="VAR", help="The secret that signs bodies.")] = None,
    hmac_file: Annotated[Path | None, typer.Option(metavar="F", help="The secret that signs bodies.")] = None,
    push: Annotated[str | None, typer.Option(metavar="A,B", help="Take pushed values of these groups instead.")] = None,
    execute: Annotated[
        str | None, typer.Option(metavar="GROUP/POLICY", help="Execute this policy at every request instead.")
    ] = None,
    observe: Annotated[
        str | None, typer.Option(metavar="A,B", help="Take events of a cloud: look at these groups instead.")
    ] = None,
    sign_for: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="With --execute: also show a signed URL for this host.")
    ] = None,
    state: State = None,
    json: AsJson = False,
) -> None:  # fmt: skip
    """Make a webhook, and show its token, this one time."""
    if push is not None:
        _new_for_values(name, push, given=bool(groups is not None or hmac_env or hmac_file), state=state, json=json)
        return
    from handler.operations.daemon_operations import MakeHook

    made = MakeHook(
        name=name,
        hmac_env=hmac_env,
        hmac_file=str(hmac_file.absolute()) if hmac_file is not None else None,
        sign_for=sign_for,
    )
    if execute is not None or observe is not None:
        if groups is not None:
            fail("--execute and --observe name the groups", USAGE, json=json)
        group, _, policy = (execute or "").partition("/")
        wanted = None if execute is None else PolicyId(policy)
        named, option = (group, "--execute") if observe is None else (observe, "--observe")
        of = groups_of(named, option=option, json=json)
        made = replace(made, groups=of, policy=wanted, observe=observe is not None)
    else:
        made = replace(
            made,
            groups=groups_of(groups, json=json),
            effects=cast("tuple[EffectKind, ...]", words_of(effects)),  # the daemon checks the words
            directions=cast("tuple[Direction, ...]", words_of(directions)),
        )
    _show_token(ask(state, json, made)[1], json=json)


def _new_for_values(name: str, groups: str, *, given: bool, state: Path | None, json: bool) -> None:
    if given:
        fail("--push names the groups; --groups and signatures are for webhooks that take alerts", USAGE, json=json)
    from handler.operations.daemon_operations import MakeHook

    of = groups_of(groups, option="--push", json=json)
    _show_token(ask(state, json, MakeHook(name=name, groups=of, push=True))[1], json=json)


@hook.command("rotate-members")
def rotate_members(
    finish: Annotated[bool, typer.Option("--finish", help="Only end the tokens of the old key.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Give new members tokens of a new key; the tokens of other members stay valid until --finish."""
    from handler.operations.daemon_operations import RotateMemberTokens

    perform(state, json, RotateMemberTokens(finish=finish))
    if finish:
        typer.echo("tokens of the old key have ended")
    else:
        typer.echo("new members get tokens of a new key; once the other members are replaced, use --finish")


@hook.command("list")
def list_(state: State = None, json: AsJson = False) -> None:
    """List webhooks with their permissions and last use."""
    answer = read(state, json, "hooks")
    from handler.cli.tables import hooks_table

    show(hooks_table(answer))


@hook.command("rotate")
def rotate(
    name: Known,
    finish: Annotated[bool, typer.Option("--finish", help="Only end the old token.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Give a webhook a new token; the old one stays valid until the next rotation, or --finish."""
    from handler.operations.daemon_operations import RotateHook

    _, answer = ask(state, json, RotateHook(name=name, finish=finish))
    if not finish:
        _show_token(answer, json=json)
    elif json:
        print_json(answer)
    else:
        typer.echo(f"{name}: the old token has ended")


@hook.command("revoke")
def revoke(name: Known, state: State = None, json: AsJson = False) -> None:
    """Revoke a webhook's tokens, so that it accepts nothing any more."""
    from handler.operations.daemon_operations import RevokeHook

    act(state, json, RevokeHook(name=name), message=f"{name}: revoked")


@hook.command("check")
def check(
    payload: Annotated[Path, typer.Argument(metavar="PAYLOAD.json", help="A saved body.")],
    hook: Annotated[str | None, typer.Option(help="As if it came through this webhook.")] = None,
    file: Annotated[Path | None, typer.Option(help="Check against this file, without a daemon.")] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Show what a saved payload would do now. Changes nothing."""
    body = _bytes(payload, json=json)
    answer = _offline(file, body, json=json) if file is not None else _online(state, body, hook, json=json)
    if json:
        print_json(answer)
    if "error" in answer:
        fail(f"{answer['status']}: {answer['error']}", PROBLEMS)
    if not json:
        lines(_effect(effect) for effect in answer["effects"])
        if answer.get("unmatched"):
            typer.echo(f"{answer['unmatched']} alert(s) match no declaration")
    raise typer.Exit(DONE if answer["status"] == HTTPStatus.ACCEPTED else PROBLEMS)


def _online(state: Path | None, body: bytes, hook: str | None, *, json: bool) -> Any:  # noqa: ANN401  # JSON from the daemon
    from urllib.parse import quote

    from handler.operations.address import BASE, OperationRequest

    query = f"?hook={quote(hook, safe='')}" if hook else ""
    return send(state, json, OperationRequest("POST", f"{BASE}/hooks/check{query}", body))[1]


def _offline(file: Path, body: bytes, *, json: bool) -> dict[str, Any]:
    from config.load import load
    from handler.operations.checking import checked_offline
    from handler.runtime import clock

    with refusals(json):
        reply = checked_offline(load(file), body, clock.wall())
        return {"status": reply.status, **reply.body}
    raise AssertionError  # `refusals` exits


def _bytes(payload: Path, *, json: bool) -> bytes:
    try:
        return payload.read_bytes()
    except OSError as error:
        fail(f"{payload} cannot be read: {error.strerror}", PROBLEMS, json=json)


def _show_token(answer: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(answer)
        return
    typer.echo(f"{answer['name']}: this token is shown only once; keep it with your other secrets")
    typer.echo(answer["path"])
    if "signed_path" in answer:
        typer.echo(answer["signed_path"])
    if answer["push"]:
        typer.echo(f"Authorization: Bearer {answer['token']}")


def _effect(effect: dict[str, Any]) -> str:
    size = f", {effect['desired_from']} → {effect['desired_to']}" if "desired_to" in effect else ""
    reason = f" ({effect['reason']}{size})" if effect["reason"] else ""
    again = ", again" if effect.get("repeated") else ""
    return f"{effect['alert']} → {effect['group'] or 'no group'}: {effect['effect']}{reason}{again}"
