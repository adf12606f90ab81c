"""`trimtab run`: the daemon, alone over its store or as one of several workers."""

from __future__ import annotations

from typing import Annotated

import typer

from handler.cli.terminal import USAGE, AsJson, File, State, directory, fail, refusals


def run(  # noqa: PLR0913, PLR0917  # an option each
    file: File,
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
        str | None, typer.Option(help="With --worker: where other machines reach this one's API, if not as it listens.")
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
    with refusals(json), stray_output.caught(logs.warn) as stream:
        logs.configure(stream=stream, json=json)
        if worker is None:
            uvloop.run(run_until_signal(file, directory(state), host=host, port=port, accepts_file=accept_file))
            return
        from config.checks.workers import worker_named
        from handler.daemon.worker import SPAN, WorkerOptions, run_worker_until_signal

        options = WorkerOptions(
            name=worker_named(worker, "--worker"),
            url=url,
            span=lease or SPAN,
            priority=priority or 0,
            accepts_file=accept_file,
        )
        uvloop.run(run_worker_until_signal(file, directory(state), options, host=host, port=port))
