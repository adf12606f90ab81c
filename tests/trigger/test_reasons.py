from __future__ import annotations

from trigger.reasons import Reason


def test_the_list_of_reasons_is_closed_and_short() -> None:
    assert len(Reason) <= 43  # a person must be able to learn them: merge two before you add one
