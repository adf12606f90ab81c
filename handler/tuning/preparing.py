"""From a file and a recording to groups that can be tuned, and the reasons why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from config.document.places import ParsedText
from config.errors import DeclarationError, Refused
from config.model.catalogue import Catalogue
from config.units import GroupId, Seconds, format_span
from handler.replay.events import Course
from handler.replay.samples import Unreplayable
from handler.replay.ticks import Ticks
from handler.tuning.copies import TunedGroup, copies
from handler.tuning.known import limit_of, require_known
from handler.tuning.loads import recorded_load
from handler.tuning.parameters import Parameter, parameters_of, today_of
from handler.tuning.trials import Fitting, TrialGround, cohort_alone

_NOTEWORTHY = 0.01
"""Of the ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is known of the past."""

    ticks: Mapping[GroupId, Ticks]
    courses: Mapping[GroupId, Course]
    """Empty: there are no events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFile:
    """A file as it is read, and what it declares."""

    text: str
    reading: ParsedText
    catalogue: Catalogue


Choose = Callable[[tuple[Parameter, ...]], tuple[Parameter, ...]]
"""Leaves those parameters that are to be tuned.

Raises:
    Refused: there is nothing to tune.
"""


def ground_of(
    file: DeclaredFile, group: GroupId, recording: Recording, choose: Choose, fitting: Fitting, limit: float | None
) -> TrialGround:
    """Prepare a group for trials.

    Args:
        file: declares the group.
        group: its name.
        recording: with rows of the group.
        choose: which parameters are tuned.
        fitting: how members come and go.
        limit: what a member may carry, instead of what the file says.

    Raises:
        Refused: it is not known what its counters would have shown at another size, there is nothing to judge by, or
            the recording lacks the group.
    """
    catalogue, course = file.catalogue, recording.courses.get(group, Course(()))
    require_known(catalogue, group)
    by = limit_of(catalogue, group, limit)
    if group not in recording.ticks:
        raise Refused(f"group {group}: the series has no rows of this group")
    ticks = recording.ticks[group]
    cohort = cohort_alone(ticks, catalogue.groups[group].interval, group)
    if group not in cohort.sizes and not course.sized:
        raise Unreplayable(f"group {group}: the recording does not have its number of members: give --events")
    learned, parameters = course.boot(), choose(parameters_of(file.reading.data, catalogue, group))
    return TrialGround(
        tuned=_tuned(TunedGroup(reading=file.reading, catalogue=catalogue, group=group, parameters=parameters)),
        ticks=ticks,
        course=course,
        limit=by,
        load=recorded_load(catalogue, group, cohort, course, by),
        fitting=fitting if learned is None else Fitting(boot=learned, drain=fitting.drain),
    )


def _tuned(group: TunedGroup) -> TunedGroup:
    """Make sure that a copy of the group with the setting of today can be declared: all others are held against it.

    Raises:
        Refused: it cannot.
    """
    try:
        copies(group, (today_of(group.parameters),))
    except DeclarationError as error:
        why = "; ".join(problem.message for problem in error.problems)
        raise Refused(f"group {group.group}: a copy of it cannot be declared: {why}") from error
    return group


def caveats_of(ground: TrialGround) -> Sequence[str]:
    """Return what a trial of a group takes for granted, and what its recording hides."""
    group, load = ground.tuned.group, ground.load
    source = "--boot" if ground.course.boot() is None else "the median of the events"
    boot = format_span(ground.fitting.boot)
    caveats = [f"{group}: a member serves {boot} after it is ordered ({source}); the load does not react"]
    unknown, hidden = float(np.isnan(load.rate).mean()), float(load.saturated.mean())
    if unknown > _NOTEWORTHY:
        caveats.append(f"{group}: the load is not known in {unknown:.0%} of the time, which counts as within the limit")
    if hidden > _NOTEWORTHY:
        minutes = _minutes(hidden * load.span)
        caveats.append(
            f"{group}: members were saturated in {hidden:.0%} of the time ({minutes}), which hides load: more members "
            "would have been needed there than is known"
        )
    service = ground.tuned.catalogue.groups[group].service
    if service is not None:
        caveats.append(f"{group}: takes turns in the service {service}; here it is tried alone, and waits for no other")
    return caveats


def _minutes(span: Seconds) -> str:
    return format_span(max(round(span / 60.0) * 60.0, 60.0))
