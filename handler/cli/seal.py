"""`trimtab seal`: the key that secrets in the store are encrypted under."""

from __future__ import annotations

import typer

from handler.cli.commands import Program
from handler.cli.terminal import AsJson, State, ask, lines, print_json, read

seal = Program("The key that secrets in the store are sealed (encrypted) under.")


@seal.command("status")
def status(state: State = None, json: AsJson = False) -> None:
    """Show where the key is kept, and which secrets cannot be opened."""
    answer = read(state, json, "seal")
    key = "none yet: the first secret makes one" if answer["key"] is None else answer["key"]
    sentences = [f"key: {key}, in {answer['where']}", f"sealed key pairs: {answer['sealed']}"]
    if answer["trouble"] is not None:
        sentences.append(f"not readable: {answer['trouble']}")
    if answer["shut"]:
        sentences.append(f"cannot be opened, since their key is not there: {', '.join(answer['shut'])}")
        sentences.append("put that key back and reload; or revoke them: trimtab user key revoke USER NAME")
    lines(sentences)


@seal.command("rotate")
def rotate(state: State = None, json: AsJson = False) -> None:
    """Seal every secret under a new key. A key that the file refers to is read again."""
    from handler.operations.key_operations import RotateSeal

    _, answer = ask(state, json, RotateSeal())
    if json:
        print_json(answer)
        return
    typer.echo(f"key {answer['key']}: secrets sealed anew: {answer['resealed']}")
    if answer["shut"]:
        typer.echo(f"not opened, and left as they were: {answer['shut']}; see trimtab seal status")
    if names := ", ".join(answer.get("workers_without", ())):  # a holder of an older release does not say
        typer.echo(
            f"copy {answer['where']} of the machine that holds the lease to the machines of the other workers: "
            f"{names}; until then they pass no requests on, and cannot open what is sealed"
        )
