from __future__ import annotations

from dataclasses import replace

from config.units import Instant
from trigger.explain.forecast_words import say_foreseen, say_knowledge
from trigger.policies.forecast_knowledge import Band, CarriedBefore, ForecastKnowledge, HeadroomChoice
from trigger.verdicts import Foreseen, ReserveCause

FORESEEN = Foreseen(
    needed=17,
    may_shrink_to=21,
    load=14.0,
    coming=15.5,
    at_most=16.2,
    within=180.0,
    spread=0.04,
    missed=0.012,
    days=5.1,
)


NOON = Instant(1_772_366_400.0)
KNOWN = ForecastKnowledge(
    at=NOON,
    since=Instant(NOON - 21 * 86400),
    days_alike=6,
    boot=120.0,
    drain=60.0,
    bands=(
        Band(within=180.0, highest=False, load=15.5, at_most=16.2),
        Band(within=900.0, highest=True, load=18.0, at_most=20.4),
    ),
    choices=(
        HeadroomChoice(since=Instant(NOON - 3600), growing=1.5, shrinking=4.0),
        HeadroomChoice(since=None, growing=2.0, shrinking=4.0),
    ),
    cost=1.084,
    flaps=1.12,
    profiles=(CarriedBefore(profile="3f9a00c27b11", each=80.13, learned=5400.0, until=Instant(NOON - 7200)),),
)


def test_what_is_needed_comes_first_then_how_sure_it_is_and_by_which_headroom() -> None:
    assert list(say_foreseen(FORESEEN)) == [
        "at most 16.2 members needed in 3m, ± 4 %",
        "17 members needed now, 21 enough for a while",
        "of 63 headrooms the cheapest of the last 5 days within its promise: 0.012 % of the load missed",
    ]


def test_what_a_member_carries_is_said_with_its_evidence() -> None:
    assert "a member carries 78.4, learned from what members showed for 5h" in say_foreseen(
        replace(FORESEEN, carries=78.4, carries_steps=600)
    )


def test_a_reserve_is_said_with_its_reason() -> None:
    lines = [list(say_foreseen(replace(FORESEEN, reserve=cause)))[2] for cause in ReserveCause]

    assert lines == [
        "data was missing again, for five minutes or more, so a third more than the load is kept",
        "what a member carries is learned anew, so a third more than the load is kept",
    ]


def test_without_data_it_says_that_nothing_leaves() -> None:
    lines = list(say_foreseen(replace(FORESEEN, may_shrink_to=None, load=None)))

    assert lines[1] == "there is no data now, so no member leaves; at least 17 members needed by how it usually goes on"


def test_after_a_long_silence_nothing_is_known() -> None:
    lines = list(say_foreseen(replace(FORESEEN, needed=0, may_shrink_to=None, load=None)))

    assert lines[0] == "there is no data now, so no member leaves; what is needed is not known"


def test_with_little_history_it_says_so() -> None:
    assert "little is known yet" in list(say_foreseen(replace(FORESEEN, days=0.1)))[-1]
    assert "the last 12 hours" in list(say_foreseen(replace(FORESEEN, days=0.5)))[-1]


def test_before_the_first_load_it_says_that_nothing_is_foreseen() -> None:
    assert list(say_foreseen(None)) == ["its load was not measured yet, so nothing is foreseen"]
    assert list(say_foreseen(None, measured=True)) == [
        "it is not known yet what a member carries, so nothing is foreseen"
    ]


def test_what_a_forecast_knows_is_said_from_its_history_to_its_earlier_profiles() -> None:
    assert list(say_knowledge(KNOWN)) == [
        "history: 21d, since 2026-02-08 12:00 UTC; 6 of the last seven days are known and like today",
        "members are taken to boot in 120 s and to drain in 60 s",
        "the load in 3m: 15.5 members, at most 16.2",
        "the highest load within 15m: 18 members, at most 20.4",
        "the virtual fleet that is followed cost 1.08 members for each that the load needed",
        "it changed back 1.1 times a day",
        "headroom since 2026-03-01 11:00 UTC: 1.5 usual errors for growing, 4 for shrinking",
        "headroom for more than a day, or from the beginning: 2 usual errors for growing, 4 for shrinking",
        "a member of the earlier profile 3f9a00c27b11 carried 80.1, learned for 1h30m until 2026-03-01 10:00 UTC",
    ]
