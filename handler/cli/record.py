"""`trimtab record`: start and stop recording samples, and show the recording."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from handler.cli.commands import Program
from handler.cli.terminal import USAGE, AsJson, State, ask, fail, get, lines, print_json

record = Program("Keep every sample of every tick, for export and replay.")

For = Annotated[str | None, typer.Option("--for", metavar="SPAN", help="Only for this time, such as 1h.")]


@record.command("on")
def on(span: For = None, state: State = None, json: AsJson = False) -> None:
    """Record from now on, overriding the file; also after a restart."""
    _switch(state, json, on=True, span=span)


@record.command("off")
def off(span: For = None, state: State = None, json: AsJson = False) -> None:
    """Stop recording, overriding the file; the existing recording stays."""
    _switch(state, json, on=False, span=span)


@record.command("status")
def status(state: State = None, json: AsJson = False) -> None:
    """Show whether samples are recorded, the existing recording, and losses."""
    _show(get(state, json, "recording"), json=json)


def _switch(state: State, json: bool, *, on: bool, span: str | None) -> None:
    from config.units import parse_span
    from handler.operations.daemon_operations import SwitchRecording

    try:
        switch = SwitchRecording(on=on, for_s=None if span is None else parse_span(span))
    except ValueError as error:
        fail(str(error), USAGE, json=json)
    _show(ask(state, json, switch)[1], json=json)


def _show(answer: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(answer)
    else:
        lines(_sentences(answer))


def _sentences(answer: dict[str, Any]) -> list[str]:
    from config.units import format_span
    from handler.cli.time_format import clock_text

    who = f"by {answer['by']}" if answer["by"] else "as the file says"
    until = f", until {clock_text(answer['until'])} UTC" if answer["until"] else ""
    sentences = [f"recording is {'on' if answer['on'] else 'off'}, {who}{until}"]
    used, budget = (f"{answer[name] / 2**20:,.1f} MiB" for name in ("bytes", "budget"))
    sentences.append(f"on the disk: {used} of {budget}")
    if answer["oldest_at"] is not None:
        whole, then = format_span(answer["whole"]), format_span(answer["then"])
        sentences.append(
            f"every sample since {clock_text(answer['oldest_whole_at'])} UTC, "
            f"anything since {clock_text(answer['oldest_at'])} UTC (thinned to {then} after {whole})"
        )
    if answer["dropped_ticks"]:
        sentences.append(f"ticks that could not be recorded: {answer['dropped_ticks']}")
    if answer["trouble"]:
        sentences.append(f"nothing is being written: {answer['trouble']}")
    return sentences
