"""The command line. Imports what a command needs when it runs, so that `trimtab --help` is quick."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from config.errors import DeclarationError, TrimtabError

DONE, PROBLEMS, USAGE, NOT_REACHABLE = 0, 1, 2, 3
"""Exit codes of the fixed contract."""

_UNFOLDED = 10_000
"""Columns where there is no terminal to fold at."""

app = typer.Typer(
    help="Keeps fleets of virtual machines at the right size for their load, and explains every decision.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help in colours takes longer to import than all the rest
)
member = typer.Typer(help="Look at members, and act on one by name.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(member, name="member")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The declared model, YAML.")]
Group = Annotated[str, typer.Argument(metavar="GROUP")]
State = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="State directory [env TRIMTAB_STATE].", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def run(
    file: File,
    state: State = None,
    host: Annotated[str, typer.Option(help="Loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="TCP port; 0 takes a free one.")] = 8460,
    json: AsJson = False,
) -> None:
    """Run the daemon until INT or TERM. Members go on serving when it stops; HUP reloads."""
    import asyncio

    from handler.app import logs
    from handler.app.run import run_until_signal

    logs.configure(json=json)
    with _refusals(json):
        asyncio.run(run_until_signal(file, _directory(state), host=host, port=port))


@app.command()
def check(file: File, json: AsJson = False) -> None:
    """Say everything that is wrong with a file, one `FILE:LINE: message` per cause."""
    from config.load import load

    try:
        catalogue = load(file)
    except DeclarationError as error:
        problems = [{"file": p.file, "line": p.line, "column": p.column, "message": p.message} for p in error.problems]
        _print_json(problems) if json else _lines(str(problem) for problem in error.problems)
        raise typer.Exit(PROBLEMS) from error
    if json:
        _print_json([])
    else:
        typer.echo(f"{file}: no problems; groups: {', '.join(catalogue.groups) or 'none'}")


@app.command()
def reload(state: State = None, json: AsJson = False) -> None:
    """Have the daemon read its file again: all of it, or, with any problem, none of it."""
    status, answer = _ask(state, json, "POST", "reload", body={})
    if json:
        _print_json(answer)
    elif status == HTTPStatus.CONFLICT:
        _lines(f"{p['file']}:{p['line']}: {p['message']}" for p in answer["problems"])
    else:
        changes = [f"{word} {', '.join(answer[word])}" for word in ("added", "changed", "orphaned") if answer[word]]
        typer.echo("; ".join(changes) or "nothing changed")
    raise typer.Exit(PROBLEMS if status == HTTPStatus.CONFLICT else DONE)


@app.command()
def status(
    group: Annotated[str | None, typer.Argument(metavar="[GROUP]")] = None, state: State = None, json: AsJson = False
) -> None:
    """Show every group in a line, or one group with its members."""
    parts = ("groups", group) if group else ("groups",)
    answer = _get(state, json, *parts)
    if json:
        _print_json(answer)
        return
    from handler.app.tables import group_page, groups_table

    _show(group_page(answer) if group else groups_table(answer))


@app.command()
def why(
    group: Group,
    at: Annotated[str | None, typer.Option("--at", help="An instant: epoch seconds or ISO 8601 (UTC).")] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Explain the last decision, or the one in force at an instant."""
    query = f"?at={_instant(at)}" if at else ""
    answer = _get(state, json, "groups", group, "why", query=query)
    if json:
        _print_json(answer)
        return
    span = answer.get("span")
    if span:
        from handler.app.tables import clock_text

        typer.echo(f"{clock_text(span['first_at'])} to {clock_text(span['last_at'])} UTC, {span['ticks']} ticks:")
    _lines(answer["words"])


