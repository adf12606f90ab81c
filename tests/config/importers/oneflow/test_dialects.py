from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.importers.oneflow.dialects import other_readings, written
from config.model import native_dialect, oneflow_dialect


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        pytest.param("ATT > 50", (), id="the same"),
        pytest.param("A > 1 && B > 1 && C > 1", (), id="a chain groups the other way, and comes to the same"),
        pytest.param("att > 50 && (B = -1 || 007 < C)", (), id="case, signs and noughts"),
        pytest.param("A = 1 || B = 1 && C = 1", (), id="usual precedence happens to be that of the text"),
        pytest.param(
            "!A = 1 && B = 1",
            (
                "it is !(A = 1 && B = 1); by usual precedence it would be (!(A = 1)) && B = 1",
                "it is true while nothing at all is known, where the native dialect says unknown",
            ),
            id="not",
        ),
        pytest.param(
            "A = 1 & B = 1",
            ("the native dialect does not take it: column 7: expected a number, a name or an operator, found '&'",),
            id="one sign",
        ),
        pytest.param(
            "A > 1 || !(B > 1)",
            ("it is true while nothing at all is known, where the native dialect says unknown",),
            id="absent",
        ),
        pytest.param("A > 1 && !(B > 1)", (), id="absent, and yet false"),
        pytest.param(
            "(!(A > 1)) && B > 1 || C > 1 && !(A > 1)",
            (
                (
                    "it is (!(A > 1)) && (B > 1 || (C > 1 && (!(A > 1)))); "
                    "by usual precedence it would be ((!(A > 1)) && B > 1) || (C > 1 && (!(A > 1)))"
                ),
            ),
            id="several",
        ),
        pytest.param(
            "A > 1 || 1 < 2",
            ("it is true while nothing at all is known, where the native dialect says unknown",),
            id="always",
        ),
    ],
)
def test_other_readings_are_reported(text: str, notes: tuple[str, ...]) -> None:
    assert tuple(other_readings(oneflow_dialect.parse(text))) == notes


operands = st.sampled_from(["A", "not", "B_2", "7", "-5.25", "min", "0.004"])
texts = st.recursive(
    st.tuples(operands, st.sampled_from(["=", "==", "!=", "<>", ">", "<="]), operands).map(" ".join),
    lambda inner: st.one_of(
        inner.map("!{}".format),
        inner.map("({})".format),
        st.tuples(inner, st.sampled_from(["&&", "||", "&", "|"]), inner).map(" ".join),
    ),
    max_leaves=6,
)


@given(texts)
def test_what_is_written_shows_how_it_is_read(text: str) -> None:
    shown = written(oneflow_dialect.parse(text).tree)

    assert written(oneflow_dialect.parse(shown).tree) == shown


@given(texts)
def test_with_all_its_parentheses_an_expression_reads_the_same_in_both_dialects(text: str) -> None:
    shown = written(oneflow_dialect.parse(text).tree)
    again = oneflow_dialect.parse(shown)

    assert not any("usual precedence" in reading for reading in other_readings(again))


@given(texts)
def test_without_a_note_both_dialects_read_the_same(text: str) -> None:
    expression = oneflow_dialect.parse(text)

    if not any(other_readings(expression)):
        assert written(native_dialect.parse(text).tree).upper() == written(expression.tree)
