from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import DeclarationError, Problem
from config.importers.oneflow.json_text import read_json

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-1e9, 1e9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), plain, max_size=4), st.sampled_from([None, 0, 3]))
def test_json_is_read_as_the_value_that_it_holds(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)

    assert read_json(text.encode(), "f").data == value


@given(st.text(max_size=40) | st.text(alphabet='{}[]:,"\\/*1e-. \nu', max_size=40))
def test_whatever_else_there_is_becomes_one_problem(text: str) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        read_json(text.encode(), "f")
    except DeclarationError as error:
        problems = error.problems

    assert len(problems) <= 1
    assert all(problem.line <= text.count("\n") + 1 for problem in problems)


def test_comments_stand_wherever_blanks_do() -> None:
    text = b'// before\n{ /* { */ "a" /**/ : // "b"\n [1, /* 2, */ "/* text */", "//"] } // after'

    assert read_json(text, "f").data == {"a": [1, "/* text */", "//"]}


def test_keys_and_values_know_their_places() -> None:
    reading = read_json('{"é": {\n  "b" : [7,\n 8]}}'.encode(), "f")

    keys, values = reading.keys["é", "b"], reading.values["é", "b", "1"]
    assert (keys.line, keys.column) == (2, 3)
    assert (values.line, values.column) == (3, 2)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param(b"", 1, "column 1: not JSON: expected an object: {, found the end of the file", id="empty"),
        pytest.param(b"[]", 1, "column 1: not JSON: expected an object: {, found '['", id="a list"),
        pytest.param(b'{"a": 1,\n}', 2, "column 1: not JSON: expected a key in", id="a comma at the end"),
        pytest.param(b'{"a": [1,]}', 1, "column 10: not JSON: expected a value, found ']'", id="in a list, too"),
        pytest.param(b'{"a": 1\n "b": 2}', 2, "column 2: not JSON: expected , or }, found '\"'", id="no comma"),
        pytest.param(b"{'a': 1}", 1, "column 2: not JSON: expected a key in", id="other quotes"),
        pytest.param(b'{"a": NaN}', 1, "column 7: not JSON: expected a value, found 'N'", id="no number"),
        pytest.param(b'{"a": 012}', 1, "column 8: not JSON: expected , or }, found '1'", id="a leading zero"),
        pytest.param(b'{"a": "x\ny"}', 1, "column 7: not JSON: expected text in", id="text on two lines"),
        pytest.param(b'{"a": "\\q"}', 1, "column 8: not JSON: \\ begins nothing known here", id="an unknown escape"),
        pytest.param(b'{"a": 1 /* x', 1, "column 9: not JSON: a comment begins here", id="an open comment"),
        pytest.param(b'{"a": 1} {}', 1, "column 10: not JSON: expected the end, found '{'", id="more"),
        pytest.param(b'{\n"a": "\\ud800"}', 2, "column 6: half of a character", id="half a character"),
        pytest.param(b'{"a": 1e999}', 1, "column 7: a number of more than 40 digits, or too large", id="too large"),
        pytest.param(b'{"a": ' + b"9" * 41 + b"}", 1, "column 7: a number of more than 40 digits", id="too long"),
        pytest.param(b'{"a": ' + b"[" * 100_000, 1, "column 39: nested too deeply", id="deep"),
        pytest.param(b'{"a": "' + b"x" * 2_000_000, 1, "column 1: longer than 1048576 characters", id="huge"),
        pytest.param(b'{\n"a": "\xff"}', 2, "byte 0xff is not UTF-8", id="other letters"),
    ],
)
def test_a_fault_is_reported_with_line_and_column(text: bytes, line: int, message: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        read_json(text, "f")

    (problem,) = raised.value.problems
    assert (problem.line, problem.message[: len(message)]) == (line, message)


def test_a_key_that_stands_twice_is_a_problem_that_leaves_the_rest_readable() -> None:
    reading = read_json(b'{"a": {"b": 1,\n"b": 2}, "c": 3}', "f")

    assert [str(problem) for problem in reading.problems] == ["f:2: a.b appears twice; it is first on line 1"]
    assert reading.data["c"] == 3
