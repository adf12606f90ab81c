"""A question about another setting, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from config.document.places import ParsedText
from config.model.catalogue import Compare
from config.model.where import Where
from config.units import ConditionId, GroupId, Instant, PolicyId, Seconds
from handler.tuning.outcomes import Outcome
from trigger.reasons import Reason

Tell = Callable[[int, int], None]
"""Called now and then with what is done and the total; it may raise to end the work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What would have happened to a group with other values."""

    state: Path
    """The state directory, which has the recording and says where the store is."""
    reading: ParsedText
    """The file, with the entities of the API in it."""
    digest: str
    """Of the declaration: the same digest, the same reading."""
    group: GroupId
    since: Instant
    until: Instant
    values: Mapping[str, str]
    """By name of a parameter, as a person writes it; what is missing is as declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunable:
    """A parameter, with the value that was asked about."""

    name: str
    where: Where
    declared: str
    """As it is written."""
    asked: str
    """Likewise."""
    number: float
    """What was asked about, in the unit; of a duration, seconds."""
    unit: str | None
    """What is written behind the number; ``None``: it is a duration."""
    choices: tuple[str, ...]
    """Round values around the declared one, as they are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeCourse:
    """A size over time: each holds until the next instant."""

    at: tuple[Instant, ...]
    sizes: tuple[int | None, ...]
    """``None``: from then on nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WouldBe:
    """A change of size of a replay."""

    at: Instant
    desired_from: int | None
    desired_to: int | None
    policy: PolicyId | None
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeDifference:
    """A time in which the size would have been another one."""

    begin: Instant
    end: Instant
    was: int
    would_be: int
    """Both at its beginning."""
    cause: WouldBe | None
    """The change of the replay that began it; ``None``: a change that really happened did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionCourse:
    """What a condition with a threshold of its own measured, in the recorded fleet."""

    condition: ConditionId
    parameter: str
    """The name of the parameter that is its threshold."""
    unit: str
    compare: Compare
    threshold: float
    """What was asked about."""
    at: tuple[Instant, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    """The least and the greatest value of a part of the time; ``None``: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What would have happened."""

    group: GroupId
    interval: Seconds
    begin: Instant
    end: Instant
    """What the recording has of the time that was asked for."""
    tunables: tuple[Tunable, ...]
    limit: str
    """By what minutes over the limit are counted, in words."""
    real: Outcome
    """Of the recorded fleet."""
    declared: Outcome
    """Of the declared setting, replayed."""
    asked: Outcome
    """Of the setting that was asked about, replayed."""
    was: SizeCourse
    would_be: SizeCourse
    differences: tuple[SizeDifference, ...]
    """The longest ones, in the order of time."""
    differing: int
    """How many there are."""
    conditions: tuple[ConditionCourse, ...]
    caveats: tuple[str, ...]
    """What the recording lacks, and what the replay takes for granted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswerable:
    """Why there is no answer."""

    reason: str
