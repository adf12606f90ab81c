"""How every command speaks: asks the daemon, prints text or JSON, and exits with the codes of the fixed contract."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from config.errors import TrimtabError

if TYPE_CHECKING:
    from handler.app.moments import Written

DONE, PROBLEMS, USAGE, NOT_REACHABLE = 0, 1, 2, 3
"""Exit codes of the fixed contract."""

_UNFOLDED = 10_000
"""Columns where there is no terminal to fold at."""

State = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="State directory [env TRIMTAB_STATE].", show_default=False)
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The declared model, YAML.")]
Group = Annotated[str, typer.Argument(metavar="GROUP")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class refusals:  # noqa: N801  # reads as a statement: `with refusals(json):`
    """Turns what Trimtab raises on purpose into a message and exit code 1."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TrimtabError):
            fail(str(error), PROBLEMS, json=self._json)


def fail(message: str, code: int, *, json: bool = False) -> NoReturn:
    """Say what is wrong, and exit."""
    if json:
        print_json({"error": message})
    lines(message.splitlines(), err=True)
    raise typer.Exit(code)


def directory(state: Path | None) -> Path:
    """The state directory that is meant."""
    import os

    from config.settings import state_directory

    return state if state is not None else state_directory(os.environ)


def ask(
    state: Path | None, json: bool, method: str, *parts: str,
    body: dict[str, object] | bytes | None = None, query: str = "",
) -> tuple[int, Any]:  # fmt: skip
    """Ask the daemon; its status and JSON. Exits if it is not there or refuses."""
    from handler.app import client

    try:
        code, answer = client.ask(directory(state) / "trimtab.sock", method, client.path_of(*parts) + query, body)
    except client.NotReachable as error:
        fail(str(error), NOT_REACHABLE, json=json)
    if isinstance(answer, dict) and "error" in answer:
        fail(answer["error"], PROBLEMS, json=json)
    return code, answer


def get(state: Path | None, json: bool, *parts: str, query: str = "") -> Any:  # noqa: ANN401  # JSON from the daemon
    """What the daemon answers to a question."""
    return ask(state, json, "GET", *parts, query=query)[1]


def act(
    state: Path | None, json: bool, method: str, *parts: str, said: str,
    body: dict[str, object] | None = None, query: str = "",
) -> None:  # fmt: skip
    """Have the daemon do something, and say that it did."""
    _, answer = ask(state, json, method, *parts, body=body, query=query)
    if json:
        print_json(answer)
    else:
        typer.echo(said)


def instant(text: str) -> float:
    """Read an instant: epoch seconds, ISO 8601, or a time of day. Exits if it is none of these."""
    return _written(text).at


def at_query(text: str) -> str:
    """The query that asks for the decision of an instant, as wide as it is written. Exits as `instant`."""
    found = _written(text)
    return f"?at={found.at!r}&until={found.until!r}"


def _written(text: str) -> Written:
    from handler.app.clock import wall
    from handler.app.moments import written

    try:
        return written(text, wall())
    except (ValueError, OverflowError):
        fail(f"{text!r} is not an instant: epoch seconds, or ISO 8601 such as 2026-03-01T12:00:00.250", USAGE)


def lines(text: Iterable[str], *, err: bool = False) -> None:
    """Print them, with what a terminal would obey made visible."""
    from handler.app.logs import printable

    for line in text:
        typer.echo(printable(line), err=err)


def print_json(value: object) -> None:
    """Print a value on one line."""
    import json

    typer.echo(json.dumps(value, ensure_ascii=False))


def show(renderable: object) -> None:
    """Print a table, as wide as the terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _UNFOLDED  # a program that reads must find a name in one piece
    Console(highlight=False, emoji=False, markup=False, width=width).print(renderable)


def tell_size(what: str, code: int, answer: dict[str, Any], *, json: bool) -> NoReturn:
    """Say what became of a person's size, and exit accordingly."""
    if json:
        print_json(answer)
    else:
        sentence = answer["answers"][0]["words"] if answer["answers"] else answer["reason"]
        typer.echo(f"{what}: {answer['desired_from']} → {answer['desired_to']} ({sentence})")
    raise typer.Exit(PROBLEMS if code == HTTPStatus.FORBIDDEN else DONE)
