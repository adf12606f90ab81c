"""Ticks at which no policy asks for anything are passed over, with the result that judging each of them has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from aggregator.aggregate import Aggregator
from aggregator.batch_frames import Reel
from benchmarks.replay import INTERVAL, MEMBERS, MODEL
from collector.samples import Reply
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant
from handler.replay.events import Course, ReplayEvent
from handler.replay.recorded import Follower, Run, replay_recorded
from handler.replay.samples import Samples, Words, nothing
from handler.replay.scrapes import RecordedCohort, alike, bundles_of, cohort_of, ticks_by_group
from trigger.policies.evaluate import NOTHING_FORESEEN
from trigger.reasons import Reason

GROUPS, TICKS, SINCE = 3, 400, 1_767_225_600.0


class EveryTick(Follower):
    """Judges every tick, one by one."""

    def follow(self, first: int, reel: Reel) -> None:
        for tick, at in enumerate(reel.at):
            if self.parted is None:
                self.catch_up(first + tick, at)
                fleet = self._in_turn(first + tick, at.wall)
                self.judge(first + tick, fleet, reel.frame(self.group.id, tick), NOTHING_FORESEEN)


def a_cohort(catalogue: Catalogue, seed: int, *, missed: float = 0.0) -> RecordedCohort:
    """Load that wanders over both thresholds, with an answer in fifty missing, and a share of the polls missed."""
    draw, rows = np.random.default_rng(seed), TICKS * GROUPS * MEMBERS
    number = np.arange(rows)
    tick = number // (GROUPS * MEMBERS)
    level = 50 + 45 * np.sin(tick / draw.uniform(20, 90))
    samples = Samples(
        group=Words(
            codes=(number // MEMBERS % GROUPS).astype(np.int32), words=tuple(f"web-{each}" for each in range(GROUPS))
        ),
        member=Words(codes=(number % MEMBERS).astype(np.int32), words=tuple(f"m{each}" for each in range(MEMBERS))),
        counter=Words(codes=np.zeros(rows, dtype=np.int32), words=("cpu",)),
        at=SINCE + tick * INTERVAL,
        value=np.clip(level + draw.uniform(-15, 15, rows), 0, 100),
        reply=np.where(draw.uniform(size=rows) < 0.02, Reply.TIMEOUT, Reply.OK).astype(np.uint8),
        counted=np.ones(rows, dtype=np.bool_),
        steady=nothing(rows),
        replied_at=nothing(rows),
        uptime=nothing(rows),
    ).take(np.flatnonzero(draw.uniform(size=TICKS)[tick] >= missed))
    ((interval, parts),) = alike(catalogue, ticks_by_group(catalogue, samples), 1)
    return cohort_of(interval, parts)


def judged_one_by_one(
    catalogue: Catalogue, cohort: RecordedCohort, courses: Mapping[GroupId, Course]
) -> tuple[Run, ...]:
    first_at = cohort.first_at
    followers = [EveryTick(catalogue, group, cohort.sizes.get(group), courses, first_at) for group in cohort.groups]
    aggregator, number = Aggregator(catalogue, cohort.groups), 0
    for polls in bundles_of(cohort):
        for reel in aggregator.take_all(poll.scrape for poll in polls):
            for follower in followers:
                follower.follow(number, reel)
            number += len(reel)
    return tuple(follower.run() for follower in followers)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policies", ["[out, jump, in]", "[out]", "[in, out]"])
def test_a_replay_has_the_lines_and_totals_of_one_that_judges_every_tick(policies: str, seed: int) -> None:
    text = MODEL.replace("[out, jump, in]", policies).replace("below: 1}", "below: 40}")
    catalogue = parse(text, "model.yaml")
    cohort = a_cohort(catalogue, seed)
    runs = replay_recorded(catalogue, cohort, {}, lambda _: None)
    assert sum(len(run.lines) for run in runs) > 2 * GROUPS, "the load was to make policies fire"
    assert runs == judged_one_by_one(catalogue, cohort, {})


GROUP = f"min: {MEMBERS}, max: {MEMBERS}, "
"""What all groups of the model declare."""


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param({GROUP: "min: 2, max: 8, "}, id="sizes that change"),
        pytest.param({"duration: 2m": "in_a_row: {times: 5, every: 20s}"}, id="evaluations in a row"),
        pytest.param({"duration: 2m": "duration: 2m, holds: average"}, id="averages"),
        pytest.param({GROUP: f"{GROUP}stabilisation: 5m, "}, id="stabilisation"),
        pytest.param({GROUP: f"{GROUP}mode: advise, "}, id="advice"),
        pytest.param({GROUP: f"{GROUP}freeze: [{{schedule: '0 * * * *', duration: 10m}}], "}, id="a freeze"),
        pytest.param({GROUP: "min: 4, max: 5, keep_growth: 10m, "}, id="growth that is kept"),
    ],
)
def test_whatever_groups_declare_a_replay_is_one_that_judges_every_tick(declared: Mapping[str, str]) -> None:
    text = MODEL.replace("below: 1}", "below: 40}")
    for before, after in declared.items():
        assert before in text
        text = text.replace(before, after)
    catalogue = parse(text, "model.yaml")
    cohort = a_cohort(catalogue, 3, missed=0.05)
    assert replay_recorded(catalogue, cohort, {}, lambda _: None) == judged_one_by_one(catalogue, cohort, {})


def test_events_between_ticks_are_applied_as_if_every_tick_were_judged() -> None:
    catalogue = parse(MODEL.replace("below: 1}", "below: 40}"), "model.yaml")
    cohort = a_cohort(catalogue, 4)
    acts = [("pause", 604.0), ("resume", 1200.0), ("freeze", 1800.5), ("pause", 2500.0), ("resume", 2504.0)]
    courses = {
        group: Course(
            ReplayEvent(
                at=Instant(SINCE + at + 7 * number),
                group=group,
                kind="note",
                name=name,
                message="out for 10m" if name == "freeze" else "",
            )
            for name, at in acts
        )
        for number, group in enumerate(cohort.groups)
    }
    runs = replay_recorded(catalogue, cohort, courses, lambda _: None)
    assert any(line.reason is Reason.PAUSED for run in runs for line in run.lines)
    assert runs == judged_one_by_one(catalogue, cohort, courses)
