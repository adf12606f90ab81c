"""Whatever happens to a daemon while it records, its recording, replayed by its own file, decides the same."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.errors import Permanent, Refused
from config.units import GroupId, PolicyId
from handler.replay.samples import Unreplayable
from handler.replay.tables import read_events
from tests.support.nightly import runs
from tests.support.recorded_lives import MODEL, TICK, Live, Outside, plain_lines
from trigger.verdicts import Direction

GROUPS = tuple(map(GroupId, ("web", "shop", "cart")))
OUT = PolicyId("out")


class Act(Protocol):
    """What is done to a daemon, or to what it looks after."""

    async def do(self, outside: Outside) -> None:
        """Do it; what is refused is part of the story."""
        ...


@dataclass(frozen=True)
class Load:
    """What every member's counter reads from now on; ``None``: no answer."""

    value: float | None

    async def do(self, outside: Outside) -> None:
        outside.up.bed.readings.value = self.value


@dataclass(frozen=True)
class Alert:
    """Alertmanager tells that an alert fires, or is resolved."""

    name: str
    group: str
    firing: bool
    fingerprint: str

    async def do(self, outside: Outside) -> None:
        await outside.alert(self.name, group=self.group, firing=self.firing, fingerprint=self.fingerprint)


@dataclass(frozen=True)
class Alarm:
    """An outside trigger executes a policy, perhaps under an id that was used before."""

    group: GroupId
    policy: PolicyId
    id: str

    async def do(self, outside: Outside) -> None:
        await outside.up.operations.alarm(self.group, self.policy, id=self.id, by="nagios")


@dataclass(frozen=True)
class Scale:
    """A person sets the size."""

    group: GroupId
    size: int
    force: bool

    async def do(self, outside: Outside) -> None:
        await outside.up.operations.scale(self.group, self.size, force=self.force, by="ann")


@dataclass(frozen=True)
class Pause:
    """A person pauses a group; without one, the whole fleet."""

    group: GroupId | None
    direction: Direction | None
    decisions_only: bool

    async def do(self, outside: Outside) -> None:
        operations = outside.up.operations
        if self.group is None:
            await operations.pauses.pause_all(decisions_only=self.decisions_only, direction=self.direction, by="ann")
        else:
            await operations.pauses.pause(
                self.group, decisions_only=self.decisions_only, direction=self.direction, by="ann"
            )


@dataclass(frozen=True)
class Resume:
    """A person lets it go on."""

    group: GroupId | None
    direction: Direction | None

    async def do(self, outside: Outside) -> None:
        if self.group is None:
            await outside.up.operations.pauses.resume_all(direction=self.direction, by="ann")
        else:
            await outside.up.operations.pauses.resume(self.group, direction=self.direction, by="ann")


@dataclass(frozen=True)
class Lose:
    """A machine of a group vanishes."""

    group: GroupId

    async def do(self, outside: Outside) -> None:
        for machine in sorted(outside.machines(self.group))[:1]:
            outside.up.bed.cloud.die(machine)


@dataclass(frozen=True)
class Dismiss:
    """A person has one member leave."""

    group: GroupId

    async def do(self, outside: Outside) -> None:
        for machine in sorted(outside.machines(self.group))[-1:]:
            await outside.up.operations.members.dismiss(self.group, machine, force=False, by="ann")


@dataclass(frozen=True)
class Builds:
    """The cloud refuses builds from now on, or makes them again."""

    fail: bool

    async def do(self, outside: Outside) -> None:
        always = outside.up.bed.cloud.faults.always
        always.pop("create", None)
        if self.fail:
            always["create"] = Permanent("there is no such template")


@dataclass(frozen=True)
class Restart:
    """The daemon stops, and another one starts."""

    async def do(self, outside: Outside) -> None:
        raise AssertionError("a restart ends a life, and is no act in it")


_SOME = st.sampled_from(GROUPS)
_WAYS = st.none() | st.sampled_from(Direction)
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(Load, st.none() | st.sampled_from([5.0, 50.0, 95.0])),
    st.builds(Load, st.sampled_from([5.0, 95.0])),
    st.builds(
        Alert,
        st.sampled_from(["Slow", "Loaded", "Failing", "Still"]),
        st.sampled_from(["web", "shop", "cart"]),
        st.booleans(),
        st.sampled_from("ab"),
    ),
    st.builds(Alarm, _SOME, st.sampled_from([OUT, PolicyId("in")]), st.sampled_from("xyz")),
    st.builds(Scale, _SOME, st.integers(1, 8), st.booleans()),
    st.builds(Pause, st.none() | _SOME, _WAYS, st.booleans()),
    st.builds(Resume, st.none() | _SOME, _WAYS),
    st.builds(Lose, _SOME),
    st.builds(Dismiss, _SOME),
    st.builds(Builds, st.booleans()),
    st.just(Restart()),
)
STORIES = st.lists(st.tuples(ACTS, st.sampled_from([0.0, 3.0, TICK, 35.0])), min_size=4, max_size=20)
"""What is done, and for how long nothing else is done after it."""


