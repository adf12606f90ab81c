"""`trimtab cluster`: the workers of one store and their lease, or of several shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from handler.cli.commands import Program
from handler.cli.terminal import (
    DONE,
    PROBLEMS,
    AsJson,
    State,
    directory,
    lines,
    perform,
    print_json,
    read,
    show,
)

cluster = Program("Show the workers of one store and their lease, and hand it over.")


@cluster.command("status")
def status(state: State = None, json: AsJson = False) -> None:
    """Show which worker holds the lease, and which others could take over. Every worker answers, also a standby.

    Of a worker of several shards, with the directory that has the state of all: one line for each of them.
    """
    from handler.cli.shards import shards_below

    shards = shards_below(directory(state))
    if shards:
        _show_shards(_asked(shards), json=json)
        return
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


def _asked(shards: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what the worker of each shard says; of one that does not answer, why."""
    from handler.cli.shards import answers_of

    return [_said(shard.name, answer, problem) for shard, (answer, problem) in answers_of(shards, "cluster").items()]


def _said(shard: str, answer: Any, problem: str) -> dict[str, Any]:  # noqa: ANN401  # JSON from the daemon
    """Return what the worker of one shard says; of one that does not answer, why."""
    if not problem and not answer["worker"]:
        problem = "this daemon is no worker: it runs without --worker"
    return {"shard": shard, **({"error": problem} if problem else answer)}


def _show_shards(shards: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    if json:
        print_json({"shards": shards})
    else:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("SHARD", "HOLDER", "EPOCH", "LEASE", "UNREAD", "STANDBYS", "REVISION", "API"):
            table.add_column(title, overflow="fold")
        for shard in shards:
            table.add_row(shard["shard"], *shard_columns(shard))
        show(table)
        lines(shard_lines(shards))
    raise typer.Exit(PROBLEMS if any("error" in shard for shard in shards) else DONE)


def shard_columns(shard: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a line says of a shard after its name."""
    if "error" in shard:
        return ("does not answer", "", "", "", "", "", "")
    standbys = [worker["name"] for worker in shard["workers"] if worker["role"] == "standby"]
    unread, applied = shard["unread_s"], shard["applied"]
    return (
        shard["holder"] or "none",
        str(shard["epoch"]),
        f"{shard['left_s']:.0f}s" if shard["left_s"] > 0 else "ended" if shard["epoch"] else "-",
        _span(unread) if unread else "-",
        ", ".join(standbys) or "none",
        str(applied) if applied else "-",
        shard["api"] or "-",
    )


def shard_lines(shards: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say how many shards each worker holds, and what is wrong."""
    answering = [shard for shard in shards if "error" not in shard]
    held = Counter({worker["name"]: 0 for shard in answering for worker in shard["workers"]})
    held.update(shard["holder"] for shard in answering if shard["holder"])
    yield "held: " + (", ".join(f"{worker} {number}" for worker, number in sorted(held.items())) or "none")
    for shard in shards:
        found = (shard["error"],) if "error" in shard else problem_lines(shard["workers"])
        yield from (f"{shard['shard']}: {line}" for line in found)


@cluster.command("hand-over")
def hand_over(state: State = None, json: AsJson = False) -> None:
    """Have the holder give the lease back, so that another worker takes over within a second or two.

    Of a worker of several shards, with the directory that has the state of all: all leases that this worker holds.
    """
    from handler.cli.shards import shards_below
    from handler.operations.daemon_operations import HandOver

    shards = shards_below(directory(state))
    if shards:
        _hand_over_all(shards, json=json)
        return
    answer = perform(state, json, HandOver())
    names = ", ".join(worker["name"] for worker in answer["workers"] if worker["role"] == "standby")
    typer.echo(f"{answer['worker']} gives the lease back; it goes to one of: {names}")


def _hand_over_all(shards: Sequence[Path], *, json: bool) -> None:
    """Hand over what this worker holds; a shard that no other worker could take is kept. Exits with a problem then."""
    from handler.cli.shards import perform_at
    from handler.operations.daemon_operations import HandOver

    done: dict[str, str] = {}
    for shard, before in zip(shards, _asked(shards), strict=True):
        if "error" in before:
            done[shard.name] = before["error"]
        elif before["holder"] == before["worker"]:
            done[shard.name] = perform_at(shard, HandOver())
    if json:
        print_json({"shards": [{"shard": shard, "error": problem} for shard, problem in done.items()]})
    else:
        lines([f"{shard}: {problem or 'the lease is given back'}" for shard, problem in done.items()])
    if not done:
        lines(["this worker holds the lease of no shard"], err=True)
    raise typer.Exit(PROBLEMS if any(done.values()) else DONE)


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
