from __future__ import annotations

import pytest

from config.errors import DeclarationError
from tests.support.config import declared


@pytest.mark.parametrize("window", ["30s", "5m"], ids=["one-interval", "many"])
def test_a_stabilisation_window_holds_at_least_two_ticks(window: str) -> None:
    assert declared(("max: 8", f"max: 8, stabilisation: {window}")).groups


def test_a_stabilisation_window_shorter_than_the_interval_is_told_what_fits() -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(("max: 8", "max: 8, interval: 1m, stabilisation: 59s"))
    (problem,) = caught.value.problems
    assert problem.message == (
        "groups.web.stabilisation: 59s is shorter than the interval, 1m: write at least that, or leave it out"
    )
