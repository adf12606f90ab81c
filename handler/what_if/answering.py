"""Answer questions about other settings, one after another; the newest recording is kept for the next question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from collector.samples import Floats
from config.document.places import ParsedText
from config.errors import DeclarationError, Refused
from config.load import catalogue_of
from config.model.catalogue import Catalogue, Compare, Condition
from config.units import ConditionId, Instant, format_span
from handler.replay.outcomes import TickOutcome
from handler.replay.recorded import Run
from handler.runtime.directory import StateDirectory
from handler.runtime.store_place import store_source
from handler.tuning.copies import allowed, policy_behind, with_values
from handler.tuning.loads import condition_levels
from handler.tuning.parameters import Candidate, Parameter, today_of
from handler.tuning.past import recording_in
from handler.tuning.preparing import DeclaredFile, Recording, caveats_of, ground_of
from handler.tuning.trials import Fitting, TrialGround, cohort_alone, outcome_of, real_outcome, runs_of
from handler.what_if.question import (
    Answer,
    ConditionCourse,
    Question,
    SizeCourse,
    SizeDifference,
    Tell,
    Tunable,
    WouldBe,
)

Read = Callable[[Question, Catalogue], tuple[Recording, tuple[str, ...]]]
"""Reads what was recorded, with caveats on what it lacks."""

_FITTING = Fitting(boot=60.0, drain=None)
"""For recordings without events of members."""
_PARTS = 800
"""Of the time: a screen shows no more."""
_DIFFERENCES = 60
_NOTEWORTHY = 0.01
"""Of the time."""
_LONG = 600.0
"""Seconds: a longer span is written in whole minutes."""
_COMPARES = frozenset(compare.value for compare in Compare)


@dataclass(slots=True, kw_only=True)
class _Prepared:
    """A group whose recording was read."""

    key: tuple[object, ...]
    ground: TrialGround
    caveats: tuple[str, ...]
    declared: Run
    curves: Mapping[ConditionId, tuple[Floats, Floats]] = field(default_factory=dict)


def recorded(question: Question, catalogue: Catalogue) -> tuple[Recording, tuple[str, ...]]:
    """Read what the daemon has recorded of the group in the time that is asked about. Raises as `recording_in`."""
    folder, store = StateDirectory(question.state).recordings, store_source(question.state)
    return recording_in(folder, store, catalogue, (question.group,), (question.since, question.until))


class Answerer:
    """Keeps what it has read for the next question about the same."""

    def __init__(self, read: Read = recorded) -> None:
        self._reads = read
        self._read: tuple[tuple[object, ...], Recording, tuple[str, ...]] | None = None
        self._prepared: _Prepared | None = None

    def answer(self, question: Question, tell: Tell) -> Answer:
        """Answer one question.

        Raises:
            Refused: there is nothing to judge by, a counter's value at another size is not known, or the file may not
                have these values.
            Unreplayable: nothing was recorded then.
        """
        prepared = self._prepare(question, tell)
        ground, today = prepared.ground, today_of(prepared.ground.tuned.parameters)
        candidate = _candidate(ground.tuned.parameters, question.values)
        run = prepared.declared
        if candidate != today:
            _require_allowed(ground, candidate, question.reading)
            (run,) = runs_of(ground, (candidate,), tell)
        was, would_be = _sizes(ground), _ordered(run)
        differences = list(_differences(ground, was, would_be, run))
        longest = sorted(differences, key=lambda each: each.begin - each.end)[:_DIFFERENCES]
        return Answer(
            group=question.group,
            interval=ground.load.interval,
            begin=Instant(float(ground.load.at[0])),
            end=Instant(float(ground.load.at[-1])),
            tunables=tuple(_tunable(*each) for each in zip(ground.tuned.parameters, candidate, strict=True)),
            limit=ground.limit.words,
            real=real_outcome(ground),
            declared=outcome_of(ground, prepared.declared),
            asked=outcome_of(ground, run),
            was=_course(ground, was),
            would_be=_course(ground, would_be),
            differences=tuple(sorted(longest, key=lambda each: each.begin)),
            differing=len(differences),
            conditions=tuple(_conditions(prepared, candidate)),
            caveats=(*_gaps(question, ground), *prepared.caveats),
        )

    def _prepare(self, question: Question, tell: Tell) -> _Prepared:
        time = (question.state, question.group, question.since, question.until)
        key = (*time, question.digest)
        if self._prepared is None or self._prepared.key != key:
            file = DeclaredFile(text="", reading=question.reading, catalogue=catalogue_of(question.reading))
            if question.group not in file.catalogue.groups:
                raise Refused(f"group {question.group} is no longer declared")
            interval = file.catalogue.groups[question.group].interval
            if self._read is None or self._read[0] != (*time, interval):
                found, caveats = self._reads(question, file.catalogue)
                self._read = ((*time, interval), found, caveats)
            _, recording, caveats = self._read
            ground = ground_of(file, question.group, recording, tuple, _FITTING, None)
            (declared,) = runs_of(ground, (today_of(ground.tuned.parameters),), tell)
            own = f"{question.group}: "
            shown = tuple(each.removeprefix(own) for each in (*caveats_of(ground), *caveats))
            self._prepared = _Prepared(key=key, ground=ground, caveats=shown, declared=declared, curves=_curves(ground))
        return self._prepared


def _candidate(parameters: Sequence[Parameter], values: Mapping[str, str]) -> Candidate:
    """Return the setting of these values. Raises `Refused`."""
    known = {parameter.name for parameter in parameters}
    if unknown := sorted(values.keys() - known):
        raise Refused(f"{unknown[0]} is not written in the declaration of this group: there is no value to change")
    return tuple(
        parameter.read(values[parameter.name]) if parameter.name in values else parameter.today
        for parameter in parameters
    )


def _require_allowed(ground: TrialGround, candidate: Candidate, reading: ParsedText) -> None:
    """Refuse what the rules of the file refuse, in their words."""
    if allowed(ground.tuned, candidate):
        return
    try:
        catalogue_of(with_values(reading, ground.tuned.parameters, candidate))
    except DeclarationError as error:
        raise Refused("; ".join(problem.message for problem in error.problems)) from error
    raise Refused("the rules of the file do not allow this setting")


def _tunable(parameter: Parameter, asked: float) -> Tunable:
    return Tunable(
        name=parameter.name,
        where=parameter.where,
        declared=parameter.text(parameter.today),
        asked=parameter.text(asked),
        number=asked,
        unit=parameter.unit,
        choices=tuple(map(parameter.text, parameter.choices)),
    )


def _sizes(ground: TrialGround) -> Floats:
    """Return (tick,) the recorded desired size; without events, the members in service."""
    if not ground.course.sized:
        return ground.load.serving
    sizes = [ground.course.size(Instant(at)) for at in ground.load.at.tolist()]
    return np.array([np.nan if size is None else size for size in sizes], dtype=np.float64)


def _ordered(run: Run) -> Floats:
    if run.path is None:
        raise ValueError(f"the fleet of {run.group} was not simulated")
    return run.path.ordered.astype(np.float64)


def _course(ground: TrialGround, sizes: Floats) -> SizeCourse:
    """Return the instants at which a size changes or samples are missing, and the last one."""
    at, interval = ground.load.at, ground.load.interval
    changes = np.flatnonzero(np.append(True, (np.diff(sizes) != 0) & ~(np.isnan(sizes[1:]) & np.isnan(sizes[:-1]))))
    points = {float(at[place]): sizes[place] for place in changes.tolist()}
    points[float(at[-1])] = sizes[-1]
    for place in np.flatnonzero(np.diff(at) > 1.5 * interval).tolist():
        points.setdefault(float(at[place]), sizes[place])
        points[float(at[place]) + interval] = np.nan
        points.setdefault(float(at[place + 1]), sizes[place + 1])
    ordered = sorted(points)
    return SizeCourse(
        at=tuple(map(Instant, ordered)),
        sizes=tuple(None if np.isnan(points[each]) else int(points[each]) for each in ordered),
    )


def _differences(ground: TrialGround, was: Floats, would_be: Floats, run: Run) -> Iterator[SizeDifference]:
    """Yield the times in which the two sizes differ."""
    at, apart = ground.load.at, was - would_be
    apart[np.isnan(apart)] = 0.0
    edges = np.flatnonzero(np.diff(apart, prepend=0.0, append=0.0))
    moves = {line.at: line for line in run.lines if line.outcome in {TickOutcome.OUT, TickOutcome.IN}}
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if not apart[first]:
            continue
        line = moves.get(Instant(float(at[first])))
        yield SizeDifference(
            begin=Instant(float(at[first])),
            end=Instant(float(at[min(last, len(at) - 1)])),
            was=int(was[first]),
            would_be=int(would_be[first]),
            cause=None
            if line is None
            else WouldBe(
                at=line.at,
                desired_from=line.desired_from,
                desired_to=line.desired_to,
                policy=None if line.policy is None else policy_behind(ground.tuned, line.policy),
                reason=line.reason,
            ),
        )


def _curves(ground: TrialGround) -> Mapping[ConditionId, tuple[Floats, Floats]]:
    """Measure the conditions with a threshold that can be tuned: instants and values, (tick,) each."""
    tuned = ground.tuned
    cohort = cohort_alone(ground.ticks, tuned.catalogue.groups[tuned.group].interval, tuned.group)
    names = (ConditionId(each.where[1]) for each in tuned.parameters if _is_threshold(each))
    return {name: condition_levels(tuned.catalogue, tuned.group, cohort, name) for name in dict.fromkeys(names)}


def _is_threshold(parameter: Parameter) -> bool:
    return parameter.where[0] == "conditions" and parameter.where[-1] in _COMPARES


def _conditions(prepared: _Prepared, candidate: Candidate) -> Iterator[ConditionCourse]:
    ground = prepared.ground
    for parameter, asked in zip(ground.tuned.parameters, candidate, strict=True):
        if not _is_threshold(parameter):
            continue
        name = ConditionId(parameter.where[1])
        condition = ground.tuned.catalogue.conditions[name]
        if not isinstance(condition, Condition):
            continue
        at, low, high = _in_parts(*prepared.curves[name])
        yield ConditionCourse(
            condition=name,
            parameter=parameter.name,
            unit=ground.tuned.catalogue.counters[condition.counter].unit,
            compare=condition.compare,
            threshold=asked,
            at=at,
            low=low,
            high=high,
        )


def _in_parts(
    at: Floats, value: Floats
) -> tuple[tuple[Instant, ...], tuple[float | None, ...], tuple[float | None, ...]]:
    """Divide values into parts of the time; return the beginning of each, and its least and greatest value."""
    if not len(at):
        return (), (), ()
    part = np.minimum((_PARTS * (at - at[0]) / max(at[-1] - at[0], 1.0)).astype(np.intp), _PARTS - 1)
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    low = np.minimum.reduceat(np.where(np.isnan(value), np.inf, value), starts)
    high = np.maximum.reduceat(np.where(np.isnan(value), -np.inf, value), starts)
    return (
        tuple(Instant(each) for each in at[starts].tolist()),
        tuple(each if np.isfinite(each) else None for each in low.tolist()),
        tuple(each if np.isfinite(each) else None for each in high.tolist()),
    )


def _gaps(question: Question, ground: TrialGround) -> Iterator[str]:
    """Yield what the recording does not have of the time that was asked for."""
    at, interval = ground.load.at, ground.load.interval
    asked, late = question.until - question.since, float(at[0]) - question.since
    if late > _NOTEWORTHY * asked:
        have = format_span(_round(float(at[-1] - at[0]) + interval))
        yield f"the recording has {have} of the {format_span(_round(asked))} that were asked for"
    gaps = np.diff(at)
    holes = gaps[gaps > 1.5 * interval] - interval
    if holes.sum() > _NOTEWORTHY * (at[-1] - at[0]):
        lost, longest = format_span(_round(float(holes.sum()))), format_span(_round(float(holes.max())))
        yield (
            f"samples are missing for {lost} in {len(holes)} places, at the longest for {longest}: no duration holds "
            "over a hole"
        )
    if ground.ticks.cadence is not None and ground.ticks.coarser_than(interval):
        yield (
            f"readings are {format_span(ground.ticks.cadence)} apart, and the interval is {format_span(interval)}: no "
            "condition can hold for a duration"
        )


def _round(span: float) -> float:
    """Return a span without what no reader needs."""
    return max(round(span / 60.0) * 60.0, 60.0) if span >= _LONG else round(span)
