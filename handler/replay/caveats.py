"""Caveats on a replay, as sentences: missing data, and where it stopped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime

from collector.samples import Reply
from collector.targets import counters_of
from config.model.catalogue import Catalogue, Mode
from config.units import CounterId, GroupId, Seconds, format_span
from handler.replay.events import Course
from handler.replay.recorded import Run
from handler.replay.samples import Samples
from handler.replay.scrapes import beat_of
from handler.replay.ticks import Ticks


def caveats_of_series(
    catalogue: Catalogue, groups: Collection[GroupId], ticks: Mapping[GroupId, Ticks]
) -> Iterator[str]:
    """Yield what a series lacks for these groups, each thing once."""
    for group in sorted(groups):
        yield from _left_out(catalogue, group, ticks)
        if catalogue.groups[group].mode is Mode.OFF:
            yield f"{group}: mode off, so there are no decisions"
        elif group not in ticks:
            yield f"{group}: the series has no rows of this group"
        else:
            yield from _lacking(catalogue, group, ticks[group])


def _left_out(catalogue: Catalogue, group: GroupId, ticks: Mapping[GroupId, Ticks]) -> Iterator[str]:
    """Yield the groups of a service that are not replayed together, since they were not polled together."""
    service = catalogue.groups[group].service
    if service is None or group not in ticks:
        return
    beat = beat_of(catalogue, group, ticks[group])
    others = [
        other
        for other, declared in catalogue.groups.items()
        if declared.service == service
        and other != group
        and (other not in ticks or beat_of(catalogue, other, ticks[other]) != beat)
    ]
    if others:
        yield (
            f"{group}: takes turns in the service {service} with {', '.join(sorted(others))}, which the series "
            "does not have at the same instants: in this replay it does not wait for them"
        )


def _lacking(catalogue: Catalogue, group: GroupId, ticks: Ticks) -> Iterator[str]:
    interval = catalogue.groups[group].interval
    if ticks.cadence is not None and ticks.coarser_than(interval):
        yield (
            f"{group}: its readings are {format_span(ticks.cadence)} apart, and its interval is "
            f"{format_span(interval)}: ticks are missing in between, so no condition can hold for a duration"
        )
    heard = _heard(ticks.samples)
    for counter in counters_of(catalogue, group):
        if counter not in heard:
            yield f"{group}: the series has no value of {counter}, so policies that read it are blind"
    if not (ticks.samples.member.codes >= 0).any():
        yield (
            f"{group}: the series names no members, so sizes cannot be compared, and the desired size counts as in "
            "service"
        )


def _heard(samples: Samples) -> set[CounterId]:
    codes = set(samples.counter.codes[samples.reply == Reply.OK].tolist()) - {-1}
    return {CounterId(samples.counter.words[code]) for code in codes}


def caveats_of_run(run: Run) -> Iterator[str]:
    """Yield where a replay and its recording differ, if they do."""
    if run.parted is not None:
        yield (
            f"{run.group}: stopped at {stamp(run.parted.at)}: the size here is {run.parted.replayed}, the recorded one "
            f"{run.parted.recorded}, and the recording from then on belongs to another fleet"
        )
    elif run.doubt is not None:
        yield (
            f"{run.group}: from {stamp(run.doubt.at)} to the end the size here is {run.doubt.replayed} and the "
            f"recorded one {run.doubt.recorded}: it ends before it is certain whether they are the same fleet"
        )


def caveats_of_shares(catalogue: Catalogue, run: Run, course: Course | None, boot: Seconds) -> Iterator[str]:
    """Yield the assumptions of the model ``shared-load`` for one group."""
    read = [catalogue.counters[name] for name in counters_of(catalogue, run.group)]
    shared = [counter.id for counter in read if counter.shared]
    learned = None if course is None else course.boot()
    span, source = (boot, "--boot") if learned is None else (learned, "the median of the events")
    if run.differed is None:
        yield f"{run.group}: the size here is the recorded one throughout, so nothing is scaled"
        return
    others = [counter.id for counter in read if not counter.shared]
    scaled = "is scaled by recorded / simulated members in service" if shared else "no counter is shared"
    yield (
        f"{run.group}: from {stamp(run.differed.at)} on the size here ({run.differed.replayed}) is not the recorded "
        f"one ({run.differed.recorded}): {' '.join([', '.join(shared), scaled]).strip()}"
        + (f"; {', '.join(others)} stays as recorded" if others else "")
        + f"; a member serves {format_span(span)} after it is ordered ({source}); the load does not react"
    )


def stamp(at: float) -> str:
    """Return an instant as text, UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
