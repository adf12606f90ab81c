"""What every command shares: requests to the daemon, output as text or JSON, and the contract's exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from config.errors import Refused, TrimtabError
from config.units import GroupId
from handler.cli.names import group_names, member_names
from handler.cli.progress import waiting

if TYPE_CHECKING:
    from handler.cli.time_format import TimeRange
    from handler.operations.address import DataclassType, OperationRequest

DONE, PROBLEMS, USAGE, NOT_REACHABLE = 0, 1, 2, 3
"""Exit codes of the fixed contract."""

_SUCCESS = range(200, 300)
"""Every other status is a failure: a command follows no redirection."""
_UNFOLDED = 10_000
"""Columns without a terminal, so that nothing folds."""


def _state_at(text: str) -> Path:
    if not text:
        raise typer.BadParameter("an empty name is no directory: name one, or leave --state out")
    return Path(text)


State = Annotated[
    Path | None,
    typer.Option(
        "--state", metavar="DIR", help="State directory [env TRIMTAB_STATE].", show_default=False, parser=_state_at
    ),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="The declared model, YAML.")]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="A group's name.", autocompletion=group_names)]
Member = Annotated[str, typer.Argument(metavar="NAME", help="A member's name.", autocompletion=member_names)]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="T", help="From this instant on, written as for why --at, such as -2h.", show_default=False
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="T", help="Before this instant, written likewise.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class refusals:  # noqa: N801  # reads as a statement: `with refusals(json):`
    """Turns Trimtab's own errors into a message and exit code 1."""

    def __init__(self, json: bool) -> None:
        self._json = json

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TrimtabError):
            fail(str(error), PROBLEMS, json=self._json)


def fail(message: str, code: int, *, json: bool = False) -> NoReturn:
    """Print the message, and exit."""
    if json:
        print_json({"error": message})
    lines(message.splitlines(), err=True)
    raise typer.Exit(code)


def directory(state: Path | None) -> Path:
    """Return the state directory that the options and the environment name."""
    import os

    from config.settings import state_directory

    return state if state is not None else state_directory(os.environ)


def ask(state: Path | None, json: bool, operation: DataclassType) -> tuple[int, Any]:
    """Have the daemon perform an operation; return status and JSON. Exits if no daemon answers or it refuses."""
    from handler.operations.address import call_of

    return send(state, json, call_of(operation))


def outcome(state: Path | None, json: bool, operation: DataclassType) -> tuple[int, Any]:
    """Have the daemon perform an operation; also return an outcome that is a problem. Else as `ask`."""
    from handler.operations.address import call_of

    code, answer = _sent(state, json, call_of(operation))
    if not isinstance(answer, dict) or "error" in answer:
        _refuse_failure(code, answer, json=json)
    return code, answer


def send(state: Path | None, json: bool, call: OperationRequest) -> tuple[int, Any]:
    """Send the daemon a request; return status and JSON. Exits as `ask`."""
    code, answer = _sent(state, json, call)
    _refuse_failure(code, answer, json=json)
    return code, answer


def _sent(state: Path | None, json: bool, call: OperationRequest) -> tuple[int, Any]:
    from handler.cli import client
    from handler.cli.shards import socket_for

    try:
        with waiting("waiting for the daemon"):
            return client.ask(socket_for(directory(state), call), call)
    except client.NotReachable as error:
        fail(str(error), NOT_REACHABLE, json=json)
    except Refused as error:
        fail(str(error), USAGE, json=json)


def _refuse_failure(code: int, answer: Any, *, json: bool) -> None:  # noqa: ANN401  # JSON from the daemon
    """Exit for an answer that is no success."""
    known = answer if isinstance(answer, dict) else {}
    if code == HTTPStatus.UNPROCESSABLE_ENTITY and "error" in known:
        from handler.cli.field_words import InvalidRequest

        raise InvalidRequest(known["error"], json=json)
    if "error" in known or code not in _SUCCESS:
        words = known.get("error") or known.get("detail") or f"the daemon answered {code}: see its log"
        fail(words, PROBLEMS, json=json)


def get(state: Path | None, json: bool, *parts: str, query: str = "") -> Any:  # noqa: ANN401  # JSON from the daemon
    """Return the daemon's answer to a query."""
    from handler.cli.client import question

    return send(state, json, question(*parts, query=query))[1]


