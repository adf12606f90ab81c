from __future__ import annotations

import pytest

from config.checks.lint import lint
from config.errors import DeclarationError
from tests.support.config import declared
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized


@pytest.mark.parametrize("window", ["30s", "5m"], ids=["one-interval", "many"])
def test_a_stabilisation_window_holds_at_least_two_ticks(window: str) -> None:
    assert declared(("max: 8", f"max: 8, stabilisation: {window}")).groups


def test_the_message_of_a_stabilisation_window_shorter_than_the_interval_names_one_that_fits() -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(("max: 8", "max: 8, interval: 1m, stabilisation: 59s"))
    (problem,) = caught.value.problems
    assert problem.message == (
        "groups.web.stabilisation: 59s is shorter than the interval, 1m: write at least that, or leave it out"
    )


def warned(*changes: tuple[str, str]) -> list[str]:
    problems = lint(declared(*changes), resized, certain)
    return [problem.message for problem in problems if "freeze" in problem.message or "in_a_row" in problem.message]


def hurried(interval: str) -> list[str]:
    problems = lint(declared(("max: 8", f"max: 8, interval: {interval}")), resized, certain)
    return [problem.message for problem in problems if ".interval:" in problem.message]


@pytest.mark.parametrize(("interval", "is_warned"), [("1ms", True), ("900ms", True), ("1s", False)])
def test_an_interval_below_a_second_is_warned_of(interval: str, is_warned: bool) -> None:
    words = f"groups.web.interval: {interval} is shorter than 1s: "

    assert [message.startswith(words) for message in hurried(interval)] == [True] * is_warned


def frozen(cron: str, duration: str) -> tuple[str, str]:
    return "max: 8", f'max: 8, freeze: [{{schedule: "{cron}", duration: {duration}}}]'


@pytest.mark.parametrize(
    ("cron", "duration", "again"),
    [
        ("0 9 * * *", "24h", "1d"),
        ("0 9 * * mon-fri", "3d", "3d"),
        ("*/10 * * * *", "10m", "10m"),
        ("* * * * *", "1m", "1m"),
        ("0 0 1 * *", "31d", "31d"),
    ],
)
def test_a_freeze_that_lasts_until_it_begins_again_never_ends(cron: str, duration: str, again: str) -> None:
    (message,) = warned(frozen(cron, duration))
    assert message.startswith(f'groups.web.freeze[1].duration: "{cron}" comes again within {again}, before ')
    works = message.removesuffix(", works").rpartition("such as ")[2]
    assert warned(frozen(cron, works)) == []


@pytest.mark.parametrize(
    ("cron", "duration"),
    [("0 9 * * *", "23h59m"), ("0 9 * * mon-fri", "71h"), ("* * * 1 *", "300d"), ("*/10 9-17 * * *", "15h")],
)
def test_a_freeze_that_ends_once_in_a_while_is_meant(cron: str, duration: str) -> None:
    assert warned(frozen(cron, duration)) == []


def test_a_policy_cannot_be_counted_more_often_than_its_group_is_judged() -> None:
    def counted(every: str) -> list[str]:
        return warned(("add: 2", f"add: 2, in_a_row: {{times: 3{every}}}"))

    (message,) = counted(", every: 10s")
    assert message.startswith("policies.out.in_a_row.every: the group web is judged every 30s")
    assert message.endswith("; 30s works")
    assert counted(", every: 30s") == counted("") == []
