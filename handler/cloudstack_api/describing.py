"""``listApis``: the commands in the form that cloudmonkey, Marvin and CloudStack's console read. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from handler.cloudstack_api.parameters import Command, Parameter
from handler.cloudstack_api.rendering import Shown

_LENGTH: Final = 255


def described(commands: Iterable[Command]) -> tuple[Shown, ...]:
    """Return commands sorted by name."""
    return tuple(_described(command) for command in sorted(commands, key=lambda each: each.name))


@lru_cache(maxsize=256)
def _described(command: Command) -> Shown:
    return {
        "name": command.name,
        "description": command.about,
        "since": command.since or None,
        "isasync": command.is_job,
        "related": command.related,
        "params": tuple(map(_parameter, command.parameters)),
        "response": _response(command),
    }


def _parameter(parameter: Parameter) -> Shown:
    return {
        "name": parameter.name,
        "description": parameter.about,
        "type": parameter.kind.value,
        "length": _LENGTH,
        "required": parameter.required,
        "since": parameter.since or None,
        "related": "",
    }


def _response(command: Command) -> tuple[Shown, ...]:
    if command.is_job:
        return ({"name": "jobid", "description": "the job", "type": "string"},)
    return ({"name": "id", "description": "the id", "type": "string"},)
