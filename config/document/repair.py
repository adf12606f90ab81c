"""How repair is written in YAML."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from config.document.declared import Declared, key
from config.document.scalars import Given, PositiveSpan, Shrinkage, Span
from config.model.repair import HealthRepair, Repair
from config.units import Fraction

_OFF = {"vanished": False, "broken": False, "unbuilt": False}


def _or_word(handler: GetJsonSchemaHandler, schema: JsonSchemaValue, word: JsonSchemaValue) -> JsonSchemaValue:
    """Tell editors that one word may stand for the whole."""
    whole = handler.resolve_ref_schema(schema)
    mapping = dict(whole)
    whole.clear()
    whole["anyOf"] = [word, mapping]
    return schema


def read_unhealthy(value: object) -> object:
    """Read ``false``, ``true``, or a mapping.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, bool):
        return {} if value else None
    if isinstance(value, dict):
        return value
    raise ValueError("true, false, or how such as {after: 2m}")


class UnhealthyDocument(Declared):
    """When a member is replaced that runs and does not answer its balancers' health checks."""

    after: PositiveSpan = key("How long it must have failed.", "2m", default="2m")
    warm_up: Span = key("After it came into service, how long it is not judged by its health.", "5m", default="5m")
    at_most: Shrinkage = key(
        "If more members fail at once, none is replaced and a person must act.", "20%", 2, default="20%"
    )

    @property
    def settings(self) -> HealthRepair:
        """As the core sees it."""
        count, share = (None, self.at_most.number / 100) if self.at_most.percent else (int(self.at_most.number), 0.0)
        return HealthRepair(after=self.after, warm_up=self.warm_up, at_most=count, at_most_share=Fraction(share))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Tell editors of the switch as well."""
        return _or_word(
            handler,
            super().__get_pydantic_json_schema__(core, handler),
            {"type": "boolean", "title": "`true` or `false`"},
        )


class RepairDocument(Declared):
    """Which members are replaced automatically; others stay and count, until a person runs trimtab converge."""

    vanished: bool = key("Members that served and are gone. on_vanish says what then.", False, default=True)
    broken: bool = key("Members that served, and are in error or stopped, says their cloud.", False, default=True)
    unbuilt: bool = key("Members that never came into service.", False, default=True)
    unhealthy: Annotated[UnhealthyDocument | None, BeforeValidator(read_unhealthy)] = key(
        "Members that run, and do not answer the health checks of their balancers.", {"after": "2m"}, default=False
    )
    passing: Annotated[PositiveSpan | None, Given] = key(
        "Members that reboot, migrate or are resized for longer are as good as broken.",
        "1h",
        left_out="it is only reported",
    )

    @model_validator(mode="before")
    @classmethod
    def _off(cls, entry: object) -> object:
        return _OFF if entry == "off" else entry

    @property
    def settings(self) -> Repair:
        """As the core sees it."""
        return Repair(
            vanished=self.vanished,
            broken=self.broken,
            unbuilt=self.unbuilt,
            unhealthy=None if self.unhealthy is None else self.unhealthy.settings,
            passing=self.passing,
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Tell editors of the one word as well."""
        return _or_word(handler, super().__get_pydantic_json_schema__(core, handler), {"const": "off"})
