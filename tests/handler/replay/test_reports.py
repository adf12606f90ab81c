from __future__ import annotations

import subprocess
import sys
from typing import Any

from config.units import GroupId, Instant, PolicyId
from handler.replay.outcomes import ReplayLine, TickOutcome
from handler.replay.recorded import Run
from handler.replay.reports import comparison, decisions
from handler.replay.tallies import GroupTally
from trigger.reasons import Reason


def refused(at: float, group: str = "web", **other: Any) -> ReplayLine:
    fields: dict[str, Any] = {
        "policy": PolicyId("in"),
        "outcome": TickOutcome.REFUSED,
        "reason": Reason.AT_MIN,
        "desired_from": 2,
        "desired_to": 2,
    }
    return ReplayLine(at=Instant(at), group=GroupId(group), **{**fields, **other})


def a_run(group: str, **figures: Any) -> Run:
    known = {"actions": 1, "reversals": 0, "size_hours": 2.5, "busy_minutes": 0.0, "short_minutes": None, "hours": 1.0}
    return Run(group=GroupId(group), lines=(), ticks=1, tally=GroupTally(**{**known, **figures}))


def folded(*lines: ReplayLine) -> list[tuple[float, str, str, int]]:
    table = decisions(lines)
    return list(table[["at", "group", "size", "ticks"]].itertuples(index=False, name=None))


def test_equal_decisions_in_a_row_are_one_row() -> None:
    assert folded(refused(0), refused(30), refused(60)) == [(0, "web", "2", 3)]


def test_another_word_begins_anew_and_so_does_the_first_after_it() -> None:
    other = refused(30, policy=None)

    assert folded(refused(0), other, refused(60)) == [(0, "web", "2", 1), (30, "web", "2", 1), (60, "web", "2", 1)]


def test_every_change_of_size_has_a_row_of_its_own() -> None:
    grown = {"desired_from": 2, "desired_to": 3}

    assert folded(refused(0, **grown), refused(30, **grown)) == [(0, "web", "2 → 3", 1), (30, "web", "2 → 3", 1)]


def test_decisions_of_other_groups_in_between_make_no_difference() -> None:
    lines = refused(0, "b"), refused(0, "a"), refused(30, "a"), refused(30, "b")

    assert folded(*lines) == [(0, "a", "2", 2), (0, "b", "2", 2)]


def test_a_missing_size_reads_none() -> None:
    first = refused(0, policy=None, desired_from=None)

    assert decisions([first])[["policy", "size"]].to_numpy().tolist() == [["–", "– → 2"]]


def test_no_decisions_give_an_empty_table() -> None:
    assert folded() == []


def test_figures_are_compared_of_groups_that_are_in_both_in_their_order() -> None:
    table = comparison([a_run("b"), a_run("a", actions=4)], [a_run("a"), a_run("b"), a_run("c")])

    changes = table[table["figure"] == "changes of size"]
    assert changes.drop(columns="figure").to_numpy().tolist() == [["a", 4, 1], ["b", 1, 1]]


def test_a_figure_that_one_of_both_does_not_know_is_left_out() -> None:
    table = comparison(
        [a_run("a", short_minutes=3.0), a_run("b", short_minutes=3.0)], [a_run("a"), a_run("b", short_minutes=1.0)]
    )

    assert table[table["figure"] == "minutes over capacity"]["group"].tolist() == ["b"]


def test_replays_of_no_common_group_compare_to_nothing() -> None:
    assert comparison([], []).empty
    assert comparison([a_run("a")], [a_run("b")]).empty


def test_neither_the_daemon_nor_the_help_loads_pandas() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from handler.command import app;"
        "import handler.daemon.wiring, handler.replay.reading, handler.replay.running;"
        "[CliRunner().invoke(app, words) for words in (['--help'], ['replay', '--help'])];"
        "sys.exit('pandas' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
