from __future__ import annotations

import pytest

from handler.pauses import pause_of, told_of
from trigger.requests import Pause


@pytest.mark.parametrize("pause", [pause for pause in Pause if pause is not Pause.NO])
def test_what_history_tells_of_a_pause_is_read_again(pause: Pause) -> None:
    assert pause_of(told_of(pause)) is pause


def test_a_message_of_something_else_is_a_pause_of_everything() -> None:
    assert pause_of("maintenance") is Pause.ALL
