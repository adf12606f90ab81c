from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.expressions import Expression, ExpressionError, names_of
from config.model.oneflow_dialect import parse
from trigger.conditions.expressions import judge
from trigger.conditions.spans import exactly

SEED = "(ATT > 50) && !(OTHER_ATT = 5.5 || ABC <= 30)"
ANSWERS: list[tuple[str, Mapping[str, float], bool]] = [
    ("ATT > 50", {"ATT": 50}, False),
    ("ATT > 50", {"ATT": 51}, True),
    ("ATT > 50", {}, False),
    *[(f"ATT {sign} 50", {"ATT": 50}, sign in {">=", "<=", "=", "=="}) for sign in (">=", "<=", "=", "==", "!=", "<>")],
    (SEED, {"ATT": 60, "OTHER_ATT": 1, "ABC": 40}, True),
    (SEED, {"ATT": 60, "OTHER_ATT": 5.5, "ABC": 40}, False),
    (SEED, {"ATT": 60, "OTHER_ATT": 1, "ABC": 30}, False),
    (SEED, {"ATT": 60}, True),  # what is absent compares false, and its negation is true
    (SEED, {}, False),
    ("A = 1 || B = 1 && C = 1", {"A": 1, "B": 0, "C": 0}, True),
    ("A = 1 && B = 1 || C = 1", {"A": 0, "B": 0, "C": 1}, False),
    ("(A = 1 && B = 1) || C = 1", {"A": 0, "B": 0, "C": 1}, True),
    ("A = 1 & B = 1 | C = 1", {"A": 0, "B": 0, "C": 1}, False),
    ("A = 1 && B = 1 || C = 1 && D = 1", {"A": 0, "B": 0, "C": 1, "D": 1}, False),
    *[(text, {"A": 3}, True) for text in ("!A > 5", "! A > 5", "!(A > 5)")],
    ("!!(A > 5)", {"A": 9}, True),
    ("! ! ! (A > 5)", {"A": 9}, False),
    ("!A = 1 && B = 1", {"A": 0, "B": 0}, True),
    ("!A = 1 || B = 1", {"A": 0, "B": 1}, False),
    ("!(A = 1) || B = 1", {"A": 1, "B": 1}, False),
    ("(!(A = 1)) || B = 1", {"A": 1, "B": 1}, True),
    ("B = 1 && !A = 1", {"A": 0, "B": 1}, True),
    *[(text, {}, False) for text in ("NOPE > 1", "NOPE < 1", "NOPE = 0", "NOPE != 0", "NOPE = NOPE", "5 > NOPE")],
    ("!NOPE > 1", {}, True),
    ("A > B", {"A": 2, "B": 1}, True),
    *[(text, {"ATT": 60}, True) for text in ("50 < ATT", "1 < 2", "1 = 1.0", "0 = -0")],
    ("ATT > -5", {"ATT": -4}, True),
    ("ATT = -5.25", {"ATT": -5.25}, True),
    ("ATT > 007", {"ATT": 7.5}, True),
    ("att > 50", {"ATT": 60}, True),
    ("Att > 50", {"ATT": 60}, True),
    ('"ATT" > 50', {"ATT": 60}, False),
    ("'ATT' > 50", {"ATT": 60}, False),
    ('!"ATT" > 50', {"ATT": 60}, True),
    *[(text, {"ATT": 60, "B": 0}, True) for text in ("ATT>50&&B<1", "(ATT>50)|(B<1)", "((((ATT > 50))))")],
    ("AND > 1 && OR > 1", {"AND": 2, "OR": 2}, True),
    ("TRUE = 1", {"TRUE": 1}, True),
    ("ATT = 33.33", {"ATT": 100 / 3}, True),
    ("ATT > 33.33", {"ATT": 100 / 3}, False),
    ("ATT > 0", {"ATT": 0.004}, False),
    ("  ATT > 50  ", {"ATT": 60}, True),
]
"""Each was run through OneFlow's own parser."""

REFUSED = [
    *("", "ATT", "5", "true", "(ATT) > 5", "ATT > (50)", "ATT > +5", "ATT > .5", "ATT > 50.", "ATT > 1e1", "ATT > 50%"),
    *("ATT > - 5", "_A > 0", "A-B > 0", "A.B > 0", "A/B > 0", '"A B" > 5', "ATT => 50", "ATT =< 50", "ATT === 50"),
    *("ATT > = 50", "ATT ! = 50", "10 < ATT < 20", "ATT > 50 and B > 1", "not ATT > 50", "ATT + 1 > 50"),
    *("avg(ATT) > 50", "ATT > 50 &&", "(ATT > 50", "ATT > 50)", "A = 1 & & B = 1", "ATT > 50 &&& B > 1"),
    *("ATT\t> 50", "ATT > 50\n"),
]


@pytest.mark.parametrize(("text", "values", "answer"), ANSWERS)
def test_an_expression_has_the_same_result_as_in_oneflow(text: str, values: Mapping[str, float], answer: bool) -> None:
    known = {name: exactly(value) for name, value in values.items()}

    assert judge(parse(text), known).value == str(answer).lower()


@pytest.mark.parametrize("text", REFUSED)
def test_an_expression_that_oneflow_refuses_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)

    assert 1 <= refused.value.column <= len(text) + 1


def test_the_place_of_a_mistake_is_pointed_at() -> None:
    with pytest.raises(ExpressionError) as refused:
        parse("ATT > 50 && B >> 1")

    assert refused.value.pointed() == "ATT > 50 && B >> 1\n               ^ expected a number or a name"


def test_names_stand_in_the_order_of_the_text() -> None:
    assert [(name.name, name.column) for name in names_of(parse("a > B && !(c = 1)").tree)] == [
        ("A", 1),
        ("B", 5),
        ("C", 12),
    ]


def read(text: str) -> Expression | ExpressionError:
    try:
        return parse(text)
    except ExpressionError as error:
        return error


@given(st.text(alphabet="AB19.<>=!&|() \"'-_\t", max_size=30))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    result = read(text)

    if isinstance(result, ExpressionError):
        assert 1 <= result.column <= len(text) + 1
    else:
        assert judge(result, {}).value in {"true", "false"}


def test_nesting_has_an_end() -> None:
    with pytest.raises(ExpressionError, match="levels of nesting"):
        parse("(" * 5000 + "A > 1" + ")" * 5000)
