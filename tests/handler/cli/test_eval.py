from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from handler.cli.main import app

SEED = "(ttfb > 250) && !(cpu < 20 || sessions = 0)"


def evaluate(*words: str) -> Result:
    return CliRunner().invoke(app, ["eval", *words])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((SEED, "ttfb=300", "cpu=50", "sessions=3"), "true"),
        ((SEED, "ttfb=300", "cpu=10"), "false"),
        ((SEED, "ttfb=300", "cpu=50"), "unknown"),
        (("cpu.p95 > 1", "cpu.p95=2"), "true"),
        (("--dialect", "oneflow", "ATT > 50", "att=45", "ATT=60"), "true"),
        (("--dialect", "oneflow", "ATT > 50", "ATT=40", "ATT=60"), "false"),
        (("--dialect", "oneflow", "ATT = 25", "ATT=50", "ATT=oops"), "true"),
        (("--dialect", "oneflow", "ATT > 50", "ATT=1e308"), "true"),
        (("--dialect", "oneflow", "!(ATT > 0)"), "true"),
    ],
)
def test_an_expression_comes_to_a_word(words: tuple[str, ...], expected: str) -> None:
    answer = evaluate(*words)

    assert (answer.exit_code, answer.output) == (0, f"{expected}\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cpu >> 1",), "cpu >> 1\n     ^ expected"),
        (("cpu > 1", "cpu"), "'cpu' is not NAME=VALUE"),
        (("cpu > 1", "cpu=high"), "'high' is not a number, for cpu"),
        (("cpu > 1", "cpu=nan"), "'nan' is not a number, for cpu"),
        (("cpu > 1", "cpu=1", "cpu=2"), "cpu is given twice"),
        (("--dialect", "oneflow", "ATT + 1 > 2"), "^ expected a comparison"),
        ((" || ".join(["cpu > 1"] * 400), "cpu=0"), "^ expected at most 500 numbers and names"),
        (("+".join(["cpu"] * 400) + " > 1", "cpu=0"), "^ expected at most 120 operations in one another"),
        (("--dialect", "oneflow", " | ".join(["CPU > 1"] * 400), "CPU=0"), "^ expected at most 100 levels of nesting"),
    ],
)
def test_a_mistake_exits_2_and_says_where(words: tuple[str, ...], expected: str) -> None:
    answer = evaluate(*words)

    assert answer.exit_code == 2
    assert expected in answer.output


def test_json_is_one_object() -> None:
    assert json.loads(evaluate("1 < 2", "--json").output) == {
        "dialect": "native",
        "expression": "1 < 2",
        "truth": "true",
    }
