"""Values to JSON: one rule for every frozen value, shared by the API, the command line and files."""

from __future__ import annotations

import enum
import json
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, NewType, Union, cast, get_origin

from cattrs import Converter
from cattrs.gen import make_dict_unstructure_fn, override

from config.build.wire import name_of
from handler.planning.member_details import CloseUp
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import KINDS, Plan, Step

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from handler.operations.probing import Probed

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


_CONVERTER: Final = Converter()


def plain(value: object) -> Json:
    """Convert a value to JSON's types.

    Dataclasses become objects, enums their value, tuples arrays. An infinity or NaN becomes null. A step
    has its ``kind`` (see `tagged`). Instants stay seconds since the epoch.

    Raises:
        TypeError: the type has no rule.
    """
    return cast("Json", _CONVERTER.unstructure(value))


def _is_any(*kinds: type) -> Callable[[object], bool]:
    return lambda kind: isinstance(each := get_origin(kind) or kind, type) and issubclass(each, kinds)


_is_scalar = _is_any(types.NoneType, bool, int, str)


def _is_other(kind: object) -> bool:
    return not (_is_scalar(kind) or isinstance(kind, NewType) or get_origin(kind) in {types.UnionType, Union})


def _by_class(kind: object) -> Callable[[object], Json]:
    """Return a rule that uses a value's class, for declared types that are too general."""

    def write(value: object) -> Json:
        if type(value) is kind:
            raise TypeError(f"no JSON for {type(value).__name__}")
        return plain(value)

    return write


def _object(kind: type[DataclassInstance]) -> Callable[[Any], dict[str, Any]]:
    names: dict[str, Any] = {field.name: override(rename=name_of(field)) for field in fields(kind)}
    return make_dict_unstructure_fn(kind, _CONVERTER, _cattrs_include_init_false=True, **names)


# A hook that is registered later is tried first.
_CONVERTER.register_unstructure_hook_factory(_is_other, _by_class)
_CONVERTER.register_unstructure_hook(bytes, _by_class(bytes))  # else cattrs leaves them as they are
_CONVERTER.register_unstructure_hook_func(_is_any(float), lambda value: value if math.isfinite(value) else None)
_CONVERTER.register_unstructure_hook_func(
    _is_any(Mapping), lambda value: {_key(key): plain(item) for key, item in value.items()}
)
_CONVERTER.register_unstructure_hook_func(
    _is_any(tuple, list, frozenset), lambda value: [plain(item) for item in value]
)
_CONVERTER.register_unstructure_hook_func(_is_any(enum.Enum), lambda value: plain(value.value))
_CONVERTER.register_unstructure_hook_factory(lambda kind: isinstance(kind, type) and is_dataclass(kind), _object)


def tagged(step: Step) -> Json:
    """Convert a step like `plain`, with its kind first."""
    return {"kind": KINDS[type(step)], **cast("dict[str, Json]", plain(step))}


def text_of(value: object) -> bytes:
    """Write a value as JSON text."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":")).encode()


def planned(plan: Plan) -> dict[str, Json]:
    """Convert a plan: its steps in order, its waits with their numbers of members, and the members that are stuck.

    ``quota`` and ``budget`` name the one that holds the plan back; empty: none does.
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
    """Convert what is known of one member."""
    return {**cast("dict[str, Json]", plain(seen)), "steps": [tagged(step) for step in seen.steps]}


def carried_out(outcome: StepOutcome) -> dict[str, Json]:
    """Convert one step and its outcome."""
    return {"step": tagged(outcome.step), "result": outcome.result.value, "because": outcome.because}


def probed_plain(found: Iterable[Probed]) -> list[Json]:
    """Convert readings to objects; replies by name, in lower case."""
    return [_reading(each) for each in found]


def _reading(each: Probed) -> Json:
    fields = plain(each)
    return {**fields, "reply": each.reply.word} if isinstance(fields, dict) else fields


def _key(key: object) -> str:
    return str(key.value) if isinstance(key, enum.Enum) else str(key)
