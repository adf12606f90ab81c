"""Write in words what a forecast knows: its history, how far it looks ahead, its bands and its headrooms."""

from __future__ import annotations

from collections.abc import Iterator

from trigger.explain.measure_words import say_number
from trigger.explain.time_words import say_day, say_span
from trigger.policies.forecast_knowledge import ForecastKnowledge, HeadroomChoice

_MOST_CHOICES = 5
"""That are said: the others are in the answer."""


def say_knowledge(known: ForecastKnowledge) -> Iterator[str]:
    """Say what a forecast knows, a sentence each."""
    days = "day is" if known.days_alike == 1 else "days are"
    yield (
        f"history: {say_span(known.at - known.since)}, since {say_day(known.since)}; "
        f"{known.days_alike} of the last seven {days} known and like today"
    )
    yield f"members are taken to boot in {say_span(known.boot)} and to drain in {say_span(known.drain)}"
    for band in known.bands:
        what = "the highest load within" if band.highest else "the load in"
        yield f"{what} {say_span(band.within)}: {say_number(band.load)} members, at most {say_number(band.at_most)}"
    yield f"the virtual fleet that is followed cost {known.cost:.2f} members for each that the load needed"
    yield f"it changed back {known.flaps:.1f} times a day"
    for choice in known.choices[:_MOST_CHOICES]:
        yield _choice(choice)
    for each in known.profiles:
        yield (
            f"a member of the earlier profile {each.profile} carried {say_number(each.each)}, "
            f"learned for {say_span(each.learned)} until {say_day(each.until)}"
        )


def _choice(choice: HeadroomChoice) -> str:
    since = "for more than a day, or from the beginning" if choice.since is None else f"since {say_day(choice.since)}"
    return (
        f"headroom {since}: {say_number(choice.growing)} usual errors for growing, "
        f"{say_number(choice.shrinking)} for shrinking"
    )
