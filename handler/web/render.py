"""Values to JSON: one rule for every frozen value, so that API, command line and files show the same."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from config.build.wire import name_of
from handler.planning.closeups import CloseUp
from handler.planning.steps import KINDS, Outcome, Plan, Step

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def plain(value: object) -> Json:  # noqa: PLR0911  # one return a kind of value reads best
    """Turn a value into what JSON can say.

    Dataclasses become objects, enums their value, tuples arrays. An infinity or NaN becomes null. A step is
    told by its ``kind`` (see `tagged`). Instants stay seconds since the epoch.

    Raises:
        TypeError: for a type that no value of ours has.
    """
    match value:
        case None | bool() | str():
            return value
        case enum.Enum():
            return plain(value.value)
        case int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {_key(key): plain(item) for key, item in value.items()}
        case tuple() | list() | frozenset():
            return [plain(item) for item in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {name_of(field): plain(getattr(value, field.name)) for field in fields(value)}
        case _:
            raise TypeError(f"no JSON for {type(value).__name__}")


def tagged(step: Step) -> Json:
    """Like `plain`, for a step: its kind comes first."""
    return {"kind": KINDS[type(step)], **{name_of(each): plain(getattr(step, each.name)) for each in fields(step)}}


def text_of(value: object) -> bytes:
    """Write a value as JSON text."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":")).encode()


def planned(plan: Plan) -> dict[str, Json]:
    """A plan: its steps in order, what it waits for, of how many members, and whose removal nobody waits for.

    ``quota`` and ``budget`` say which one is in the way; empty: none is.
    """
    return {
        "group": plan.group,
        "revision": plan.revision,
        "steps": [tagged(step) for step in plan.steps],
        "waits": {wait.value: count for wait, count in plan.waits},
        "quota": plan.quota,
        "budget": plan.budget,
        "stuck": list(plan.stuck),
    }


def closed_up(seen: CloseUp) -> dict[str, Json]:
    """One member from all its sides."""
    shown = {name_of(field): plain(getattr(seen, field.name)) for field in fields(seen)}
    return {**shown, "steps": [tagged(step) for step in seen.steps]}


def carried_out(outcome: Outcome) -> dict[str, Json]:
    """One step, and what became of it."""
    return {"step": tagged(outcome.step), "result": outcome.result.value, "because": outcome.because}


def _key(key: object) -> str:
    return str(key.value) if isinstance(key, enum.Enum) else str(key)
