"""What every balancer promises when something happens to it that no request tells, asked of each that it can befall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.errors import DriverError, NotFound, Permanent, Transient
from handler.planning.world import RegistrationState
from handler.ports.balancer import Balancer
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
    assert state_of(stage.balancer, name) is RegistrationState.SERVING
    end(stage)
    stage.balancer.drain(name)
    end(stage)
    stage.balancer.leave(name)

    assert state_of(stage.balancer, name) is None


@of(Behaviour.DEREGISTERED)
def test_a_registration_that_another_client_removed_is_gone_and_can_be_taken_again(
    column: Column, stage: Stage
) -> None:
    name, take_away = a_name(), column.acts[Behaviour.DEREGISTERED]
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
def test_every_page_of_registrations_is_read(column: Column, stage: Stage) -> None:
    column.acts[Behaviour.PAGED](stage)

    assert len(stage.balancer.registrations()) == 250


@of(Behaviour.AMBIGUOUS)
def test_a_name_that_means_two_balancers_is_permanent(column: Column, stage: Stage) -> None:
    assert stage.balancer.registrations() == {}
    column.acts[Behaviour.AMBIGUOUS](stage)
    driver = stage.driver_at(stage.address)

    for call in (driver.registrations, lambda: driver.join(a_name(), ADDRESS, PORT)):
        with pytest.raises(Permanent, match="write the id"):
            call()


@of(Behaviour.UNICODE)
def test_its_name_need_not_be_ascii(column: Column, stage: Stage) -> None:
    name, balancer = a_name(), column.acts[Behaviour.UNICODE](stage)

    balancer.join(name, ADDRESS, PORT)
    balancer.enable(name)

    assert state_of(balancer, name) is RegistrationState.SERVING


def seen(stage: Stage) -> list[Balancer]:
    """The driver that has looked before, and one of a process that has just started."""
    return [stage.balancer, stage.driver_at(stage.address)]


@of(Behaviour.MISSING)
def test_an_object_that_is_missing_beside_its_siblings_is_not_found_until_it_is_back(
    column: Column, stage: Stage
) -> None:
    stage.balancer.join(a_name(), ADDRESS, PORT)
    put_back = column.acts[Behaviour.MISSING](stage)

    for driver in seen(stage) * 2:
        with pytest.raises(NotFound):
            driver.registrations()
    put_back()
    for driver in seen(stage):
        driver.registrations()


def proves_nothing(stage: Stage, put_back: Callable[[], object]) -> None:
    """No driver says that the object is not found; once it is back it can be read."""
    for driver in seen(stage) * 2:
        with pytest.raises(DriverError) as failed:
            driver.registrations()
        assert not isinstance(failed.value, NotFound)
    put_back()
    for driver in seen(stage):
        driver.registrations()


@of(Behaviour.ALONE)
def test_an_object_that_is_missing_beside_no_other_cannot_be_read(column: Column, stage: Stage) -> None:
    stage.balancer.join(a_name(), ADDRESS, PORT)
    proves_nothing(stage, column.acts[Behaviour.ALONE](stage))


@of(Behaviour.DENIED)
def test_an_object_that_is_missing_from_a_list_that_is_refused_cannot_be_read(column: Column, stage: Stage) -> None:
    stage.balancer.join(a_name(), ADDRESS, PORT)
    proves_nothing(stage, column.acts[Behaviour.DENIED](stage))


@of(Behaviour.WEIGHTLESS)
def test_a_member_of_weight_0_drains_and_gets_its_weight_back_when_it_is_enabled(column: Column, stage: Stage) -> None:
    name = a_name()
    stage.balancer.join(name, ADDRESS, PORT)
    stage.balancer.enable(name)
    column.acts[Behaviour.WEIGHTLESS](stage, name)

    assert state_of(stage.balancer, name) is RegistrationState.DRAINING
    stage.balancer.enable(name)
    assert state_of(stage.balancer, name) is RegistrationState.SERVING
