"""`trimtab run`: the daemon, alone over its store or as one of several workers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from config.errors import Refused
from handler.cli.shards import shards_below
from handler.cli.terminal import USAGE, AsJson, State, directory, fail, refusals

_HOST_ALONE = re.compile(r"https?://([^\s:/?#@\[\]]+|\[[0-9a-fA-F:.]+\])")
"""An address with nothing after the host."""


def run(  # noqa: PLR0913, PLR0917  # an option each
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="The declared model, YAML. With --worker: one for each installation."),
    ],
    state: State = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on, instead of the file's; 127.0.0.1 if neither says.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="TCP port, instead of the file's; 0 takes any free port.")
    ] = None,
    worker: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Be one of several workers over one store on PostgreSQL, under this name."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="With --worker: where other machines reach this one's API, if not as it listens. With several files "
            "without a port: each adds its own."
        ),
    ] = None,
    lease: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="With --worker: how long the lease lasts from each renewal; 10 if left out."
        ),
    ] = None,
    priority: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1000,
            help="With --worker: of those that could hold the lease, the one with the highest has it; 0 if left out.",
        ),
    ] = None,
    prefer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARD",
            help="With several files: this worker is to have the lease of this one, named as its file without suffix.",
            show_default=False,
        ),
    ] = None,
    accept_file: Annotated[
        bool,
        typer.Option("--accept-file", help="Have FILE be in force, though workers or `trimtab apply` have another."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Run the daemon until INT or TERM. Members go on serving when it stops; HUP reloads."""
    import uvloop

    from handler import logs
    from handler.daemon import stray_output
    from handler.daemon.run import run_until_signal

    if worker is None and any(option is not None for option in (url, lease, priority)):
        fail("--url, --lease and --priority are for workers: add --worker NAME", USAGE, json=json)
    _refuse_for_number(files, worker, url, port, priority, prefer, json=json)
    with refusals(json), stray_output.caught(logs.warn) as stream:
        logs.configure(stream=stream, json=json)
        if len(files) == 1:
            _refuse_above_shards(directory(state))
        if worker is None:
            started = run_until_signal(files[0], directory(state), host=host, port=port, accepts_file=accept_file)
            uvloop.run(started)
            return
        from config.checks.workers import worker_named
        from handler.daemon.shards import ShardLoop, run_shards_until_signal, shards_of
        from handler.daemon.worker import SPAN, WorkerOptions, run_worker_until_signal

        options = WorkerOptions(
            name=worker_named(worker, "--worker"),
            file=files[0],
            state=directory(state),
            host=host,
            port=port,
            url=url,
            span=lease or SPAN,
            priority=priority or 0,
            accepts_file=accept_file,
        )
        if len(files) == 1:
            uvloop.run(run_worker_until_signal(options))
        else:
            uvloop.run(run_shards_until_signal(shards_of(files, options, prefer or ())), loop_factory=ShardLoop)


def _refuse_above_shards(state: Path) -> None:
    """Refuse one daemon where several shards have their state: it would begin anew, without their keys.

    Raises:
        Refused: they have.
    """
    shards = shards_below(state)
    if shards:
        names = ", ".join(shard.name for shard in shards)
        raise Refused(
            f"{state} has the state of several shards ({names}): name the files of all, or the directory of this one, "
            f"as in --state {shards[0]}"
        )


def _refuse_for_number(  # noqa: PLR0913  # an option each
    files: Sequence[Path],
    worker: str | None,
    url: str | None,
    port: int | None,
    priority: int | None,
    prefer: Sequence[str] | None,
    *,
    json: bool,
) -> None:
    """Refuse options that are not for so many files."""
    if len(files) == 1:
        if prefer:
            fail("--prefer is for several files: with one, say --priority", USAGE, json=json)
    elif worker is None:
        fail("several files are several installations, which only a worker runs: add --worker NAME", USAGE, json=json)
    elif port:
        fail(
            "with several files, each says under listen which port it has: leave --port out (--port 0: each takes any "
            "free port)",
            USAGE,
            json=json,
        )
    elif url is not None and not _HOST_ALONE.fullmatch(url):
        fail(
            f"--url {url}: with several files it has no port, as in https://box1.example.org: each adds its own",
            USAGE,
            json=json,
        )
    elif priority is not None:
        fail(
            "several files are spread over the workers by their names: leave --priority out, and say with --prefer "
            "which of them this worker is to have",
            USAGE,
            json=json,
        )
