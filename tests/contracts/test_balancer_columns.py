"""What every balancer promises when something happens to it that no request tells, asked of each that it can befall."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import Permanent, Transient
from handler.world import SeatState
from tests.support.balancer_columns import Behaviour, Column, asked
from tests.support.balancers import Stage, a_name, state_of

ADDRESS, PORT = "127.0.0.1", 9


def of(behaviour: Behaviour) -> pytest.MarkDecorator:
    """Ask every driver that it can befall."""
    return pytest.mark.parametrize("column", asked(behaviour))


@pytest.fixture
def stage(column: Column, tmp_path: Path) -> Iterator[Stage]:
    with column.stage(tmp_path) as stage:
        yield stage


@of(Behaviour.RENEWED)
def test_a_session_that_ends_is_renewed_before_any_call(column: Column, stage: Stage) -> None:
    name, end = a_name(), column.acts[Behaviour.RENEWED]

    end(stage)
    stage.balancer.join(name, ADDRESS, PORT)
    end(stage)
    stage.balancer.enable(name)
    end(stage)
    assert state_of(stage.balancer, name) is SeatState.SERVING
    end(stage)
    stage.balancer.drain(name)
    end(stage)
    stage.balancer.leave(name)

    assert state_of(stage.balancer, name) is None


@of(Behaviour.UNSEATED)
def test_a_seat_that_somebody_took_away_is_gone_and_can_be_taken_again(column: Column, stage: Stage) -> None:
    name, take_away = a_name(), column.acts[Behaviour.UNSEATED]
    for _ in range(2):
        stage.balancer.join(name, ADDRESS, PORT)
        stage.balancer.enable(name)
        take_away(stage, name)

        assert state_of(stage.balancer, name) is None
        with pytest.raises(Transient, match="must join first"):
            stage.balancer.enable(name)
        stage.balancer.drain(name)
        stage.balancer.leave(name)


@of(Behaviour.PAGED)
def test_every_page_of_seats_is_read(column: Column, stage: Stage) -> None:
    column.acts[Behaviour.PAGED](stage)

    assert len(stage.balancer.seats()) == 250


@of(Behaviour.AMBIGUOUS)
def test_a_name_that_means_two_balancers_is_permanent(column: Column, stage: Stage) -> None:
    assert stage.balancer.seats() == {}
    column.acts[Behaviour.AMBIGUOUS](stage)
    driver = stage.driver_at(stage.address)

    for call in (driver.seats, lambda: driver.join(a_name(), ADDRESS, PORT)):
        with pytest.raises(Permanent, match="write the id"):
            call()


@of(Behaviour.UNICODE)
def test_its_name_need_not_be_ascii(column: Column, stage: Stage) -> None:
    name, balancer = a_name(), column.acts[Behaviour.UNICODE](stage)

    balancer.join(name, ADDRESS, PORT)
    balancer.enable(name)

    assert state_of(balancer, name) is SeatState.SERVING
