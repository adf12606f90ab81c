from __future__ import annotations

from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.simulation import Behaviour, BootTime, CallFaults, ListingFaults
from config.units import Instant
from handler.orchestrators.simulated.random_events import Fault, boot_time, draw, fault_of, new_machine, waiting_time
from handler.planning.world import ServerState

BORN = Instant(1000.0)
chances = st.floats(0.0, 1.0, exclude_max=True)


def test_chance_is_spread_evenly() -> None:
    drawn = sorted(draw(3, "boot", number) for number in range(2000))

    assert max(abs(value - rank / 2000) for rank, value in enumerate(drawn)) < 0.03


@given(seed=st.integers(), question=st.lists(st.text() | st.integers(), max_size=3))
def test_chance_is_a_number_from_0_up_to_1_and_always_the_same(seed: int, question: list[object]) -> None:
    assert 0 <= draw(seed, *question) == draw(seed, *question) < 1


def test_questions_that_read_alike_are_told_apart() -> None:
    assert draw(1, "a", "bc") != draw(1, "ab", "c")


def test_boot_times_have_the_declared_median_and_p95() -> None:
    boot = BootTime(median=40.0, p95=120.0)
    times = [boot_time(boot, draw(1, number)) for number in range(4000)]

    cuts = quantiles(times, n=20)
    assert cuts[9] == pytest.approx(40, rel=0.05)
    assert cuts[18] == pytest.approx(120, rel=0.1)


@given(chance=chances, median=st.floats(0.1, 1e4), ratio=st.floats(1.0, 50.0))
def test_no_boot_takes_for_ever(chance: float, median: float, ratio: float) -> None:
    assert 0 <= boot_time(BootTime(median=median, p95=median * ratio), chance) <= 10 * median


def test_what_happens_at_a_constant_rate_takes_its_mean_on_average() -> None:
    times = [waiting_time(60.0, draw(1, number)) for number in range(4000)]

    assert sum(times) / len(times) == pytest.approx(60, rel=0.05)


@pytest.mark.parametrize(
    ("faults", "chance", "expected"),
    [
        (CallFaults(), 0.0, None),
        (CallFaults(error=0.1), 0.05, Fault.ERROR),
        (CallFaults(error=0.1), 0.1, None),
        (CallFaults(error=0.1, false_error=0.1), 0.1, Fault.FALSE_ERROR),
        (CallFaults(error=0.1, timeout=0.1), 0.15, Fault.TIMEOUT),
        (ListingFaults(partial=0.5, truncated=0.5), 0.4, Fault.PARTIAL),
        (ListingFaults(partial=0.5, truncated=0.5), 0.999, Fault.TRUNCATED),
    ],
)
def test_at_most_one_thing_goes_wrong_with_a_call(
    faults: CallFaults | ListingFaults, chance: float, expected: Fault | None
) -> None:
    assert fault_of(faults, chance) is expected


def test_a_stillborn_server_fails_before_it_has_built() -> None:
    machine = new_machine(Behaviour(stillborn=1.0), "web-k3f9ab-1", 1, BORN)

    (begins, building), (fails, state) = machine.turns
    assert (building, state) == (ServerState.BUILDING, ServerState.ERROR)
    assert begins <= fails <= begins + 30.0


def test_a_server_may_fail_and_vanish_after_it_has_built() -> None:
    machine = new_machine(Behaviour(error_after=60.0, vanish_after=60.0), "web-k3f9ab-1", 1, BORN)

    assert [state for _, state in machine.turns] == [ServerState.BUILDING, ServerState.RUNNING, ServerState.ERROR]
    assert machine.gone_at is not None
    assert machine.gone_at > BORN + 30.0
