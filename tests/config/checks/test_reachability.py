from __future__ import annotations

import pytest

from config.checks import reachability
from config.checks.lint import lint
from config.checks.reachability import spelled
from config.model.native_dialect import parse
from tests.support.config import declared
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

_RANGED = ("snmp: UCD-SNMP-MIB::ssCpuUser.0", "push: load, unit: jobs, range: [0, 50]")
"""A counter with no other warning about its thresholds."""
_ALONE = ("[out, in]", "[out]")
_PUSHED = ("sessions: {haproxy: scur}", "sessions: {push: sessions}")


def messages_of(condition: str) -> list[str]:
    """The warnings about one condition, over a counter from 0 to 50 and one without a range."""
    return [
        problem.message
        for problem in lint(
            declared(_RANGED, _PUSHED, _ALONE, ("counter: cpu, above: 80", condition)), resized, certain
        )
        if " true, since " in problem.message
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("above: 50", "50 is never true, since cpu lies in 0 to 50; 49.5 works"),
        ("below: 0", "0 is never true, since cpu lies in 0 to 50; 0.5 works"),
        ("at_least: 0", "0 is always true, since cpu lies in 0 to 50; 0.5 works"),
        ("at_most: 50", "50 is always true, since cpu lies in 0 to 50; 49.5 works"),
    ],
)
def test_a_threshold_at_the_end_of_the_range_leaves_no_choice(condition: str, expected: str) -> None:
    (message,) = messages_of(f"counter: cpu, {condition}")
    compare = condition.partition(":")[0]
    assert message == f"conditions.busy.{compare}: {expected}"
    works = message.rpartition("; ")[2].removesuffix(" works")
    assert messages_of(f"counter: cpu, {compare}: {works}") == []


@pytest.mark.parametrize("condition", ["above: 0", "below: 50", "at_least: 50", "at_most: 0", "equals: 50"])
def test_the_other_ends_do(condition: str) -> None:
    assert messages_of(f"counter: cpu, {condition}") == []


@pytest.mark.parametrize(
    ("expression", "comparison", "truth", "works"),
    [
        ("cpu > 800", "cpu > 800", "never", "cpu > 49.5"),
        ("sessions > 3 && cpu < -1", "cpu < -1", "never", "cpu < 0.5"),
        ("!(60 > cpu)", "60 > cpu", "always", "50 > cpu"),
        ("cpu >= -5 || sessions > 3", "cpu >= -5", "always", "cpu >= 0.5"),
        ("cpu = 51", "cpu = 51", "never", "cpu = 50"),
        ("cpu.p95 != 51", "cpu.p95 != 51", "always", "cpu.p95 != 50"),
    ],
)
def test_so_do_comparisons_of_an_expression_beyond_the_range(
    expression: str, comparison: str, truth: str, works: str
) -> None:
    (message,) = messages_of(f"expression: '{expression}'")
    name = comparison.replace("60 > ", "").split()[0]
    assert message == (
        f"conditions.busy.expression: {comparison} is {truth} true, since {name} lies in 0 to 50; {works} works"
    )
    assert messages_of(f"expression: '{expression.replace(comparison, works)}'") == []


@pytest.mark.parametrize(
    ("expression", "comparison"),
    [
        ("cpu * 2 > 100", "cpu * 2 > 100"),
        ("-cpu > 1 || sessions > 3", "-cpu > 1"),
        ("max(cpu, 60) >= 60", "max(cpu, 60) >= 60"),
        ("(cpu + cpu) / 2 > 70", "(cpu + cpu) / 2 > 70"),
    ],
)
def test_what_is_calculated_is_judged_and_left_out(expression: str, comparison: str) -> None:
    (message,) = messages_of(f"expression: '{expression}'")
    assert f": {comparison} is " in message
    assert message.endswith("leave it out")


@pytest.mark.parametrize(
    "expression",
    ["cpu > 30", "sessions > 800", "cpu.sum > 800", "cpu.count > 51", "(cpu ?? 99) > 60", "cpu * sessions > 9000"],
)
def test_an_expression_with_a_choice_has_no_warning(expression: str) -> None:
    assert messages_of(f"expression: '{expression}'") == []


def test_a_reduction_across_members_that_outgrows_the_range_is_not_judged() -> None:
    assert messages_of("expression: 'cpu > 800', across: sum") == []
    assert messages_of("counter: cpu, across: sum, above: 800") == []


def test_a_threshold_per_member_is_not_judged() -> None:
    assert messages_of("counter: cpu, across: sum, per_member: true, above: 50") == []


@pytest.mark.parametrize(
    "text", ["cpu > 80", "min(a, b.p95) <= -(a)", "(a + b) * 2 = a / (b ?? 3)", "abs(a - b) != 1e-07"]
)
def test_a_comparison_is_written_as_it_is_read(text: str) -> None:
    tree = parse(text).tree
    assert isinstance(tree, reachability.Comparison)
    assert parse(spelled(tree)).tree == parse(text.replace("-(a)", "-a")).tree or spelled(tree) == text
