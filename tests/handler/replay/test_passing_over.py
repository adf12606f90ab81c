"""Ticks at which no policy asks for anything are passed over, with the result that judging each of them has."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.aggregate import Aggregator
from aggregator.batch_frames import Reel
from benchmarks.replay import GROUPS, INTERVAL, MEMBERS, MODEL
from collector.samples import Reply
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import Instant
from handler.replay.events import Course
from handler.replay.recorded import Follower, Run, replay_recorded
from handler.replay.samples import Samples, Words, nothing
from handler.replay.scrapes import RecordedCohort, alike, bundles_of, cohort_of, ticks_by_group

TICKS = 400


class EveryTick(Follower):
    """Judges every tick, one by one."""

    def pass_tick(self, number: int, tick: int, reel: Reel, *, rests: bool) -> None:
        self.judge(number, reel.frame(self.group.id, tick))


def a_cohort(catalogue: Catalogue, seed: int) -> RecordedCohort:
    """Load that wanders over both thresholds, with an answer in fifty missing."""
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
        at=1_767_225_600.0 + tick * INTERVAL,
        value=np.clip(level + draw.uniform(-15, 15, rows), 0, 100),
        reply=np.where(draw.uniform(size=rows) < 0.02, Reply.TIMEOUT, Reply.OK).astype(np.uint8),
        counted=np.ones(rows, dtype=np.bool_),
        steady=nothing(rows),
        replied_at=nothing(rows),
        uptime=nothing(rows),
    )
    ((interval, parts),) = alike(catalogue, ticks_by_group(catalogue, samples), 1)
    return cohort_of(interval, parts)


def judged_one_by_one(catalogue: Catalogue, cohort: RecordedCohort) -> tuple[Run, ...]:
    first_at, courses = Instant(float(cohort.samples.at[0])), dict.fromkeys(cohort.groups, Course(()))
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
    assert runs == judged_one_by_one(catalogue, cohort)
