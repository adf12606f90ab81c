from __future__ import annotations

from config.units import Instant
from trigger.explain.knowledge_words import say_knowledge
from trigger.policies.forecast_knowledge import Band, CarriedBefore, ForecastKnowledge, HeadroomChoice

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
