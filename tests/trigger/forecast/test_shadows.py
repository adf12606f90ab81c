from __future__ import annotations

import numpy as np

from tests.support.loads import TWO_MINUTES
from trigger.forecast.shadows import (
    AFTER_GROWTH,
    AFTER_SHRINKING,
    GROWING,
    SHRINKING,
    Shadows,
    advanced,
    new_shadows,
    sized,
    wanted,
)

NEVER = np.array([-np.inf])


def run(*needs: tuple[float, float]) -> Shadows:
    """Advance fleets of which each needs, and may shrink to, the same."""
    fleets = new_shadows(1, TWO_MINUTES)
    for number, (need, low) in enumerate(needs):
        fleets = advanced(
            fleets,
            np.full((len(GROWING), 1), need),
            np.full((len(GROWING), len(SHRINKING), 1), low),
            np.array([need]),
            number,
            np.array([True]),
        )
    return fleets


def test_growth_is_at_once_and_shrinking_waits_after_either_change() -> None:
    size, need, low = np.array([10.0]), np.array([4.0]), np.array([5.0])

    assert wanted(size, np.array([12.0]), np.array([12.0]), 100, np.array([99.0]), np.array([99.0])) == 12
    assert wanted(size, need, low, 100, np.array([100.0 - AFTER_GROWTH]), NEVER) == 10
    assert wanted(size, need, low, 100, np.array([99.0 - AFTER_GROWTH]), NEVER) == 5
    assert wanted(size, need, low, 100, NEVER, np.array([100.0 - AFTER_SHRINKING])) == 10


def test_a_fleet_pays_from_the_order_and_misses_load_until_its_members_serve() -> None:
    fleets = run((4, 4), (10, 10), (10, 10), (10, 10), (10, 10), (10, 10), (10, 10))

    assert np.allclose(fleets.cost, 4 + 6 * 10, rtol=1e-3)
    assert np.allclose(fleets.short, 5 * 6, rtol=1e-3)


def test_a_fleet_pays_for_members_that_drain() -> None:
    fleets = run(*[(10, 10)] * 40, (4, 4))

    assert np.allclose(fleets.sizes, 4)
    assert np.allclose(fleets.leaving[0], 6)


def test_no_headroom_overflows() -> None:
    sizes = sized(np.array([700.0]), np.array([50.0]), GROWING[:, None])

    assert (sizes > 0).all()
    assert np.isfinite(sizes).all()
