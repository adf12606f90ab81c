"""What a setting comes to over a recording, and whether it comes to that on the next day."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.load import parse
from handler.replay.load import replay_load
from handler.tuning.goals import swept
from handler.tuning.outcomes import Goal, Outcome
from handler.tuning.parameters import Candidate, today_of
from handler.tuning.results import edited, table, tuning_of
from handler.tuning.searching import by_search, by_sweep
from handler.tuning.trials import TrialGround, outcome_of, runs_of
from handler.tuning.trying import trying
from tests.support.replay import WEB, flat, written
from tests.support.tuning import SHARED, a_load, file_of, ground, recorded

ABOVE, BELOW = "conditions.busy.above", "conditions.idle.below"


def untold(done: int, of: int) -> None:
    """Shows nothing."""


def outcomes(there: TrialGround, candidates: list[Candidate]) -> list[Outcome]:
    return [outcome_of(there, run) for run in runs_of(there, candidates)]


def test_a_setting_comes_to_what_the_file_with_that_setting_comes_to(tmp_path: Path) -> None:
    series, changed = recorded(tmp_path, a_load(2)), SHARED.replace("above: 80", "above: 60")
    there = ground(series, only=[ABOVE])

    (tried,), (declared,) = (
        outcomes(there, [(60.0,)]),
        outcomes(ground(series, changed, [ABOVE], limit=80.0), [(60.0,)]),
    )

    assert tried == declared
    assert tried != outcomes(there, [(80.0,)])[0]


def test_settings_do_not_disturb_those_beside_them(tmp_path: Path) -> None:
    there = ground(recorded(tmp_path, a_load(2)), only=[ABOVE])
    candidates: list[Candidate] = [(55.0,), (80.0,), (95.0,)]

    assert outcomes(there, candidates) == [outcomes(there, [each])[0] for each in candidates]


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    there = ground(recorded(tmp_path, a_load(1)), only=[ABOVE, BELOW])
    found = []
    for processes in (1, 2):
        with trying({WEB: there}, processes) as tried:
            found.append(by_search({WEB: there.tuned.parameters}, 20, tried, untold)[WEB])

    assert list(found[0].items()) == list(found[1].items())
    assert len(found[0]) > 10


def test_a_setting_that_the_file_may_not_have_is_left_out(tmp_path: Path) -> None:
    window = "conditions.busy.window"
    text = SHARED.replace("above: 80", "window: 60s, above: 80")
    there = ground(recorded(tmp_path, a_load(1), text), text, [window])
    parameters = swept(there.tuned.parameters, ["window=30s..60s:15s"])

    with trying({WEB: there}, 1) as tried:
        found = by_sweep({WEB: parameters}, tried, untold)[WEB]

    assert list(found) == [(60.0,), (30.0,)], "45 s is no whole number of intervals"


def test_minutes_over_are_those_of_one_limit_whatever_the_threshold(tmp_path: Path) -> None:
    there = ground(written(tmp_path / "s.csv", flat(90, 40)), only=[ABOVE])

    low, high = outcomes(there, [(80.0,), (95.0,)])

    # 2 at 90 %: over the limit of 80 % until a third one serves, two minutes later, or all the time.
    assert (low.over, low.changes) == (2.0, 1)
    assert (high.over, high.changes) == (20.0, 0)
    assert high.hours == pytest.approx(2 * 20 / 60)


def test_members_are_paid_until_they_have_drained(tmp_path: Path) -> None:
    there = ground(written(tmp_path / "s.csv", flat(5, 10, members=4)), only=[BELOW])

    (tried,) = outcomes(there, [(20.0,)])

    # One of four leaves after a minute, and drains for another.
    assert tried.changes == 1
    assert tried.hours == pytest.approx((4 * 2 + 3 * 8 + 2) * 30 / 3600)


def test_what_is_promised_is_kept_on_the_next_day(tmp_path: Path) -> None:
    """The day after has the same shape and other noise; the proposed file is simulated on it, without any recording."""
    there = ground(recorded(tmp_path, a_load(5, seed=1)))
    with trying({WEB: there}, 1) as tried:
        found = by_search({WEB: there.tuned.parameters}, 40, tried, untold)[WEB]
    tuning = tuning_of(
        WEB, there.tuned.parameters, found, limit="", span=there.load.span, goal=Goal(over=60.0), against=None
    )
    lean = tuning.proposals[0]
    after = edited(file_of(), tuning, lean.candidate)

    run = replay_load(parse(after, "web.yaml"), WEB, a_load(5, seed=2))
    assert run.path is not None
    hours = float(run.path.paid(2).sum()) * 30.0 / 3600.0

    assert lean.outcome.hours < found[today_of(there.tuned.parameters)].hours
    assert hours == pytest.approx(lean.outcome.hours, rel=0.05)


def test_the_table_has_every_setting_with_its_choice(tmp_path: Path) -> None:
    there = ground(recorded(tmp_path, a_load(1)), only=[ABOVE])
    parameters = swept(there.tuned.parameters, ["70..90:10"])
    with trying({WEB: there}, 1) as tried:
        found = by_sweep({WEB: parameters}, tried, untold)[WEB]
    tuning = tuning_of(WEB, parameters, found, limit="", span=there.load.span, goal=None, against=None)

    settings = table([tuning])

    assert list(settings["member_hours"]) == sorted(settings["member_hours"])
    assert sorted(settings[ABOVE]) == ["70", "80", "90"]
    assert settings[settings[ABOVE] == "80"]["choice"].item().startswith("today")