@app.command()
def history(
    group: Group,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 30,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List decisions, steps and acts, newest first."""
    answer = _get(state, json, "groups", group, "history", query=f"?limit={limit}")
    if json:
        _print_json(answer)
        return
    from handler.app.tables import history_table

    _show(history_table(answer))


@app.command()
def scale(
    group: Group,
    size: Annotated[int, typer.Argument(metavar="N", min=0)],
    force: Annotated[bool, typer.Option("--force", help="Go outside the bounds.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Set the desired size."""
    code, answer = _ask(state, json, "PUT", "groups", group, "size", body={"size": size, "force": force})
    if json:
        _print_json(answer)
    else:
        sentence = answer["answers"][0]["words"] if answer["answers"] else answer["reason"]
        typer.echo(f"{group}: {answer['desired_from']} → {answer['desired_to']} ({sentence})")
    raise typer.Exit(PROBLEMS if code == HTTPStatus.FORBIDDEN else DONE)


@app.command()
def pause(
    group: Group,
    decisions: Annotated[bool, typer.Option("--decisions", help="Stop decisions only; repair goes on.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Stop decisions and convergence. Evaluations go on; running calls finish."""
    _act(state, json, "POST", "groups", group, "pause", body={"decisions_only": decisions}, said=f"{group}: paused")


@app.command()
def resume(group: Group, state: State = None, json: AsJson = False) -> None:
    """Undo a pause."""
    _act(state, json, "POST", "groups", group, "resume", body={}, said=f"{group}: resumed")


@app.command()
def converge(
    group: Group,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the steps.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Gather, plan and carry out, now. This also believes that many members have vanished, if so."""
    _, answer = _ask(state, json, "POST", "groups", group, "converge", body={"dry_run": dry_run})
    if json:
        _print_json(answer)
        return
    from handler.app.tables import plan_lines

    _lines(plan_lines(answer))


@app.command()
def observe(group: Group, state: State = None, json: AsJson = False) -> None:
    """Look at the cloud and the balancers now, and say what is there."""
    _, answer = _ask(state, json, "POST", "groups", group, "observe", body={})
    if json:
        _print_json(answer)
        return
    from handler.app.tables import world_table

    _show(world_table(answer))


@app.command()
def delete(
    group: Group,
    members: Annotated[bool, typer.Option("--members", help="Remove its members first.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Forget a group that is no longer declared; its members stay unless --members is given."""
    said = f"{group}: members are being removed" if members else f"{group}: forgotten; its members are left as they are"
    _act(state, json, "DELETE", "groups", group, query=f"?members={str(members).lower()}", said=said)


@member.command("list")
def member_list(group: Group, state: State = None, json: AsJson = False) -> None:
    """List a group's members."""
    answer = _get(state, json, "groups", group, "members")
    if json:
        _print_json(answer)
        return
    from handler.app.tables import members_table

    _show(members_table(answer))


Name = Annotated[str, typer.Argument(metavar="NAME")]


@member.command("replace")
def member_replace(group: Group, name: Name, state: State = None, json: AsJson = False) -> None:
    """Have another member in this one's place: the new one comes first."""
    _act(state, json, "POST", "groups", group, "members", name, "replace", body={}, said=f"{name}: will be replaced")


@member.command("protect")
def member_protect(
    group: Group,
    name: Name,
    off: Annotated[bool, typer.Option("--off", help="Allow it to leave again.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Never choose this member as surplus."""
    said = f"{name}: may leave again" if off else f"{name}: protected"
    _act(state, json, "POST", "groups", group, "members", name, "protect", body={"protected": not off}, said=said)


@app.command()
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

    with _refusals(json):
        work = run_demo(balancer=balancer, state=state.resolve(), port=port, once=once, json=json)
        raise typer.Exit(asyncio.run(work))


def main() -> None:
    """Entry point of the `trimtab` command."""
    app()


class _refusals:  # noqa: N801  # reads as a statement: `with _refusals(json):`
    """Turns what Trimtab raises on purpose into a message and exit code 1."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TrimtabError):
            _fail(str(error), PROBLEMS, json=self._json)


def _fail(message: str, code: int, *, json: bool = False) -> NoReturn:
    if json:
        _print_json({"error": message})
    _lines(message.splitlines(), err=True)
    raise typer.Exit(code)


def _directory(state: Path | None) -> Path:
    import os

    from config.settings import state_directory

    return state if state is not None else state_directory(os.environ)


def _ask(
    state: Path | None, json: bool, method: str, *parts: str, body: dict[str, object] | None = None, query: str = ""
) -> tuple[int, Any]:
    from handler.app.client import NotReachable, ask, path_of

    try:
        code, answer = ask(_directory(state) / "trimtab.sock", method, path_of(*parts) + query, body)
    except NotReachable as error:
        _fail(str(error), NOT_REACHABLE, json=json)
    if isinstance(answer, dict) and "error" in answer:
        _fail(answer["error"], PROBLEMS, json=json)
    return code, answer


def _get(state: Path | None, json: bool, *parts: str, query: str = "") -> Any:  # noqa: ANN401  # JSON from the daemon
    return _ask(state, json, "GET", *parts, query=query)[1]


def _act(
    state: Path | None, json: bool, method: str, *parts: str, said: str,
    body: dict[str, object] | None = None, query: str = "",
) -> None:  # fmt: skip
    _, answer = _ask(state, json, method, *parts, body=body, query=query)
    if json:
        _print_json(answer)
    else:
        typer.echo(said)


def _instant(text: str) -> float:
    from datetime import UTC, datetime

    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        _fail(f"{text!r} is not an instant: epoch seconds, or ISO 8601 such as 2026-03-01T12:00:00", USAGE)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _lines(lines: Iterable[str], *, err: bool = False) -> None:
    from handler.app.logs import printable

    for line in lines:
        typer.echo(printable(line), err=err)


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=False))


def _show(renderable: object) -> None:
    from rich.console import Console

    width = None if sys.stdout.isatty() else _UNFOLDED  # a program that reads must find a name in one piece
    Console(highlight=False, emoji=False, markup=False, width=width).print(renderable)


if __name__ == "__main__":
    main()
