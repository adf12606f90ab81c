"""`trimtab snapshot` and `trimtab plan`: all that a plan is made from, as a file; and what would be done about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from config.units import GroupId
from handler.cli.terminal import PROBLEMS, AsJson, Group, State, fail, lines, perform, print_json, refusals


def snapshot(group: Group, state: State = None, json: AsJson = False) -> None:
    """Look at the cloud and the balancers now, and print the world that a plan is made from. Changes nothing.

    What is printed is JSON, and `trimtab plan` reads it; with --json all of it stands on one line.
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
            "--world", metavar="FILE", help="What `trimtab snapshot` printed, or a world by hand; - is stdin."
        ),
    ],
    json: AsJson = False,
) -> None:
    """Print the steps that Trimtab would take in a saved world, and what it would wait for. Needs no daemon."""
    from config.gc_pause import uncollected
    from handler.cli.tables import plan_lines
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
    """Read the file, and of one that is too long enough to know it."""
    import sys

    from handler.snapshots.text import LONGEST

    if world == "-":
        return sys.stdin.buffer.read(LONGEST + 1)
    try:
        with Path(world).open("rb") as file:
            return file.read(LONGEST + 1)
    except OSError as error:
        fail(f"{world} cannot be read: {error.strerror or error}", PROBLEMS, json=json)
