"""Figures of benchmarks: medians, comparisons round by round, and the page that is made from them."""

from __future__ import annotations

import pytest

from benchmarks.report.figures import Figure, NotMeasured, at_least, at_most, times
from benchmarks.report.page import page
from benchmarks.report.results import Benched, Machine, Results, read, written
from benchmarks.report.text import line, number

MACHINE = Machine(
    processor="Slow One", cores=2, memory=4096, system="Linux x86_64", python="3.11.2", programs={"prometheus": "2.42"}
)


def a_figure(*samples: float, unit: str = "CPU-s", by: str = "Trimtab") -> Figure:
    return Figure(job="a tick", unit=unit, samples=samples, by=by)


def results(*figures: Figure | NotMeasured) -> Results:
    benched = Benched(
        at="2026-01-01T12:00:00+00:00", seconds=9.0, cpu=8.0, memory=64.0, load=(0.5, 1.0), figures=figures
    )
    return Results(machine=MACHINE, benches={"decide": benched})


def test_two_programs_are_compared_round_by_round() -> None:
    theirs, ours = a_figure(10.0, 40.0, 30.0, by="prometheus"), a_figure(1.0, 2.0, 3.0)
    assert times("a tick", theirs, ours).samples == (10.0, 20.0, 10.0)


def test_figures_of_two_units_are_not_compared() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        times("a tick", a_figure(1.0, unit="s"), a_figure(1.0))


@pytest.mark.parametrize(
    ("goal", "reached"),
    [(at_most(2.0), True), (at_most(1.9), False), (at_least(2.0), True), (at_least(2.1), False)],
)
def test_a_goal_is_judged_by_the_median(goal: object, reached: bool) -> None:
    figure = Figure(job="a tick", unit="CPU-s", samples=(1.0, 2.0, 9.0), goal=goal)  # type: ignore[arg-type]
    assert ("reached" if reached else "MISSED") in line(figure)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.003123, "0.00312"), (1.25, "1.25"), (31.42, "31.4"), (12345.6, "12,346")]
)
def test_a_number_keeps_three_places_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_results_are_read_as_they_were_written() -> None:
    figure = Figure(job="a tick", unit="CPU-s", samples=(1.0, 2.0), memory=(60.0, 61.0), goal=at_most(2.0))
    before = results(figure, NotMeasured(job="rules", because="apt-get install prometheus", by="prometheus"))
    assert read(written(before)) == before


def test_the_page_says_which_goals_are_missed_and_what_was_not_measured() -> None:
    figure = Figure(job="a tick", unit="CPU-s", samples=(1.0, 3.0, 2.0), memory=(60.0,), goal=at_most(1.5))
    absent = NotMeasured(job="rules", because="apt-get install prometheus", by="prometheus")
    text = page(results(figure, absent), {"decide": "What decisions cost."})
    assert "| [decide](#decide): a tick | 2.00 CPU-s | ≤ 1.50 CPU-s | **missed** |" in text
    assert "| a tick | Trimtab | 2.00 CPU-s | ±50 % | 60 MiB | goal ≤ 1.5: MISSED |" in text
    assert "| rules | prometheus | not measured: apt-get install prometheus | | | |" in text
    assert "Slow One, 2 cores" in text
