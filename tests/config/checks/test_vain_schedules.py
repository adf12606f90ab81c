"""What `trimtab check` says of schedules that do nothing, or not what they say."""

from __future__ import annotations

from datetime import datetime

import pytest

from config.checks.lint import lint
from config.checks.vain_schedules import lint_at
from config.model.catalogue import Catalogue
from config.units import Instant
from tests.support.config import declared
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

NEW_YEAR = Instant(datetime.fromisoformat("2026-01-01T00:00+00:00").timestamp())


def scheduled(**policies: str) -> Catalogue:
    """The small declaration, in 2..8, with these policies beside its own."""
    text = "".join(f"  {name}: {entry}\n" for name, entry in policies.items())
    return declared(("clouds:", f"{text}clouds:"), ("[out, in]", f"[{', '.join(('out', 'in', *policies))}]"))


def warned(**policies: str) -> list[str]:
    messages = [problem.message for problem in lint(scheduled(**policies), resized, certain)]
    return [message for message in messages if message.partition(".")[2].partition(".")[0] in policies]


def warned_at(now: Instant = NEW_YEAR, **policies: str) -> list[str]:
    return [problem.message for problem in lint_at(scheduled(**policies), now)]


@pytest.mark.parametrize(
    ("does", "warning"),
    [
        pytest.param("until: 8h, floor: 3", None, id="a floor within"),
        pytest.param("until: 8h, floor: 8", None, id="a floor of max"),
        pytest.param("until: 8h, floor: 2", "2 is min of the group web anyway", id="a floor of min"),
        pytest.param("until: 8h, floor: 1", "8, which always hold: the effective limit is 2", id="a floor below min"),
        pytest.param("until: 8h, floor: 9", "8, which always hold: the effective limit is 8", id="a floor above max"),
        pytest.param("until: 8h, ceiling: 2", None, id="a ceiling of min"),
        pytest.param("until: 8h, ceiling: 8", "8 is max of the group web anyway", id="a ceiling of max"),
        pytest.param("until: 8h, ceiling: 1", "8, which always hold: the effective limit is 2", id="below min"),
        pytest.param("until: 24h, floor: 3", "so it never ends: write less than 1d", id="an end after the next time"),
        pytest.param("set: 9", "so the size is always 8", id="a size above max"),
        pytest.param("set: 8", None, id="a size within"),
        pytest.param("set: 300%", None, id="a percentage"),
        pytest.param("add: 20", None, id="many"),
    ],
)
def test_only_a_schedule_that_bounds_cancel_has_a_warning(does: str, warning: str | None) -> None:
    messages = warned(days=f'{{schedule: "0 9 * * *", {does}}}')
    assert len(messages) == (warning is not None)
    assert warning is None or warning in messages[0]


@pytest.mark.parametrize(
    ("policy", "past"),
    [
        ("{at: 2026-01-02T00:00Z, add: 1}", False),
        ("{at: 2025-12-31T00:00Z, add: 1}", True),
        ("{at: 2025-12-31T00:00Z, until: 2026-01-02T00:00Z, floor: 4}", False),
        ("{at: 2025-12-31T00:00Z, until: 2025-12-31T12:00Z, floor: 4}", True),
        ('{schedule: "0 9 * * *", add: 1}', False),
    ],
)
def test_only_a_schedule_that_is_past_has_a_warning(policy: str, past: bool) -> None:
    messages = warned_at(days=policy)
    assert [message.partition(" and ")[0] for message in messages] == (
        ["policies.days: it is past since 2025-12-31 00:00 UTC"] if past else []
    )


@pytest.mark.parametrize(
    ("floor", "ceiling", "met"),
    [
        ('{schedule: "0 9 * * *", until: 8h, floor: 6}', '{schedule: "0 16 * * *", until: 8h, ceiling: 4}', "01 16:00"),
        ('{schedule: "0 9 * * *", until: 7h, floor: 6}', '{schedule: "0 16 * * *", until: 8h, ceiling: 4}', None),
        ('{schedule: "0 9 * * *", until: 8h, floor: 4}', '{schedule: "0 16 * * *", until: 8h, ceiling: 4}', None),
        (
            '{schedule: "0 9 * * mon", until: 8h, floor: 6}',
            '{schedule: "@monthly", until: 1d, ceiling: 4}',
            "06-01 09:00",
        ),
        (
            "{at: 2026-03-01T12:00Z, until: 1h, floor: 6}",
            '{schedule: "@monthly", until: 1d, ceiling: 4}',
            "03-01 12:00",
        ),
        ("{at: 2025-03-01T12:00Z, until: 1h, floor: 6}", '{schedule: "@monthly", until: 1d, ceiling: 4}', None),
    ],
)
def test_a_floor_that_meets_a_lower_ceiling(floor: str, ceiling: str, met: str | None) -> None:
    messages = [message for message in warned_at(days=floor, nights=ceiling) if "is in force together" in message]
    assert len(messages) == (met is not None)
    assert met is None or f"{met} UTC" in messages[0]
    assert all(
        message.startswith("policies.nights.ceiling: 4 is in force together with the floor 6") for message in messages
    )


def test_a_size_that_never_moves_makes_schedules_pointless_too() -> None:
    catalogue = declared(
        ("out: {when: [busy], add: 2}", 'out: {schedule: "0 9 * * *", add: 2}'),
        ("min: 2", "min: 8"),
        ("[out, in]", "[out]"),
    )
    assert any(
        problem.message.startswith("groups.web.max: 8 is min, too") for problem in lint(catalogue, resized, certain)
    )
