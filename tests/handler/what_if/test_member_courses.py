"""What members showed by themselves over time, read of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Refused
from config.load import parse
from config.model.counters import Counter
from config.units import CounterId, Instant, MemberName
from handler.replay.running import no_progress
from handler.what_if.member_courses import member_courses
from handler.what_if.member_question import SHOWN, MemberCourses, MembersQuestion
from tests.support.recording import NINE, WEB, Recorded, a_layout, a_scrape, at

_MODEL = """\
counters:
  cpu: {push: CPU, unit: percent, range: [0, 100]}
  sent: {snmp: IF-MIB::ifHCInOctets.2, kind: counter, unit: bytes/s}
conditions: {busy: {counter: cpu, above: 80}, full: {counter: sent, above: 80}}
policies: {out: {when: [busy, full], add: 1}}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [serve]}}
groups: {web: {profile: web, min: 1, max: 9, interval: 30s, policies: [out]}}
"""
_COUNTERS = parse(_MODEL, "web.yaml").counters
STEP = 30.0
Values = Sequence[float | None]


def counter(name: str) -> Counter:
    return _COUNTERS[CounterId(name)]


def recorded(folder: Path, ticks: Sequence[Values], *, of: str = "cpu", counted: Sequence[bool] | None = None) -> Path:
    """Ticks of members m-1, m-2 and so on, one value each; ``None``: no answer."""
    layout = a_layout(*(("web", of, f"m-{number + 1}") for number in range(len(ticks[0]))), counted=counted)
    scrapes = [a_scrape(at(STEP * number), layout, values) for number, values in enumerate(ticks)]
    Recorded(folder).write(*(((WEB,), scrape) for scrape in scrapes))
    return folder


def a_question(folder: Path, *, ticks: int, of: str = "cpu") -> MembersQuestion:
    end = Instant(NINE + STEP * ticks)
    return MembersQuestion(
        recording=folder, group=WEB, counter=counter(of), interval=STEP, since=Instant(NINE), until=end
    )


def answered(folder: Path, ticks: Sequence[Values], *, of: str = "cpu") -> MemberCourses:
    return member_courses(a_question(recorded(folder, ticks, of=of), ticks=len(ticks), of=of), no_progress)


def test_the_member_that_was_hot_comes_first_with_the_time_and_that_it_was_alone(tmp_path: Path) -> None:
    found = answered(tmp_path, [(20, 30, 25), (20, 95, 25), (20, 30, 25)])

    assert [each.member for each in found.members] == ["m-2", "m-1", "m-3"]
    hot = found.members[0]
    assert hot.high == (30.0, 95.0, 30.0)
    assert (hot.greatest, hot.greatest_at) == (95.0, NINE + STEP)
    assert hot.farthest is not None
    assert (hot.farthest.at, hot.farthest.value, hot.farthest.median) == (NINE + STEP, 95.0, 25.0)
    assert hot.farthest.beside == 0
    assert found.median == (25.0, 25.0, 25.0)
    assert found.average[1] == pytest.approx((20 + 95 + 25) / 3)
    assert (found.low, found.high) == ((20.0,) * 3, (30.0, 95.0, 30.0))
    assert found.exact


def test_a_member_that_was_hot_beside_another_was_not_alone(tmp_path: Path) -> None:
    found = answered(tmp_path, [(20, 20, 20, 90, 95)])

    assert [(each.member, each.farthest and each.farthest.beside) for each in found.members[:2]] == [
        ("m-5", 1),
        ("m-4", 1),
    ]


def test_no_answer_is_a_gap_of_that_member_and_never_zero(tmp_path: Path) -> None:
    found = answered(tmp_path, [(20, 30), (None, 30), (120, 30)])  # outside its range: not heard

    (gappy,) = [each for each in found.members if each.member == "m-1"]
    assert gappy.low == gappy.high == (20.0, None, None)
    assert found.median == (25.0, 30.0, 30.0)


def test_a_rising_counter_is_shown_as_its_rate_and_not_over_a_start_of_the_daemon(tmp_path: Path) -> None:
    layout = a_layout(("web", "sent", "m-1"))
    first = [a_scrape(at(STEP * number), layout, [300.0 * number]) for number in range(3)]
    restarted = [
        a_scrape(replace(at(STEP * number), steady=at(STEP * (number - 3)).steady), layout, [300.0 * number])
        for number in (3, 4)
    ]
    Recorded(tmp_path).write(*(((WEB,), scrape) for scrape in (*first, *restarted)))

    found = member_courses(a_question(tmp_path, ticks=5, of="sent"), no_progress)

    (course,) = found.members
    assert course.high == (None, 10.0, 10.0, None, 10.0)


def test_a_member_that_warms_up_is_drawn_and_does_not_count(tmp_path: Path) -> None:
    folder = recorded(tmp_path, [(20, 30, 99)] * 2, counted=[True, True, False])

    found = member_courses(a_question(folder, ticks=2), no_progress)

    assert found.median == (25.0, 25.0)
    assert found.members[-1].member == "m-3"
    assert found.members[-1].high == (99.0, 99.0)
    assert found.members[-1].farthest is None


def test_the_farthest_members_are_shown_and_how_many_there_were(tmp_path: Path) -> None:
    found = answered(tmp_path, [[50.0 + number for number in range(20)]])

    assert len(found.members) == SHOWN
    assert found.of == 20
    assert {each.member for each in found.members[:2]} == {"m-1", "m-20"}
    assert (found.low, found.high) == ((50.0,), (69.0,))


def test_members_are_asked_for_by_name(tmp_path: Path) -> None:
    folder = recorded(tmp_path, [(20, 30, 90)])

    found = member_courses(replace(a_question(folder, ticks=1), members=(MemberName("m-1"),)), no_progress)

    assert [each.member for each in found.members] == ["m-1"]
    assert found.median == (30.0,)


def test_a_long_time_keeps_its_peaks(tmp_path: Path) -> None:
    ticks = [(20.0, 25.0, 97.0 if number == 1111 else 30.0) for number in range(1200)]

    found = answered(tmp_path, ticks)

    assert not found.exact
    assert len(found.at) == 400
    assert max(value or 0 for value in found.members[0].high) == 97.0
    assert found.members[0].greatest_at == NINE + STEP * 1111


def test_a_time_without_a_value_is_refused_with_the_counter_that_it_lacks(tmp_path: Path) -> None:
    folder = recorded(tmp_path, [(20, 30)], of="sent")

    with pytest.raises(Refused, match=r"^no value of cpu of web's members was recorded in that time$"):
        member_courses(a_question(folder, ticks=1), no_progress)
