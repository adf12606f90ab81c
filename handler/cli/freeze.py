"""`trimtab freeze` and `trimtab unfreeze`: for a time, policies and alarms leave a group's size alone."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from config.units import GroupId
from handler.cli.terminal import USAGE, AsJson, Group, State, act, fail

_Direction = Annotated[
    Literal["in", "out", "both"], typer.Option("--direction", help="in: it does not shrink; out: it does not grow.")
]


def freeze(  # an option each
    group: Group,
    lasts: Annotated[str, typer.Option("--for", metavar="SPAN", help="When it ends by itself, such as 2h or 3d.")],
    direction: _Direction = "both",
    because: Annotated[str, typer.Option("--because", help="Why, shown wherever the freeze is.")] = "",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Keep policies and alarms from changing a group's size for a time. Persons and repair go on."""
    from config.model.effects import FrozenDirection
    from config.units import parse_span
    from handler.operations.size_operations import FreezeGroup

    try:
        seconds = parse_span(lasts)
    except ValueError as error:
        fail(f"--for: {error}", USAGE, json=json)
    wanted = FreezeGroup(group=GroupId(group), lasts=seconds, direction=FrozenDirection(direction), because=because)
    act(state, json, wanted, message=f"{group}: {_what(direction)} frozen for {lasts}")


def unfreeze(group: Group, direction: _Direction = "both", state: State = None, json: AsJson = False) -> None:
    """End a person's freeze, or only that of one direction. Alerts and declared windows end by themselves."""
    from config.model.effects import FrozenDirection
    from handler.operations.size_operations import UnfreezeGroup

    wanted = UnfreezeGroup(group=GroupId(group), direction=FrozenDirection(direction))
    act(state, json, wanted, message=f"{group}: {_what(direction)} no longer frozen")


def _what(direction: str) -> str:
    return "scaling" if direction == "both" else f"scale-{direction}"
