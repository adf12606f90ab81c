"""`trimtab completion`: scripts with which a shell completes commands, options and the daemon's names."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from handler.cli.terminal import AsJson, print_json

VARIABLE = "_TRIMTAB_COMPLETE"
"""Set by the scripts when a shell asks for completions."""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
    json: AsJson = False,
) -> None:
    """Print the script that makes a shell complete commands, options, groups and members.

    bash: add  source <(trimtab completion bash)  to ~/.bashrc. zsh: the same in ~/.zshrc, after compinit. fish:
    trimtab completion fish > ~/.config/fish/completions/trimtab.fish
    """
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="trimtab", complete_var=VARIABLE, shell=shell)
    if json:
        print_json({"shell": shell, "script": script})
    else:
        typer.echo(script)


def prepare() -> None:
    """Let typer answer the shells that it knows."""
    from typer._completion_classes import completion_init

    completion_init()
