"""`trimtab apply`: one file for every daemon over the store."""

from __future__ import annotations

from typing import Annotated

import typer

from handler.cli.terminal import PROBLEMS, AsJson, File, State, fail, outcome


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
    from handler.cli.edit_text import end_reload
    from handler.operations.group_operations import ApplyFile

    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file} cannot be read: {error}", PROBLEMS, json=json)
    wanted = ApplyFile(text=text, source=str(file.absolute()), dry_run=dry_run)
    end_reload(*outcome(state, json, wanted), json=json)
