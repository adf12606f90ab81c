from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from collector.samples import Reply, Scrape
from config.model.counters import CounterKind
from handler.operations.probing import Probed, probed, rises
from tests.support.collector import a_catalogue, a_moment, a_scrape, an_object

OK = Reply.OK
GAUGE = replace(an_object("1.3.1", id="gauge"), unit="s", scale=0.01)
RISING = replace(an_object("1.3.2", id="rising", kind=CounterKind.RISING), unit="bytes/s", bits=32)
CATALOGUE = a_catalogue([GAUGE, RISING])


def read(counter: str, value: float, *, at: float, reply: Reply = OK, detail: str = "") -> Scrape:
    key = ("web", "a", counter)
    scrape = a_scrape({key: reply}, at=a_moment(at), details={key: detail} if detail else None)
    return replace(scrape, value=np.array([value]), replied_at=np.array([at + 0.002]))


def the(found: tuple[Probed, ...]) -> Probed:
    (only,) = found
    return only


def test_a_gauge_is_shown_as_read_and_in_its_unit_with_age_and_round_trip() -> None:
    found = the(probed(CATALOGUE, [read("gauge", 250.0, at=10.0)], ended=10.5))

    assert (found.reading, found.value, found.unit) == (250.0, 2.5, "s")
    assert found.took == pytest.approx(0.002)
    assert found.age == pytest.approx(0.498)
    assert found.remedy is None


def test_a_rising_counter_has_no_value_after_one_reading() -> None:
    first = read("rising", 1000.0, at=10.0)

    assert rises(CATALOGUE, first)
    assert the(probed(CATALOGUE, [first], ended=10.5)).value is None


def test_a_rising_counter_is_shown_as_a_rate_after_two_readings() -> None:
    found = the(probed(CATALOGUE, [read("rising", 1000.0, at=10.0), read("rising", 3000.0, at=11.0)], ended=11.5))

    assert (found.reading, found.value) == (3000.0, pytest.approx(2000.0))


def test_a_failure_has_a_message_and_a_remedy_and_no_number() -> None:
    failed = read("gauge", 0.0, at=10.0, reply=Reply.NO_SUCH_COUNTER, detail="noSuchInstance")
    found = the(probed(CATALOGUE, [failed], ended=10.5))

    assert (found.reading, found.value, found.age, found.took) == (None, None, None, None)
    assert found.detail == "noSuchInstance"
    assert found.remedy is not None


def test_a_value_outside_its_range_is_shown_as_read_and_marked_as_discarded() -> None:
    percent = replace(GAUGE, unit="percent", scale=1.0, range=(0.0, 100.0))
    found = the(probed(a_catalogue([percent]), [read("gauge", -1.0, at=10.0)], ended=10.5))

    assert (found.reading, found.value, found.reply) == (-1.0, None, Reply.OUTSIDE_RANGE)
    assert found.detail == "-1 is outside range 0..100 percent"
    assert found.remedy is not None


def test_a_rate_outside_its_range_is_marked_as_discarded() -> None:
    slow = replace(RISING, range=(0.0, 1000.0))
    readings = [read("rising", 1000.0, at=10.0), read("rising", 3000.0, at=11.0)]
    found = the(probed(a_catalogue([slow]), readings, ended=11.5))

    assert (found.reading, found.value, found.reply) == (3000.0, None, Reply.OUTSIDE_RANGE)
    assert found.detail == "2000 is outside range 0..1000 bytes/s"
