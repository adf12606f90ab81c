"""Pauses that a person can begin and end, of one group and of all, each with what will happen, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from handler.operations.registry import Operation
from handler.operations.size_operations import PauseFleet, PauseGroup, ResumeFleet, ResumeGroup
from handler.planning.status import GroupStatus
from handler.web.pages.offer import Offer
from trigger.explain.time_words import say_pause
from trigger.requests import FleetPause, Pause
from trigger.verdicts import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paused:
    """What a pause concerns, as sentences name it."""

    name: str
    are: str
    grows: str
    """Followed by *larger* or *smaller*."""
    pause: Callable[[bool, Direction | None], Operation]
    """Makes the operation: of decisions alone or not, of one direction or both."""


def pausing(status: GroupStatus) -> Iterator[Offer]:
    """Yield the end of a group's pause, and every pause that changes something."""
    group, fleet = status.group, status.fleet_pause
    if status.pause is not Pause.NO:
        stays = "" if fleet is None else f" The whole fleet stays as it is: {say_pause(fleet.pause)}."
        yield Offer(
            operation=ResumeGroup(group=group),
            label="Resume",
            happens=(f"Now: {say_pause(status.pause)}. Decisions and convergence go on.{stays}",),
            done=f"{group} is resumed.",
        )
    yield from _pauses(
        status.pause,
        _Paused(
            name=group,
            are=f"{group} is",
            grows="The group gets no",
            pause=lambda decisions, way: PauseGroup(group=group, decisions_only=decisions, direction=way),
        ),
    )


def pausing_fleet(fleet: FleetPause | None, groups: int) -> Iterator[Offer]:
    """Yield the end of the pause of all groups, and every pause of all groups that changes something.

    Args:
        fleet: the pause now; ``None``: there is none.
        groups: how many groups there are.
    """
    every = "1 group" if groups == 1 else f"{groups:,} groups"
    if fleet is not None:
        yield Offer(
            operation=ResumeFleet(),
            label="Resume the fleet",
            happens=(
                f"Now: {say_pause(fleet.pause)} by {fleet.by}. Decisions and convergence of {every} go on.",
                "A group that is paused by itself stays so.",
            ),
            done="The fleet is resumed.",
        )
    yield from _pauses(
        Pause.NO if fleet is None else fleet.pause,
        _Paused(
            name=every,
            are="The whole fleet is",
            grows=f"None of {every} gets",
            pause=lambda decisions, way: PauseFleet(decisions_only=decisions, direction=way),
        ),
    )


def _pauses(now: Pause, of: _Paused) -> Iterator[Offer]:
    if now is not Pause.ALL:
        yield Offer(
            operation=of.pause(False, None),
            label="Pause everything",
            happens=(
                f"Nothing is decided, and no member of {of.name} is made, repaired or removed, until a person resumes.",
                "Calls that run finish.",
            ),
            done=f"{of.are} paused.",
        )
    if now is not Pause.DECISIONS:
        yield Offer(
            operation=of.pause(True, None),
            label="Pause decisions",
            happens=(f"The desired size of {of.name} stays as it is. Lost and broken members are replaced as before.",),
            done=f"Decisions are paused: {of.name}.",
        )
    for direction, word in ((Direction.OUT, "larger"), (Direction.IN, "smaller")):
        if not now.stops(direction):
            yield Offer(
                operation=of.pause(False, direction),
                label=f"Pause scale-{direction.value}",
                happens=(f"{of.grows} {word}; all else goes on.",),
                done=f"Scale-{direction.value} is paused: {of.name}.",
            )
