"""Values to JSON: one rule for every frozen value, so that API, command line and files show the same."""

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
    """Turn a value into what JSON can say.

    Dataclasses become objects, enums their value, tuples arrays. An infinity or NaN becomes null. A step is
    told by its ``kind`` (see `tagged`). Instants stay seconds since the epoch.

    Raises:
        TypeError: for a type that no value of ours has.
    """
    return cast("Json", _CONVERTER.unstructure(value))


def _is_any(*kinds: type) -> Callable[[object], bool]:
    return lambda kind: isinstance(each := get_origin(kind) or kind, type) and issubclass(each, kinds)


_is_scalar = _is_any(types.NoneType, bool, int, str)


def _is_other(kind: object) -> bool:
    return not (_is_scalar(kind) or isinstance(kind, NewType) or get_origin(kind) in {types.UnionType, Union})


def _by_class(kind: object) -> Callable[[object], Json]:
    """Go by what a value is, where its declared type says nothing."""

    def write(value: object) -> Json:
        if type(value) is kind:
            raise TypeError(f"no JSON for {type(value).__name__}")
        return plain(value)

    return write


def _object(kind: type[DataclassInstance]) -> Callable[[Any], dict[str, Any]]:
    names: dict[str, Any] = {field.name: override(rename=name_of(field)) for field in fields(kind)}
    return make_dict_unstructure_fn(kind, _CONVERTER, _cattrs_include_init_false=True, **names)


# What is registered later is asked first.
_CONVERTER.register_unstructure_hook_factory(_is_other, _by_class)
_CONVERTER.register_unstructure_hook(bytes, _by_class(bytes))  # which cattrs would leave as they are
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
    """Like `plain`, for a step: its kind comes first."""
    return {"kind": KINDS[type(step)], **cast("dict[str, Json]", plain(step))}


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
    return {**cast("dict[str, Json]", plain(seen)), "steps": [tagged(step) for step in seen.steps]}


def carried_out(outcome: StepOutcome) -> dict[str, Json]:
    """One step, and what became of it."""
    return {"step": tagged(outcome.step), "result": outcome.result.value, "because": outcome.because}


def probed_plain(found: Iterable[Probed]) -> list[Json]:
    """Every reading as an object; replies by name, in lower case."""
    return [_reading(each) for each in found]


def _reading(each: Probed) -> Json:
    fields = plain(each)
    return {**fields, "reply": each.reply.word} if isinstance(fields, dict) else fields


def _key(key: object) -> str:
    return str(key.value) if isinstance(key, enum.Enum) else str(key)
