"""`trimtab definitions`, `rollback` and `roll`: list a group's definitions, go back to one, replace members."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from config.units import GroupId
from handler.cli.terminal import (
    DONE,
    PROBLEMS,
    USAGE,
    AsJson,
    Group,
    State,
    ask,
    fail,
    get,
    lines,
    print_json,
    read,
    show,
)

if TYPE_CHECKING:
    from pathlib import Path

    from config.model.rolling import Allowance

_AMOUNT = re.compile(r"[0-9]{1,7}|(100|[0-9]{1,2})%")
_LOOK_AGAIN = 1.0
"""Seconds between two queries while waiting for a roll."""


def definitions(group: Group, state: State = None, json: AsJson = False) -> None:
    """List a group's definitions, newest first: changes, number of members made from each, whether it converged."""
    answer = read(state, json, "groups", group, "definitions")
    from handler.cli.edit_text import edits_table
    from handler.cli.roll_tables import definitions_table

    show(definitions_table(answer))
    edited = edits_table(answer)
    if edited is not None:
        lines([""])
        show(edited)


def rollback(
    group: Group,
    to: Annotated[int | None, typer.Option("--to", min=1, metavar="REVISION", help="See trimtab definitions.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Make new members from the file's profile again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make new members from the last definition that converged, overriding the file. Replaces no member."""
    if off and to is not None:
        fail("use --to or --off, not both", USAGE, json=json)
    from handler.operations.group_operations import EndRollback, RollBack

    _, answer = ask(state, json, EndRollback(group=GroupId(group)) if off else RollBack(group=GroupId(group), to=to))
    _say(group, answer, json=json)


def roll(  # noqa: PLR0913, PLR0917  # an option each
    group: Group,
    surge: Annotated[str | None, typer.Option("--surge", metavar="N|N%", help="Members above the size.")] = None,
    unavailable: Annotated[
        str | None, typer.Option("--unavailable", metavar="N|N%", help="Members that may be missing in service.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop replacing members.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all are replaced, or the roll stops.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Replace every member that was not made from the newest profile, a few at a time; or continue a stopped roll."""
    if stop and (wait or surge is not None or unavailable is not None):
        fail("--stop goes with no other option", USAGE, json=json)
    from handler.operations.group_operations import StartRoll, StopRoll

    above, missing = _allowance("--surge", surge, json=json), _allowance("--unavailable", unavailable, json=json)
    roll = StartRoll(group=GroupId(group), surge=above, unavailable=missing)
    _, answer = ask(state, json, StopRoll(group=GroupId(group)) if stop else roll)
    if wait:
        _wait(group, answer, state, json=json)
    _say(group, answer, json=json)


def _allowance(option: str, text: str | None, *, json: bool) -> Allowance | None:
    """Read a number of members, or a percentage."""
    from config.model.rolling import Allowance

    if text is None:
        return None
    if not _AMOUNT.fullmatch(text):
        fail(f"{option} {text}: expected a number of members, or a percentage from 0% to 100%", USAGE, json=json)
    return Allowance(number=int(text.removesuffix("%")), percent=text.endswith("%"))


def _say(group: str, answer: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(answer)
    else:
        lines([f"{group}: {answer['words']}"])


def _wait(group: str, answer: dict[str, Any], state: Path | None, *, json: bool) -> None:
    """Wait until the roll ends; print its progress whenever it changes."""
    from handler.cli.roll_tables import roll_words

    if not json:
        lines([f"{group}: {answer['words']}"])
    printed = ""
    while True:
        found = get(state, json, "groups", group)
        if found["roll"] is None:
            fail(f"{group}: the roll is gone", PROBLEMS, json=json)
        progress = roll_words(found["roll"])
        if progress != printed and not json:
            lines([f"{group}: {progress}"])
        printed = progress
        if found["roll"]["state"] != "running":
            break
        threading.Event().wait(_LOOK_AGAIN)
    if json:
        print_json({**answer, "roll": found["roll"]})
    raise typer.Exit(DONE if found["roll"]["state"] == "done" else PROBLEMS)
