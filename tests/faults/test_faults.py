"""Every source, everything that can go wrong with it, whenever: what is told, and that no size is ever wrong for it.

Who answers does so honestly except while the fault is on, of a load that is known (`tests.support.faults_chain`). In
half of the groups it is never low, so that any scale-in is wrong; in the others it is truly low, and a scale-in is
right when it has been *seen* to be low for long enough, and not a tick before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from collector.outages.remedies import remedy
from collector.samples import Reply
from config.model.counters import SOURCE_WORDS, CounterKind, Per
from tests.support import (
    faults_cloudstack,
    faults_haproxy,
    faults_http,
    faults_netscaler,
    faults_opennebula,
    faults_openstack,
    faults_plugins,
    faults_prometheus,
    faults_pushed,
    faults_snmp,
)
from tests.support.faults import OF_COUNTS, OUR_CLOCKS, SECRET, Cell, Column, Fails, Fault, Harmless, Impossible, Phase
from tests.support.faults_chain import (
    BEGINS,
    DEADLINE,
    DESIRED,
    MEMBERS,
    Scene,
    Seen,
    Story,
    expected_replies,
    expected_sizes,
    last_value_for_silence,
    outage,
    run,
    scenes_of,
    stands,
    zeros_for_silence,
)

COLUMNS: Mapping[str, Column] = {
    column.name: column
    for columns in (
        faults_snmp.COLUMNS,
        faults_haproxy.COLUMNS,
        faults_netscaler.COLUMNS,
        faults_opennebula.COLUMNS,
        faults_cloudstack.COLUMNS,
        faults_openstack.COLUMNS,
        faults_prometheus.COLUMNS,
        faults_http.COLUMNS,
        faults_pushed.COLUMNS,
        faults_plugins.COLUMNS,
    )
    for column in columns
}
_SLOWEST = 2.0
"""Seconds after which a SLOW answer is there: one, or two where there is a login before it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the table."""

    column: str
    fault: Fault
    kind: CounterKind

    @property
    def cell(self) -> Cell:
        cell = COLUMNS[self.column].cell(self.fault, self.kind)
        assert cell is not None
        return cell

    def stories(self) -> Sequence[tuple[Scene, Story]]:
        """The groups that this happens to, in every phase."""
        ours = self.fault if self.fault in OUR_CLOCKS else None
        return [
            (scene, story_of(self.column, phase, ours))
            for phase in COLUMNS[self.column].phases
            for scene in scenes_of(COLUMNS[self.column], phase, ours)
            if (scene.fault, scene.kind) == (self.fault, self.kind)
        ]


CASES = [
    Case(name, fault, kind)
    for name, column in COLUMNS.items()
    for fault in Fault
    for kind in CounterKind
    if not isinstance(column.cell(fault, kind), Impossible | None)
]
each_case = pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case.column}@{case.fault.value}-{case.kind.value}".replace(" ", "-")
)
each_column = pytest.mark.parametrize(
    "column", COLUMNS.values(), ids=lambda column: f"{column.name}@".replace(" ", "-")
)


@cache
def story_of(column: str, phase: Phase, ours: Fault | None) -> Story:
    return run(COLUMNS[column], phase, ours)


def stories_of(column: Column) -> Sequence[Story]:
    return [story_of(column.name, phase, ours) for phase in column.phases for ours in (None, *OUR_CLOCKS)]


def ticks_of(scene: Scene, story: Story) -> Sequence[tuple[int, Seen]]:
    return [(tick, seen) for tick, seen in enumerate(story.seen[scene.group]) if seen is not None]


# The table itself


def test_every_source_there_is_has_a_column() -> None:
    assert {column.kind for column in COLUMNS.values()} == set(SOURCE_WORDS)


@each_column
def test_every_fault_has_an_expected_outcome(column: Column) -> None:
    assert set(Fault) == {fault for fault in Fault if column.cell(fault, CounterKind.GAUGE) is not None}
    if not isinstance(column.counts, str):
        assert set(OF_COUNTS) == set(column.counts)
    cells = [column.cell(fault, kind) for fault in Fault for kind in CounterKind]
    assert all(getattr(cell, "why", "stated") for cell in cells if cell is not None)


def test_every_phase_and_every_kind_of_failure_of_questions_is_met() -> None:
    assert {phase for column in COLUMNS.values() for phase in column.phases} == set(Phase)
    kinds = {case.cell.reply for case in CASES if isinstance(case.cell, Fails)}
    elsewhere = {Reply.UNTRUSTED, Reply.AMBIGUOUS, Reply.FUTURE, Reply.PUT_OFF}  # have tests of their own
    assert set(Reply) - kinds == {Reply.OK, *elsewhere}


# What becomes of sizes


@each_case
def test_a_size_follows_the_observed_load_and_no_member_leaves_whose_load_is_not_low(case: Case) -> None:
    stories, column = case.stories(), COLUMNS[case.column]
    sizes = {scene: [seen.desired for _, seen in ticks_of(scene, story)] for scene, story in stories}
    assert sizes == {scene: expected_sizes(column, scene, case.cell) for scene in sizes}
    assert all(min(seen) == DESIRED for scene, seen in sizes.items() if not scene.low)


@each_column
def test_a_load_that_is_low_ends_in_a_scale_in_once_it_has_been_seen_for_long_enough(column: Column) -> None:
    """So it is not by chance that no member leaves before."""
    low = [
        (case.cell, scene) for case in CASES if case.column == column.name for scene, _ in case.stories() if scene.low
    ]
    assert {expected_sizes(column, scene, cell)[-1] for cell, scene in low} == {DESIRED - 1}


# What is told


@each_case
def test_a_failure_is_called_by_its_name_with_words_and_a_remedy_and_an_answer_is_the_true_one(case: Case) -> None:
    column, wrong = COLUMNS[case.column], {}
    for scene, story in case.stories():
        ticks = dict(ticks_of(scene, story))
        for tick, seen in ticks.items():
            expected = expected_replies(column, scene, case.cell, tick)
            if seen.replies != expected:
                wrong[scene.group, tick] = seen.replies, expected, seen.details
            for place, (reply, value) in enumerate(zip(seen.replies, seen.values, strict=True)):
                true = ticks[BEGINS - 1] if _old(case.cell, place) and stands(column, scene, tick) else seen
                if reply is Reply.OK and abs(value - true.true[place]) > 0.5:  # SNMP counts whole things
                    wrong[scene.group, tick, place] = value, true.true
                if bool(seen.details[place]) != (reply is not Reply.OK) or SECRET in seen.details[place]:
                    wrong[scene.group, tick, place] = reply, seen.details[place]
                assert reply is Reply.OK or remedy(SOURCE_WORDS[column.kind], reply)
    assert wrong == {}


def _old(cell: Cell, place: int) -> bool:
    """Whether it is this member that sends nothing new."""
    return isinstance(cell, Fails) and (not cell.half or place > 0)


@each_case
def test_an_outage_is_logged_once_when_it_begins_and_once_when_it_ends(case: Case) -> None:
    for scene, story in case.stories():
        outages = sorted((tick, line["event"], line.get("member")) for tick, line in story.outages(scene.group))
        assert outages == _lines(COLUMNS[case.column], scene, case.cell), scene.group
        for _, line in story.outages(scene.group):
            assert ("remedy" in line) == (line["event"] == "unheard_began")


def _lines(column: Column, scene: Scene, cell: Cell) -> Sequence[tuple[int, str, str | None]]:
    if not isinstance(cell, Fails):
        return []
    members: Sequence[str | None] = [None] if column.per is Per.GROUP else [*MEMBERS][int(cell.half) :]
    begins, ends = outage(column, scene, cell)
    return [
        *((begins, "unheard_began", member) for member in members),
        *((ends, "unheard_ended", member) for member in members),
    ]


@each_column
def test_no_secret_is_in_any_line_of_the_log(column: Column) -> None:
    for story in stories_of(column):
        for _, line in story.lines:
            assert SECRET not in line.getMessage()
            assert SECRET not in repr(line.__dict__)


@each_column
def test_nothing_is_logged_by_accident(column: Column) -> None:
    lines = [line.getMessage() for story in stories_of(column) for _, line in story.lines if line.name != "trimtab"]
    assert lines == []


# What becomes of the others


@each_column
def test_no_poll_lasts_longer_than_its_deadline(column: Column) -> None:
    assert max(took for story in stories_of(column) for took in story.took) <= DEADLINE


@each_column
def test_a_member_that_answers_is_heard_at_once_whatever_becomes_of_others(column: Column) -> None:
    """Most groups of a poll fail in one way or another: endpoints that answer are not delayed by it."""
    for phase in column.phases:
        story = story_of(column.name, phase, None)
        for scene in scenes_of(column, phase, None):
            for tick, seen in ticks_of(scene, story):
                assert max(seen.late, default=0.0) <= (_SLOWEST if scene.fault is Fault.SLOW else 0.0), (scene, tick)


@each_column
def test_a_group_that_has_nothing_to_do_with_it_does_not_notice(column: Column) -> None:
    for phase in column.phases:
        story = story_of(column.name, phase, None)
        for scene in [scene for scene in scenes_of(column, phase, None) if scene.fault is None]:
            seen = ticks_of(scene, story)
            assert {reply for _, one in seen for reply in one.replies} == {Reply.OK}
            assert [one.desired for _, one in seen] == expected_sizes(column, scene, Harmless("nothing happens"))
            assert story.outages(scene.group) == []


# Whether all this can fail


MISTAKES = {"a zero for silence": zeros_for_silence, "the last value for silence": last_value_for_silence}


@pytest.mark.parametrize("column", ["haproxy page", "snmp gufo"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_chain_that_makes_up_what_it_did_not_hear_would_be_found_out(mistake: str, column: str) -> None:
    """In every cell where it can make a difference: a zero is no news of a low load, nor is what holds anew."""
    phases = {Phase.JUST_BEFORE_FIRING, *([Phase.START] if mistake == "a zero for silence" else [])}
    missed = []
    for phase in phases:
        story = run(COLUMNS[column], phase, None, spoil=MISTAKES[mistake]())
        for scene in scenes_of(COLUMNS[column], phase, None):
            cell = None if scene.fault is None else COLUMNS[column].cell(scene.fault, scene.kind)
            silent = isinstance(cell, Fails) and scene.fault is not Fault.OUTSIDE_RANGE
            if isinstance(cell, Fails) and silent and not cell.half and scene.kind is CounterKind.GAUGE:
                sizes = [seen.desired for _, seen in ticks_of(scene, story)]
                missed += [scene] * (sizes == expected_sizes(COLUMNS[column], scene, cell))
    assert missed == []
