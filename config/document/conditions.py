"""How conditions are written, and how a policy says how many of them must hold."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self, assert_never

from pydantic import Field, GetJsonSchemaHandler, PlainValidator, Strict, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from config.document.declared import Declared, key
from config.document.quantities import Threshold
from config.document.reduction_scalars import Across, Aggregating
from config.document.scalars import Given, Name, PositiveSpan, Share, Yes
from config.model import native_dialect, oneflow_dialect
from config.model.catalogue import Compare
from config.model.expressions import Dialect, Expression, ExpressionError, names_of


class ConditionDocument(Declared):
    """Something that is true, false or unknown: one counter held against a number, or an expression over counters."""

    choice: ClassVar[tuple[str, ...]] = (*(compare.value for compare in Compare), "expression")
    choice_of: ClassVar[str] = "the comparison"

    counter: Annotated[Name | None, Given] = key(
        "The counter that is judged.", "cpu", left_out="an expression names its own"
    )
    across: Across = key("How the members' values become one.", "avg", "p95", "highest 3", default="avg")
    window: Annotated[PositiveSpan | None, Given] = key(
        "How far back values count; a whole number of the group's intervals.", "60s", left_out="one interval"
    )
    aggregate: Aggregating = key(
        "How the values of the window become one; in an expression, of names without a statistic.",
        "avg",
        "lowest 2",
        default="avg",
    )
    above: Annotated[Threshold | None, Given] = key("True when the value is greater than this.", 80, "250 ms")
    at_least: Annotated[Threshold | None, Given] = key("True when the value is this or greater.", 80)
    below: Annotated[Threshold | None, Given] = key("True when the value is less than this.", 30)
    at_most: Annotated[Threshold | None, Given] = key("True when the value is this or less.", 30)
    equals: Annotated[Threshold | None, Given] = key("True when the value is exactly this.", 0)
    expression: Annotated[Annotated[str, Field(title="expression")] | None, Given] = key(
        "True when this is; names are counters.", "(cpu > 80) && !(cpu.p95 < 95)"
    )
    dialect: Annotated[Annotated[Dialect, Strict(False)] | None, Given] = key(
        "How the expression is read: native, or as OneFlow does.", "native", implied="native"
    )
    per_member: Annotated[Yes | None, Given] = key(
        "The number is one member's share; the group's total is compared with it times the desired size.",
        True,
        left_out="it is held against the value as it is",
    )
    quorum: Annotated[Share | None, Given] = key(
        "If this share of members has answered, the result counts without the others.",
        "95%",
        left_out="all must answer, or the range must decide",
    )

    @property
    def parsed(self) -> Expression:
        """The expression that is written.

        Raises:
            ExpressionError: says what was expected and where.
        """
        dialect = self.dialect or Dialect.NATIVE
        match dialect:
            case Dialect.NATIVE:
                return native_dialect.parse(self.expression or "")
            case Dialect.ONEFLOW:
                return oneflow_dialect.parse(self.expression or "")
            case _:
                assert_never(dialect)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Tell editors of what goes with a counter, and what with an expression."""
        schema = super().__get_pydantic_json_schema__(core, handler)
        whole = handler.resolve_ref_schema(schema)
        compared: dict[str, list[str]] = {compare.value: ["counter"] for compare in Compare}
        whole["dependentRequired"] = compared | {"dialect": ["expression"]}
        whole["dependentSchemas"] = {"expression": {"not": {"required": ["counter"]}}}
        return schema

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.expression is None and self.counter is None:
            raise _wrong('counter is missing: write, for example, counter: "cpu"', "")
        if self.expression is None and self.dialect is not None:
            raise _wrong("dialect needs expression beside it", "dialect")
        if self.expression is not None and self.per_member is not None:
            raise _wrong("an expression has no number that is a member's: remove per_member", "per_member")
        if self.expression is not None and self.counter is not None:
            raise _wrong("an expression names its counters itself: remove counter", "counter")
        return self

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.expression is None:
            return self
        try:
            tree = self.parsed.tree
        except ExpressionError as error:
            raise _wrong(f"the expression, {error}", "expression") from error
        if next(names_of(tree), None) is None:
            raise _wrong("the expression names no counter, so its result is always the same", "expression")
        return self


def _wrong(sentence: str, key: str) -> PydanticCustomError:
    return PydanticCustomError("sentence", "{sentence}", {"sentence": sentence, "key": key})


def read_match(value: object) -> int | None:
    """Read how many conditions must hold; ``None``: all of them.

    >>> read_match("all"), read_match("any"), read_match({"at_least": 2})
    (None, 1, 2)

    Raises:
        ValueError: says what was expected.
    """
    match value:
        case "all":
            return None
        case "any":
            return 1
        case {"at_least": int(number), **others} if type(number) is int and number >= 1 and not others:
            return number
        case _:
            raise ValueError("all, any or {at_least: 2}")


Match = Annotated[
    int | None,
    PlainValidator(read_match),
    WithJsonSchema(
        {
            "title": "`all`, `any`, or `{at_least: N}`",
            "x-bounds": "N from 1",
            "anyOf": [
                {"enum": ["all", "any"]},
                {
                    "type": "object",
                    "properties": {"at_least": {"type": "integer", "minimum": 1}},
                    "required": ["at_least"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]
