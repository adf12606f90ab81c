"""What all mappings of the file have in common, and how their types are called in an operator's words.

The words stand in ``title``, which JSON Schema has for them. What no keyword of JSON Schema says stands under keys of
our own, which editors pass over: ``x-bounds`` (of a value that is text in the file), ``x-unit``, ``x-if-left-out``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

BOUNDS: Final = "x-bounds"
UNIT: Final = "x-unit"
IF_LEFT_OUT: Final = "x-if-left-out"
NO_UNIT: Final = "no unit"
"""Of a number that counts nothing."""
SIZE_PATTERN: Final = r"^\s*\d+(\.\d+)?\s*[KMGT]i?B\s*$"
PERCENT_PATTERN: Final = r"^\d+(\.\d+)?\s*%$"


def worded(words: str, bounds: str = "", **schema: Any) -> WithJsonSchema:  # noqa: ANN401 JSON
    """Make the schema of a type. ``words`` complete "the value is a …"; ``bounds`` only where no keyword says them."""
    extra = {BOUNDS: bounds} if bounds else {}
    return WithJsonSchema({"title": words, **extra, **schema})


def sentence_of(left_out: str) -> str:
    """What a description says of a key that is left out; empty: nothing."""
    return f" If left out: {left_out}." if left_out else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """What editors and the reference show of a key beside its type and description."""

    unit: str = ""
    """Of a number: what it counts."""
    left_out: str = ""
    """What holds without the key, where no value of its own says that."""
    implied: Any = None
    """The value that means the same as leaving the key out; not in the model, where it may not be written."""

    def __call__(self, schema: dict[str, Any]) -> None:
        """Write it into the schema of the key."""
        schema |= {UNIT: self.unit} if self.unit else {}
        schema |= {"default": self.implied} if self.implied is not None else {}
        if self.left_out:
            schema |= {IF_LEFT_OUT: self.left_out, "description": schema["description"] + sentence_of(self.left_out)}


def key(  # everything that a key can declare
    description: str,
    *examples: object,
    default: Any = None,  # noqa: ANN401 a value of YAML
    implied: Any = None,  # noqa: ANN401 a value of YAML
    left_out: str = "",
    unit: str = "",
    alias: str | None = None,
) -> Any:  # noqa: ANN401 the type of pydantic's Field
    """A key that may be left out; ``default`` and ``implied`` are written as in YAML, the rest is `Further`'s."""
    return Field(
        default=default,
        validate_default=default is not None,
        alias=alias,
        description=description,
        examples=[*examples],
        json_schema_extra=Further(unit=unit, left_out=left_out, implied=implied),
    )


def must(description: str, *examples: object, unit: str = "") -> Any:  # noqa: ANN401 the type of pydantic's Field
    """A key that must be there."""
    return Field(description=description, examples=[*examples], json_schema_extra=Further(unit=unit))


class Declared(BaseModel):
    """A mapping of the file: exactly its own keys, and no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
    later: ClassVar[Mapping[str, str]] = {}
    """Keys that this version does not serve yet → the feature that each belongs to."""
    refused: ClassVar[Mapping[str, str]] = {}
    """Keys that users may expect here → why they do not exist."""
    hidden: ClassVar[frozenset[str]] = frozenset()
    """Keys with a value that may be, or hold, a secret: never repeated in a message."""
    choice: ClassVar[tuple[str, ...]] = ()
    """Keys that exclude each other: exactly one must be written."""
    choice_of: ClassVar[str] = ""
    """What the choice decides, for messages."""
    together: ClassVar[tuple[str, ...]] = ()
    """Keys that mean nothing without each other: all are written, or none."""

    @classmethod
    def keys(cls) -> Mapping[str, FieldInfo]:
        """Its keys as they are written; ``in`` is a word of Python, and no name of a field."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [key for key in self.choice if getattr(self, key) is not None]
        if len(given) == 1 or not self.choice:
            return self
        facts = {"what": self.choice_of, "keys": " or ".join(self.choice), "key": ""}
        if not given:
            raise PydanticCustomError("sentence", "{what} is missing: write {keys}", facts)
        facts |= {"keys": " and ".join(given), "key": given[-1]}
        raise PydanticCustomError("sentence", "{what} is written more than once, as {keys}: keep one", facts)

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        given = [key for key in self.together if getattr(self, key) is not None]
        if len(given) in {0, len(self.together)}:
            return self
        missing = next(key for key in self.together if key not in given)
        facts = {"given": " and ".join(given), "missing": missing, "key": given[-1]}
        raise PydanticCustomError("sentence", "{given} needs {missing} beside it", facts)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Tell editors of choices and companions as well."""
        schema = handler(core)
        if cls.choice:
            handler.resolve_ref_schema(schema)["oneOf"] = [{"required": [key]} for key in cls.choice]
        if cls.together:
            handler.resolve_ref_schema(schema)["dependentRequired"] = {
                key: [other for other in cls.together if other != key] for key in cls.together
            }
        return schema
