"""What all mappings of the file have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema


def key(description: str, *examples: object, default: Any = None) -> Any:  # noqa: ANN401 the type of pydantic's Field
    """A key that may be left out; ``default`` is written as in YAML."""
    checked = default is not None
    return Field(default=default, validate_default=checked, description=description, examples=[*examples])


def must(description: str, *examples: object) -> Any:  # noqa: ANN401 the type of pydantic's Field
    """A key that must be there."""
    return Field(description=description, examples=[*examples])


class Declared(BaseModel):
    """A mapping of the file: exactly its own keys, and no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
    later: ClassVar[Mapping[str, str]] = {}
    """Keys that this version does not serve yet → the feature that each belongs to."""
    refused: ClassVar[Mapping[str, str]] = {}
    """Keys that somebody may well expect here → why there are none."""
    hidden: ClassVar[frozenset[str]] = frozenset()
    """Keys whose value may be, or hold, a secret: never repeated in a message."""
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
        said = {"what": self.choice_of, "keys": " or ".join(self.choice), "key": ""}
        if not given:
            raise PydanticCustomError("sentence", "{what} is missing: write {keys}", said)
        said |= {"keys": " and ".join(given), "key": given[-1]}
        raise PydanticCustomError("sentence", "{what} is written more than once, as {keys}: keep one", said)

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        given = [key for key in self.together if getattr(self, key) is not None]
        if len(given) in {0, len(self.together)}:
            return self
        missing = next(key for key in self.together if key not in given)
        said = {"given": " and ".join(given), "missing": missing, "key": given[-1]}
        raise PydanticCustomError("sentence", "{given} needs {missing} beside it", said)

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
