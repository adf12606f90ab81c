from __future__ import annotations

import pytest

from handler.ports.stored import direction_of, fleet_pause_message, fleet_pause_of, pause_message, pause_of
from trigger.requests import Pause
from trigger.verdicts import Direction


@pytest.mark.parametrize("pause", [pause for pause in Pause if pause is not Pause.NO])
def test_what_history_tells_of_a_pause_is_read_again(pause: Pause) -> None:
    assert pause_of(pause_message(pause)) is pause


def test_a_message_of_something_else_is_a_pause_of_everything() -> None:
    assert pause_of("maintenance") is Pause.ALL


@pytest.mark.parametrize("because", ["", "storage moves; later more", "decisions only"])
@pytest.mark.parametrize("pause", [pause for pause in Pause if pause is not Pause.NO])
def test_history_of_the_fleet_pause_is_read_again(pause: Pause, because: str) -> None:
    assert fleet_pause_of(fleet_pause_message(pause, because)) == (pause, because)


@pytest.mark.parametrize("direction", [*Direction, None])
def test_which_direction_goes_on_is_read_again(direction: Direction | None) -> None:
    assert direction_of("" if direction is None else pause_message(Pause(direction.value))) is direction
