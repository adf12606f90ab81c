"""`trimtab cluster`: the workers of one store and their lease."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer

from handler.cli.commands import Program
from handler.cli.terminal import AsJson, State, lines, perform, read, show

cluster = Program("Show the workers of one store and their lease, and hand it over.")


@cluster.command("status")
def status(state: State = None, json: AsJson = False) -> None:
    """Show which worker holds the lease, and which others could take over. Every worker answers, also a standby."""
    answer = read(state, json, "cluster")
    if not answer["worker"]:
        lines(["this daemon is no worker: it runs without --worker, alone over its store"])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("WORKER", "ROLE", "PRIORITY", "VERSION", "HEARD", "UP", "API"):
        table.add_column(title, overflow="fold")
    for worker in answer["workers"]:
        heard, up = (_span(worker[key]) for key in ("age_s", "up_s"))
        priority = str(worker["priority"])
        table.add_row(worker["name"], worker["role"], priority, worker["version"], f"{heard} ago", up, worker["api"])
    lines(headlines(answer))
    if answer["applied"]:
        lines([f"all go by revision {answer['applied']} of the declaration, which was applied"])
    show(table)
    lines(problem_lines(answer["workers"]))


@cluster.command("hand-over")
def hand_over(state: State = None, json: AsJson = False) -> None:
    """Have the holder give the lease back, so that another worker takes over within a second or two."""
    from handler.operations.daemon_operations import HandOver

    answer = perform(state, json, HandOver())
    names = ", ".join(worker["name"] for worker in answer["workers"] if worker["role"] == "standby")
    typer.echo(f"{answer['worker']} gives the lease back; it goes to one of: {names}")


def problem_lines(workers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say why workers do not take over, and first of all if none that is there may act."""
    if not {worker["role"] for worker in workers} & {"holder", "standby"}:
        yield "no worker that is there may act, so nothing is decided until one may:"
    for worker in workers:
        if worker["problem"]:
            yield f"{worker['name']}: {worker['problem']}"


def headlines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Say which worker holds the lease, and first of all if that is not known now."""
    if answer["unread_s"]:
        unread = f"{answer['worker']} has not been able to read the database for {_span(answer['unread_s'])}"
        yield f"{unread}: roles and problems are as they were then"
    yield _headline(answer)


def _headline(answer: Mapping[str, Any]) -> str:
    if not answer["epoch"]:
        return f"no worker has held the lease yet; asked {answer['worker']}"
    if not answer["holder"]:
        return f"no worker holds the lease (epoch {answer['epoch']}); asked {answer['worker']}"
    left = f"ends in {answer['left_s']:.0f} s" if answer["left_s"] > 0 else f"ended {-answer['left_s']:.0f} s ago"
    words = f"{answer['holder']} holds the lease (epoch {answer['epoch']}), which {left} if it is not renewed"
    return f"{words}; asked {answer['worker']}"


def _span(seconds: float) -> str:
    from config.units import format_span

    return format_span(round(max(seconds, 0.0)))
