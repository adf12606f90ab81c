"""`trimtab snapshot` and `trimtab plan`: save everything that a plan is made from, and plan from such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from config.units import GroupId
from handler.cli.terminal import PROBLEMS, AsJson, Group, State, fail, lines, perform, print_json, refusals


def snapshot(group: Group, state: State = None, json: AsJson = False) -> None:
    """Gather now, and print everything that a plan is made from. Changes nothing.

    The output is JSON, which `trimtab plan` reads; with --json it is one line.
    """
    from handler.operations.group_operations import SnapshotGroup

    answer = perform(state, json, SnapshotGroup(group=GroupId(group)))
    from handler.logs import escaped
    from handler.snapshots.writing import laid_out

    typer.echo(escaped(laid_out(answer)))


def plan(
    world: Annotated[
        str,
        typer.Option(
            "--world", metavar="FILE", help="Output of `trimtab snapshot`, or a world written by hand; - is stdin."
        ),
    ],
    json: AsJson = False,
) -> None:
    """Print the steps that Trimtab would take in a saved world, and its waits. Needs no daemon."""
    from config.gc_pause import uncollected
    from handler.operations.plan_text import plan_lines
    from handler.snapshots.reading import read_snapshot
    from handler.web.render import planned

    content = _content(world, json=json)
    with refusals(json):
        snapshot = read_snapshot(content, world)
        with uncollected(len(snapshot.world.members)):
            answer = planned(snapshot.plan())
    if json:
        print_json(answer)
    else:
        lines(plan_lines(answer))


def _content(world: str, *, json: bool) -> bytes:
    """Read the file, or enough of it to know that it is too long."""
    import sys

    from handler.snapshots.text import LONGEST

    if world == "-":
        return sys.stdin.buffer.read(LONGEST + 1)
    try:
        with Path(world).open("rb") as file:
            return file.read(LONGEST + 1)
    except OSError as error:
        fail(f"{world} cannot be read: {error.strerror or error}", PROBLEMS, json=json)
