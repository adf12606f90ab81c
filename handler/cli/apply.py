"""`trimtab apply`: one file for every daemon over the store."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import typer

from config.errors import first_lines
from handler.cli.terminal import DONE, PROBLEMS, AsJson, File, State, ask, fail, lines, print_json


def apply(
    file: File,
    state: State = None,
    json: AsJson = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Have every daemon over the store go by FILE: with any problem, what is in force stays so.

    The daemon stores the text, encrypted, as a new revision. From then on its own file, and that of every other worker,
    counts only for `listen`, `store` and `seal`.
    """
    from handler.cli.edit_text import reload_lines
    from handler.operations.group_operations import ApplyFile

    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file} cannot be read: {error}", PROBLEMS, json=json)
    status, answer = ask(state, json, ApplyFile(text=text, source=str(file.absolute()), dry_run=dry_run))
    if json:
        print_json(answer)
    elif status == HTTPStatus.CONFLICT:
        lines(first_lines([f"{p['file']}:{p['line']}: {p['message']}" for p in answer["problems"]], "problem"))
    else:
        lines(reload_lines(answer))
        if answer["revision"] is not None:
            typer.echo(f"revision {answer['revision']} is in force for every daemon over the store")
    raise typer.Exit(PROBLEMS if status == HTTPStatus.CONFLICT else DONE)