async def lived(live: Live, story: list[tuple[Act, float]]) -> None:
    """Live a story, in as many lives as it has; the last ends with a poll, since a series ends with one."""
    left = [*story, (Load(50.0), 1.5 * TICK)]
    while left:
        async with live.alive() as outside:
            await asyncio.sleep(2.5 * TICK)
            while left and (step := left.pop(0))[0] != Restart():
                with contextlib.suppress(Refused, LookupError):
                    await step[0].do(outside)
                await asyncio.sleep(step[1])


SHIELDED_THEN_FIRED: list[tuple[Act, float]] = [
    (Load(95.0), 35.0),
    (Alert("Failing", "web", firing=True, fingerprint="a"), 3.0),
    (Load(5.0), 35.0),
    (Restart(), 0.0),
    (Alert("Slow", "web", firing=True, fingerprint="a"), 10.0),
    (Scale(GroupId("cart"), 3, force=False), 0.0),
    (Alarm(GroupId("shop"), OUT, "x"), 3.0),
    (Pause(GroupId("web"), Direction.IN, decisions_only=False), 35.0),
]


@runs(5, steps=50)
@example(SHIELDED_THEN_FIRED)
@given(STORIES)
def test_a_recording_replayed_by_its_own_file_decides_the_same(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[Act, float]]
) -> None:
    live = Live(Path(tmp_path_factory.mktemp("life")), text=MODEL)
    live.play(lambda bed: lived(bed, story))
    replayed = live.replayed()
    assert {run.group: run.parted for run in replayed} == dict.fromkeys(GROUPS)
    assert plain_lines(replayed) == live.lines(live.first_tick())


def test_holds_that_end_at_a_restart_since_the_size_was_changed_before_end_in_replay(tmp_path: Path) -> None:
    held_longer = MODEL.replace("out: {when: [high], duration: 10s", "out: {when: [high], duration: 60s")
    live = Live(tmp_path, text=held_longer.replace(", nudge, days]", "]"))
    floor = Alert("Loaded", "web", firing=True, fingerprint="a")
    live.play(
        lambda bed: lived(
            bed, [(Load(50.0), 35.0), (Load(95.0), 44.0), (floor, 0.5), (Restart(), 0.0), (Load(95.0), 100.0)]
        )
    )
    replayed = live.replayed()
    assert {run.group: run.parted for run in replayed} == dict.fromkeys(GROUPS)
    assert plain_lines(replayed) == live.lines(live.first_tick())


def test_each_stretch_between_two_edits_of_the_file_is_decided_the_same_by_its_own(tmp_path: Path) -> None:
    before, after = tmp_path / "before.yaml", MODEL.replace("above: 80", "above: 60").replace("below: 20", "below: 30")
    before.write_text(MODEL)
    live, edited_at = Live(tmp_path, text=MODEL), float("nan")

    async def scene(bed: Live) -> None:
        nonlocal edited_at
        async with bed.alive() as outside:
            await Load(5.0).do(outside)
            await Alert("Failing", "web", firing=True, fingerprint="a").do(outside)
            await asyncio.sleep(4.7 * TICK)
            bed.declare(after)
            edited_at = bed.wall()
            await outside.up.operations.reload(by="ann")
            await Load(62.0).do(outside)
            await asyncio.sleep(4.5 * TICK)
            await Alert("Slow", "web", firing=True, fingerprint="a").do(outside)
            await asyncio.sleep(4.5 * TICK)

    live.play(scene)
    first = [line for line in plain_lines(live.replayed(before)) if cast("float", line["at"]) < edited_at]
    then = plain_lines(live.replayed(since=edited_at))
    assert (first, then) == (live.lines(live.first_tick(), edited_at), live.lines(edited_at))
    assert {line["reason"] for line in first} >= {"at_min"}
    assert {line["reason"] for line in then} >= {"scaled_out"}


def test_a_recording_of_a_newer_form_is_refused(tmp_path: Path) -> None:
    live = Live(tmp_path, text=MODEL)
    live.play(lambda bed: lived(bed, [(Load(95.0), TICK)]))
    live.replayed()
    events = tmp_path / "events.csv"
    newer = events.read_text().replace('""form"":1', '""form"":2')
    assert newer != events.read_text()
    events.write_text(newer)
    with pytest.raises(Unreplayable, match=r"events.csv:\d+: given: form 2; this release reads up to 1"):
        read_events(events, GROUPS)


def test_what_a_newer_release_adds_to_a_recording_is_passed_over(tmp_path: Path) -> None:
    live = Live(tmp_path, text=MODEL)
    live.play(lambda bed: lived(bed, [(Load(95.0), TICK)]))
    live.replayed()
    events = tmp_path / "events.csv"
    before = read_events(events, GROUPS)
    events.write_text(events.read_text().replace('""form"":1', '""form"":1,""mood"":""fair""'))
    assert [course.givens for course in read_events(events, GROUPS).values()] == [
        course.givens for course in before.values()
    ]
