"""What checks find, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from config.model.catalogue import Profile, Recipe
from config.units import CloudId, ProfileId
from handler.operations.examining import asked
from handler.ports.examination import CheckVerdict, Examined, Look

OK, UNKNOWN, PROBLEM = CheckVerdict.OK, CheckVerdict.UNKNOWN, CheckVerdict.PROBLEM


def a_profile(recipe: Recipe) -> Profile:
    return Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=recipe)


def looks(driver: Examined, *recipes: Recipe, most: int = 4) -> dict[str, list[Look]]:
    """What is asked → what was found, in the order of the checks."""
    checks = driver.checks([a_profile(recipe) for recipe in recipes], most)
    found: dict[str, list[Look]] = {}
    for check, look in zip(checks, asked(checks, 20.0), strict=True):
        found.setdefault(check.what, []).append(look)
    return found


def verdicts(found: dict[str, list[Look]]) -> dict[str, Sequence[CheckVerdict]]:
    return {what: [look.verdict for look in each] for what, each in found.items()}
