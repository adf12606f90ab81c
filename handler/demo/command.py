"""``trimtab demo``, on the command line. Imports the demo when it runs, so that `trimtab --help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from handler.app.terminal import AsJson, refusals


def demo(
    balancer: Annotated[
        Literal["shared_listener", "haproxy"], typer.Option(help="What stands before the members.")
    ] = "shared_listener",
    state: Annotated[Path, typer.Option("--state", metavar="DIR", help="State directory of the demo.")] = Path(
        ".trimtab"
    ),
    port: Annotated[int, typer.Option(help="TCP port of console and API.")] = 8460,
    once: Annotated[bool, typer.Option("--once", help="End by itself after one day.")] = False,
    json: AsJson = False,
) -> None:
    """Run the demo fleet: real processes, real SNMP agents, and a short day of load."""
    import asyncio

    from handler.demo.day import run_demo

    with refusals(json):
        work = run_demo(balancer=balancer, state=state.resolve(), port=port, once=once, json=json)
        raise typer.Exit(asyncio.run(work))
