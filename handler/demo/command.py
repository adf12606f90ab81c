"""``trimtab demo``, on the command line. Imports the demo when it runs, so that `trimtab --help` is quick."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from handler.cli.terminal import AsJson, refusals


def demo(
    balancer: Annotated[
        Literal["shared_listener", "haproxy"], typer.Option(help="The balancer in front of the members.")
    ] = "shared_listener",
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="DIR",
            show_default=".trimtab; .trimtab-PORT beside another console port",
            help="State directory of the demo.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="TCP port of console and API; 0 takes any free port.")
    ] = 8460,
    load_port: Annotated[
        int | None,
        typer.Option(
            "--load-port",
            metavar="PORT",
            min=1,
            max=65535,
            show_default="20 above --port",
            help="TCP port that receives the load.",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End after one day of load.")] = False,
    json: AsJson = False,
) -> None:
    """Run the demo fleet: real processes, real SNMP agents, and a short day of load. Two run side by side."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _nothing_yet)  # until the demo handles signals: its imports take a second
    import asyncio
    from dataclasses import replace

    from handler.demo.day import run_demo
    from handler.demo.place import place_of

    with refusals(json):
        place = place_of(console=port, load=load_port, state=state)
        whole = replace(place, state=place.state.resolve())
        raise typer.Exit(asyncio.run(run_demo(balancer=balancer, place=whole, once=once, json=json)))


def _nothing_yet(number: int, frame: object) -> None:
    """End a demo that has started nothing."""
    typer.echo("ended before anything was started", err=True)
    sys.exit(0)