def perform(state: Path | None, json: bool, operation: DataclassType) -> Any:  # noqa: ANN401  # JSON from the daemon
    """Have an operation performed; return its answer for text. With --json, print it and exit."""
    return _for_words(ask(state, json, operation)[1], json)


def read(state: Path | None, json: bool, *parts: str, query: str = "") -> Any:  # noqa: ANN401  # JSON from the daemon
    """Return the daemon's answer to a query for text. With --json, print it and exit."""
    return _for_words(get(state, json, *parts, query=query), json)


def _for_words(answer: Any, json: bool) -> Any:  # noqa: ANN401  # JSON from the daemon
    if json:
        print_json(answer)
        raise typer.Exit(DONE)
    return answer


def act(state: Path | None, json: bool, operation: DataclassType, *, message: str) -> None:
    """Have the daemon perform an operation, and print that it did."""
    perform(state, json, operation)
    typer.echo(message)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of an option that takes several with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def limit_of(text: str | None, option: str, *, json: bool) -> tuple[str, ...] | None:
    """Return the words that an option limits something to; ``None``: it is left out. Exits if it names none."""
    words = None if text is None else words_of(text)
    if words == ():
        fail(f"{option} names nothing: name some, with commas between them, or leave it out", USAGE, json=json)
    return words


def groups_of(text: str | None, *, json: bool, option: str = "--groups") -> tuple[GroupId, ...] | None:
    """Return the groups that an option names; ``None``: it is left out. Exits if it names none."""
    words = limit_of(text, option, json=json)
    return None if words is None else tuple(GroupId(word) for word in words)


def instant(text: str, *, json: bool = False) -> float:
    """Read an instant: epoch seconds, ISO 8601, a time of day, or a time ago. Exits on anything else."""
    return _written(text, json=json).at


def asked_instant(text: str, *, json: bool) -> tuple[str, str]:
    """Return the query for the decision at an instant, and the instant as text. Exits as `instant`."""
    from handler.cli.time_format import moment_text

    found = _written(text, json=json)
    words = moment_text(found.at) if text == "now" or text.startswith("-") else text
    return f"?at={found.at!r}&until={found.until!r}", words


def _written(text: str, *, json: bool) -> TimeRange:
    from handler.cli.time_format import written
    from handler.runtime.clock import wall

    try:
        return written(text, wall())
    except (ValueError, OverflowError):
        forms = "a time ago such as -5m, a time of day such as 12:00, ISO 8601 such as 2026-03-01T12:00:00.250 (UTC)"
        fail(f"{text!r} is not an instant: expected {forms}, or epoch seconds", USAGE, json=json)


def lines(text: Iterable[str], *, err: bool = False) -> None:
    """Print lines, with terminal control characters made visible."""
    from handler.logs import printable

    for line in text:
        typer.echo(printable(line), err=err)


def print_json(value: object) -> None:
    """Print a value as JSON on one line, with terminal control characters escaped."""
    from handler.logs import json_text

    typer.echo(json_text(value))


def show(renderable: object) -> None:
    """Print a table, as wide as the terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _UNFOLDED  # a program must find a name in one piece
    Console(highlight=False, emoji=False, markup=False, width=width).print(renderable)


def resize(what: str, state: Path | None, json: bool, operation: DataclassType) -> NoReturn:
    """Have the daemon change a size, print the outcome, and exit accordingly."""
    code, answer = outcome(state, json, operation)
    if json:
        print_json(answer)
    else:
        sentence = answer["answers"][0]["words"] if answer["answers"] else answer["reason"]
        typer.echo(f"{what}: {answer['desired_from']} → {answer['desired_to']} ({sentence})")
        lines(_quiet_lines(answer.get("quiet")))
    raise typer.Exit(PROBLEMS if code == HTTPStatus.FORBIDDEN else DONE)


def _quiet_lines(quiet: dict[str, Any] | None) -> Iterator[str]:
    """Yield the quiet time that a decision begins, and what it blocks."""
    from config.units import format_span

    if quiet is not None:
        stopped = "scales in or out" if quiet["direction"] == "out" else "scales in"
        yield f"quiet time of {format_span(quiet['seconds'])} begins: until it ends, no policy {stopped}"
