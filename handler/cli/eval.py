"""`trimtab eval`: evaluate an expression over values from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from handler.cli.terminal import USAGE, AsJson, fail, print_json

if TYPE_CHECKING:
    from config.model.expressions import Dialect
    from trigger.conditions.spans import ValueSpan


def evaluate(
    expression: Annotated[str, typer.Argument(metavar="EXPRESSION", help="For example: (cpu > 80) && !(load < 2)")],
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="A name that is not given is absent.")
    ] = None,
    dialect: Annotated[Literal["native", "oneflow"], typer.Option(help="The expression's language.")] = "native",
    json: AsJson = False,
) -> None:
    """Print true, false or unknown. With OneFlow's dialect a name may be given once for each running machine."""
    from config.model import native_dialect, oneflow_dialect
    from config.model.expressions import Dialect, ExpressionError
    from trigger.conditions.expressions import judge

    chosen = Dialect(dialect)
    known = _known(values or [], chosen, json=json)

    try:
        parsed = (native_dialect if chosen is Dialect.NATIVE else oneflow_dialect).parse(expression)
    except ExpressionError as error:
        fail(error.pointed(), USAGE, json=json)
    truth = judge(parsed, known).value
    if json:
        print_json({"dialect": dialect, "expression": expression, "truth": truth})
    else:
        typer.echo(truth)


def _known(values: list[str], dialect: Dialect, *, json: bool) -> dict[str, ValueSpan]:
    """Return each name's quantity: its value, or in OneFlow's dialect the mean of its values."""
    from config.model.expressions import Dialect
    from trigger.conditions.spans import exactly

    given: dict[str, list[float]] = {}
    for each in values:
        name, sign, text = each.partition("=")
        if not sign or not name:
            fail(f"{each!r} is not NAME=VALUE", USAGE, json=json)
        key = name.upper() if dialect is Dialect.ONEFLOW else name
        number = _leading_number(text) if dialect is Dialect.ONEFLOW else _number(text)
        if number is None:
            fail(f"{text!r} is not a number, for {name}", USAGE, json=json)
        if key in given and dialect is Dialect.NATIVE:
            fail(f"{name} is given twice", USAGE, json=json)
        given.setdefault(key, []).append(number)
    return {name: exactly(sum(numbers) / len(numbers)) for name, numbers in given.items()}


def _number(text: str) -> float | None:
    import math

    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _leading_number(text: str) -> float:
    """Read a number as Ruby's ``String#to_f`` does, which OneFlow uses: the leading number counts, else 0.0.

    >>> [_leading_number(text) for text in ("50%", "1,5", "1e3", "1_000", ".5", " 7 ", "oops", "0x10")]
    [50.0, 1.0, 1000.0, 1000.0, 0.5, 7.0, 0.0, 0.0]
    """
    import re

    found = re.match(r"\s*([-+]?(?:\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?|\.\d+)(?:[eE][-+]?\d+)?)", text)
    return float(found[1].replace("_", "")) if found else 0.0
