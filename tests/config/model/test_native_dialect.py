from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.expressions import Expression, ExpressionError, Name, names_of
from config.model.native_dialect import STATISTICS, parse

SAME = [
    ("a > 1 && b > 1 || c > 1", "(a > 1 && b > 1) || c > 1"),
    ("a > 1 || b > 1 && c > 1", "a > 1 || (b > 1 && c > 1)"),
    ("!a > 1 && b > 1", "(!(a > 1)) && b > 1"),
    ("not a > 1 or b = 2 and c != 3", "(!(a > 1)) || ((b == 2) && (c <> 3))"),
    ("a + b * 2 > c - d / 2", "(a + (b * 2)) > (c - (d / 2))"),
    ("a - b - c > 0", "((a - b) - c) > 0"),
    ("-a * 2 < 0", "((-a) * 2) < 0"),
    ("a ?? b + 1 > 2", "(a ?? (b + 1)) > 2"),
    ("a ?? b ?? 0 > 2", "((a ?? b) ?? 0) > 2"),
    ("max(a,b , 3)>=min( a )", "max(a, b, 3) >= min(a)"),
    ("a>.5", "a > 0.5"),
    ("a > 1e3", "a > 1000"),
    ("\n a\t> 1 ", "a > 1"),
    ("'a' > 1", '"a" > 1'),
]

REFUSED = [
    ("", 1, "a number, a name, ! or ("),
    ("cpu", 1, "something true or false"),
    ("1 + 2", 1, "something true or false"),
    ("cpu > ", 7, "a number, a name, ! or ("),
    ("cpu >> 80", 6, "a number, a name, ! or ("),
    ("cpu > 80 &&", 12, "a number, a name, ! or ("),
    ("cpu > 80 & load > 2", 10, "a number, a name or an operator"),
    ("10 < cpu < 20", 10, "an operator or the end"),
    ("(cpu > 80", 10, "an operator or )"),
    ("cpu > 80)", 9, "an operator or the end"),
    ("(cpu > 80) + 1 > 2", 1, "a quantity, not something true or false"),
    ("cpu && load > 1", 1, "something true or false"),
    ("cpu > 80 || load", 13, "something true or false"),
    ("!cpu", 2, "something true or false"),
    ("cpu.p42 > 1", 5, "one of avg, min"),
    ("median(cpu) > 1", 1, "one of the functions min, max, abs"),
    ("abs(a, b) > 1", 8, "one quantity only"),
    ("cpu > 5x", 7, "a number, a name or an operator"),
    ("cpu > 80%", 9, "a number, a name or an operator"),
    ("min() > 1", 5, "a number, a name, ! or ("),
    ("a ?? (b > 1) > 2", 6, "a quantity, not something true or false"),
]


def bare(text: str) -> str:
    """The tree, without the places of names."""
    tree = repr(parse(text).tree)
    for name in names_of(parse(text).tree):
        tree = tree.replace(f"column={name.column})", "column=0)")
    return tree


@pytest.mark.parametrize(("text", "meant"), SAME)
def test_precedence_is_the_usual_one(text: str, meant: str) -> None:
    assert bare(text) == bare(meant)


@pytest.mark.parametrize(("text", "column", "expected"), REFUSED)
def test_a_mistake_is_shown_with_its_column_and_the_expected_token(text: str, column: int, expected: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)

    assert refused.value.column == column
    assert refused.value.expected.startswith(expected)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_name_may_say_which_statistic_is_meant(statistic: str) -> None:
    assert list(names_of(parse(f"2 < cpu.{statistic}").tree)) == [Name(name="cpu", statistic=statistic, column=5)]


def test_a_quoted_name_may_contain_an_operator() -> None:
    (name,) = names_of(parse('"queue-depth" > 1').tree)

    assert name.name == "queue-depth"


def read(text: str) -> Expression | ExpressionError:
    try:
        return parse(text)
    except ExpressionError as error:
        return error


@given(st.text(alphabet="ab19.<>=!&|()+-*/?, \"'", max_size=30))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    result = read(text)

    if isinstance(result, ExpressionError):
        assert 1 <= result.column <= len(text) + 1
    else:
        assert repr(parse(text).tree) == repr(result.tree)


@pytest.mark.parametrize("text", ["(" * 5000 + "a > 1", "!" * 5000 + "a > 1", "-" * 5000 + "a > 1", "abs(" * 5000])
def test_nesting_has_an_end(text: str) -> None:
    with pytest.raises(ExpressionError, match="levels of nesting"):
        parse(text)
