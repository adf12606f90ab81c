"""How the budgets of a roll are written in YAML, and wherever else people write them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import PERCENT_PATTERN, Declared, key, worded
from config.document.scalars import amount_reader
from config.model.rolling import Allowance, RollBudgets

_amount = amount_reader(least=0, most_percent=100)

NEITHER = "with neither surge nor unavailable no member could be replaced: set at least one of them to 1 or more"


def read_allowance(value: object) -> Allowance:
    """Read ``2`` or ``"10%"``.

    Raises:
        ValueError: says what was expected.
    """
    amount = _amount(value)
    return Allowance(number=amount.number, percent=amount.percent)


Allowed = Annotated[
    Allowance,
    PlainValidator(read_allowance),
    worded(
        "members, or percent",
        "from 0, or 0% to 100%",
        anyOf=[{"type": "integer", "minimum": 0}, {"type": "string", "pattern": PERCENT_PATTERN}],
    ),
]


class RollDocument(Declared):
    """What `trimtab roll` may cost where it does not say so itself."""

    surge: Allowed = key("Members above the desired size; a share is rounded up.", 1, "25%", default=1)
    unavailable: Allowed = key("Members that may be missing in service; a share is rounded down.", 0, "10%", default=0)

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.budgets.is_none:
            raise PydanticCustomError("sentence", NEITHER, {"key": ""})
        return self

    @property
    def budgets(self) -> RollBudgets:
        """As the core sees it."""
        return RollBudgets(surge=self.surge, unavailable=self.unavailable)
