from __future__ import annotations

import pytest

from config.checks.lint import lint
from config.errors import DeclarationError
from tests.support.config import declared
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

MORE = ("below: 30}\n", "below: 30}\n  few: {counter: sessions, below: 5}\n  many: {counter: sessions, above: 9}\n")

_PUSHED = ("sessions: {haproxy: scur}", "sessions: {push: sessions}")


def refused(*changes: tuple[str, str]) -> list[str]:
    try:
        declared(_PUSHED, *changes)
    except DeclarationError as error:
        return [problem.message for problem in error.problems]
    return []


def warned(*changes: tuple[str, str]) -> list[str]:
    problems = lint(declared(_PUSHED, *changes), resized, certain)
    return [problem.message for problem in problems if "at once" in problem.message]


@pytest.mark.parametrize(
    ("out", "in_", "at_once"),
    [
        pytest.param("[busy, many]", "[idle, few]", False, id="each-keeps-them-apart"),
        pytest.param("[busy, many], match: any", "[idle, few]", False, id="each-way-is-kept-apart"),
        pytest.param("[busy, many], match: any", "[few]", False, id="another-counter-may-differ"),
        pytest.param("[busy, many]", "[idle, few], match: any", False, id="one-of-two-keeps-them-apart"),
        pytest.param("[busy], match: any", "[calm, few], match: any", True, id="a-way-of-the-scale-in"),
        pytest.param("[busy, hot], match: any", "[calm]", True, id="a-way-of-growth"),
        pytest.param("[busy, hot, many], match: {at_least: 2}", "[calm, few], match: any", True, id="two-of-three"),
    ],
)
def test_where_some_conditions_suffice_every_way_is_looked_at(out: str, in_: str, at_once: bool) -> None:
    spare = ("above: 80}\n", "above: 80}\n  hot: {counter: cpu, above: 75}\n  calm: {counter: cpu, below: 90}\n")
    messages = refused(MORE, spare, ("[busy]", out), ("[idle]", in_))
    assert bool(messages) is at_once
    assert all("would add and remove at once" in message for message in messages)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("above: 80", "below: 90"),
        ("at_least: 80", "at_most: 80"),
        ("above: 0", "at_most: 3"),
        ("equals: 5", "below: 9"),
    ],
)
def test_the_threshold_that_is_proposed_keeps_them_apart(above: str, below: str) -> None:
    (message,) = refused(("above: 80", above), ("below: 30", below))
    works = message.rpartition("; ")[2].removesuffix(" works")
    assert message.endswith(" works")
    assert refused(("above: 80", above), ("below: 30", f"{below.partition(':')[0]}: {works}")) == []


def test_nothing_is_proposed_where_no_threshold_near_keeps_them_apart() -> None:
    (message,) = refused(("below: 30", "above: 90"))
    assert message.endswith("at once")


@pytest.mark.parametrize(
    ("busy", "idle", "works"),
    [
        pytest.param("expression: 'cpu > 80'", "counter: cpu, below: 90", "80", id="growth"),
        pytest.param("counter: cpu, above: 80", "expression: 'cpu < 90'", "80", id="a-scale-in"),
        pytest.param("expression: 'cpu > 80 || sessions > 9'", "expression: '!(cpu >= 90)'", "80", id="both"),
        pytest.param("expression: 'cpu >= 80'", "expression: 'cpu <= 80 && sessions < 1'", "79.2", id="their-edges"),
    ],
)
def test_expressions_that_can_be_true_together_are_warned_of(busy: str, idle: str, works: str) -> None:
    changes = ("counter: cpu, above: 80", busy), ("counter: cpu, below: 30", idle)
    assert refused(*changes) == []
    (message,) = warned(*changes)
    assert message.startswith("conditions.idle.")
    assert message.endswith(f"; {works} works")
    written = "90" if "90" in idle else "80"
    assert warned(changes[0], (changes[1][0], idle.replace(written, works))) == []


@pytest.mark.parametrize(
    ("busy", "idle"),
    [
        ("cpu > 80", "cpu < 30"),
        ("cpu > 80 || sessions > 9", "cpu < 30 && sessions < 5"),
        ("cpu.p95 > 80", "cpu.p50 < 90"),
        ("cpu * 2 > 80", "cpu < 90"),
    ],
)
def test_expressions_that_exclude_each_other_or_cannot_be_compared_are_not(busy: str, idle: str) -> None:
    busy_is, idle_is = f"expression: '{busy}'", f"expression: '{idle}'"
    assert warned(("counter: cpu, above: 80", busy_is), ("counter: cpu, below: 30", idle_is)) == []


LOW = ("below: 30}\n", "below: 30}\n  low: {counter: cpu, below: 20}\n  slow: {counter: cpu, below: 9, window: 5m}\n")


def messages_of(when: str, *, busy: str = "counter: cpu, above: 80") -> list[str]:
    changes = LOW, ("counter: cpu, above: 80", busy), ("[busy]", when), ("[out, in]", "[out]")
    return [p.message for p in lint(declared(*changes), resized, certain) if p.message.startswith("policies.out.when")]


@pytest.mark.parametrize(
    ("when", "remedy"),
    [("[busy, low]", "write match: any"), ("[busy, low, idle], match: {at_least: 3}", "leave one out")],
)
def test_conditions_that_no_value_meets_together_never_hold(when: str, remedy: str) -> None:
    (message,) = messages_of(when)
    assert message == f"policies.out.when: no value of cpu is above 80 (busy) and below 20 (low): {remedy}"


def test_the_proposed_change_works() -> None:
    assert messages_of("[busy, low], match: any") == []
    assert messages_of("[busy]") == []


@pytest.mark.parametrize(
    "when", ["[low, idle]", "[busy, slow]", "[busy, low, idle], match: {at_least: 2}", "[busy, low], match: any"]
)
def test_those_that_some_value_or_some_way_meets_may(when: str) -> None:
    assert messages_of(when) == []


def test_an_expression_may_exclude_itself() -> None:
    (message,) = messages_of("[busy]", busy="expression: 'cpu > 80 && cpu < 30'")
    assert message.endswith("no value of cpu is above 80 (busy) and below 30 (busy): leave one out")
    assert messages_of("[busy]", busy="expression: 'cpu > 80 || cpu < 30'") == []
