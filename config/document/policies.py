"""Policies as they are written: when, for how long, and what to do then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, ClassVar, Self

from pydantic import Field, GetJsonSchemaHandler, Strict, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from config.document.conditions import Match
from config.document.declared import Declared, key, must
from config.document.forecasts import ForecastDocument
from config.document.scalars import Given, Growth, Name, Shrinkage, Size, Span
from config.document.schedules import At, Cron, Missed, Timezone, Until, misfits
from config.document.targets import FollowedDocument, PassThroughDocument, TargetDocument
from config.model.adjustments import Action, Adjustment, AdjustmentVerb, Rounding, Step, Steps
from config.model.catalogue import Holds, QuietScope
from config.units import ConditionId

_Lax = Strict(False)
"""Words of a closed list are written as text."""
_AtLeast = Annotated[Annotated[int, Field(ge=1)] | None, Given]


class StepDocument(Declared):
    """What to do from so far beyond the threshold on."""

    choice: ClassVar[tuple[str, ...]] = ("add", "remove")
    choice_of: ClassVar[str] = "the adjustment"
    later: ClassVar[Mapping[str, str]] = {"set": "steps that set the size"}

    over: Annotated[float, Field(ge=0, allow_inf_nan=False)] = must(
        "How far beyond the threshold it begins, in the unit of the condition; 0 for the first.",
        0,
        unit="the condition's unit",
    )
    add: Annotated[Growth | None, Given] = key("Add members, or a percentage of the desired size.", 2, "25%")
    remove: Annotated[Shrinkage | None, Given] = key("Remove members, or a percentage of the desired size.", 1, "10%")
    at_least: _AtLeast = key(
        "Add or remove this many members at least; for percentages.", 2, left_out="no least change", unit="members"
    )

    @property
    def verb(self) -> AdjustmentVerb:
        """What it does."""
        return AdjustmentVerb.REMOVE if self.add is None else AdjustmentVerb.ADD


class InARowDocument(Declared):
    """A number of evaluations in a row instead of a duration: OneFlow's period_number and period."""

    times: Annotated[int, Field(ge=1, le=1000)] = must(
        "How often in a row the conditions must hold.", 3, unit="evaluations"
    )
    every: Span = key("How far apart they are judged, at least. 0s: at every tick.", "60s", default=0)


class PolicyDocument(Declared):
    """When conditions have held for the duration, or a schedule says: adjust the size, or bound it."""

    choice: ClassVar[tuple[str, ...]] = (
        *("add", "remove", "set", "steps"),
        *("target", "pass_through", "forecast"),
        *("floor", "ceiling"),
    )
    choice_of: ClassVar[str] = "the adjustment"

    when: list[Name] = key(
        "Conditions that must hold.",
        ["busy"],
        default=[],
        left_out="none, with a target, a forecast or a schedule; else it is needed",
    )
    match: Match = key(
        "How many of them must hold: all, any, or at_least a number.", "any", {"at_least": 2}, default="all"
    )
    duration: Span = key("How long they must hold. 0s: at once.", "120s", default=0)
    in_a_row: Annotated[InARowDocument | None, Given] = key(
        "Instead of a duration: a number of evaluations in a row.",
        {"times": 3, "every": "60s"},
        left_out="the duration counts",
    )
    holds: Annotated[Holds, _Lax] = key(
        "throughout: true at every evaluation. average: the average over the duration satisfies them.",
        "throughout",
        default="throughout",
    )
    add: Annotated[Growth | None, Given] = key("Add members, or a percentage of the desired size.", 2, "10%")
    remove: Annotated[Shrinkage | None, Given] = key("Remove members, or a percentage of the desired size.", 1, "10%")
    set: Annotated[Size | None, Given] = key("Set the desired size, or a percentage of it.", 6)
    steps: Annotated[Annotated[list[StepDocument], Field(min_length=1, max_length=20)] | None, Given] = key(
        "What to do by how far the threshold is passed.", [{"over": 0, "add": 1}, {"over": 15, "add": "25%"}]
    )
    target: Annotated[TargetDocument | None, Given] = key(
        "Keep a counter at a value, with as many members as that takes.", {"counter": "cpu", "value": 60}
    )
    pass_through: Annotated[PassThroughDocument | None, Given] = key(
        "Have as many members as a counter says.", {"counter": "wanted"}
    )
    forecast: Annotated[ForecastDocument | None, Given] = key(
        "Have as many members as the load will need.", {"load": {"counter": "requests", "each": 80}}
    )
    by: Annotated[Name | None, Given] = key(
        "The condition with the threshold that steps count from.", "busy", left_out="the first of when"
    )
    at_least: _AtLeast = key(
        "Add or remove this many members at least; for percentages.", 2, left_out="no least change", unit="members"
    )
    rounding: Annotated[Rounding, _Lax] = key(
        "How a part of a member is rounded. careful: out up, in down but at least 1.", "careful", default="careful"
    )
    quiet_time: Span = key("How long the quiet time lasts after it fired.", "5m", default="5m")
    quiet_scope: Annotated[QuietScope, _Lax] = key(
        "What a quiet time applies to: the group, or only this policy.", "group", default="group"
    )
    schedule: Annotated[Cron | None, Given] = key(
        "Instead of conditions: when it is due, in five fields as cron has them.",
        "0 9 * * mon-fri",
        left_out="it goes by its conditions",
    )
    at: Annotated[At | None, Given] = key(
        "Instead of conditions: the one moment that it is due.",
        "2026-12-24T18:00Z",
        left_out="it goes by its conditions",
    )
    timezone: Annotated[Timezone | None, Given] = key(
        "Where the clock stands that schedule, at and until mean.", "Europe/Paris", implied="UTC"
    )
    floor: Annotated[Annotated[int, Field(ge=1, le=10**6)] | None, Given] = key(
        "From the schedule until the end: no fewer members than this.", 6, unit="members"
    )
    ceiling: Annotated[Annotated[int, Field(ge=0, le=10**6)] | None, Given] = key(
        "From the schedule until the end: no more members than this.", 10, unit="members"
    )
    until: Annotated[Until | None, Given] = key(
        "When the floor or ceiling ends: five fields as cron has them, a moment, or a duration.",
        "0 19 * * mon-fri",
        "2026-12-27T08:00Z",
        "10h",
        left_out="a floor or a ceiling needs it, other changes have no end",
    )
    missed: Annotated[Missed | None, Given] = key(
        "A time that passed while the daemon did not run: once, however late; skip; or within so long.",
        {"within": "10m"},
        "once",
        "skip",
        implied={"within": "1h"},
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        """Tell editors of what needs conditions, and what has its own."""
        schema = super().__get_pydantic_json_schema__(core, handler)
        begun: dict[str, tuple[str, ...]] = dict.fromkeys(("add", "remove", "set"), ("when", "schedule", "at"))
        begun |= {"steps": ("when",)} | dict.fromkeys(
            ("floor", "ceiling", "until", "timezone", "missed"), ("schedule", "at")
        )
        handler.resolve_ref_schema(schema)["dependentSchemas"] = {
            key: {"anyOf": [{"required": [beginning]} for beginning in beginnings]} for key, beginnings in begun.items()
        }
        return schema

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        for place, sentence in misfits(self):
            raise _wrong(sentence, place)
        if self.forecast is not None:
            if beside := sorted(self.model_fields_set - {"forecast"}):
                raise _wrong(f"{beside[0]} does not go beside forecast: it needs no other key", beside[0])
            return self
        if self.followed is None and not self.is_scheduled and not self.when:
            raise _wrong('when is missing: write, for example, when: ["busy"]', "when")
        beside = sorted(self.model_fields_set - {"target", "pass_through"})
        if self.followed is not None and beside:
            kind = "pass_through" if self.target is None else "target"
            raise _wrong(f"{beside[0]} does not go beside {kind}: its out and in have these keys", beside[0])
        return self

    @model_validator(mode="after")
    def _fitting_steps(self) -> Self:
        for place, sentence in self._misfits():
            raise _wrong(sentence, place)
        return self

    def _misfits(self) -> Iterator[tuple[str, str]]:
        """Yield wrong keys with their faults; only the first is reported."""
        if self.steps is None:
            if self.by is not None:
                yield "by", "by names the condition of the steps, and there are no steps: write steps, or remove by"
            return
        yield from self._misfits_of(self.steps)

    def _misfits_of(self, steps: list[StepDocument]) -> Iterator[tuple[str, str]]:
        if self.at_least is not None:
            yield "at_least", "at_least applies to one step: move it into that step"
        if self.by is not None and self.by not in self.when:
            yield "by", f"by: {self.by!a} is not among the conditions of when: name one of them"
        if steps[0].over:
            yield "steps", f"steps: no step covers 0 to {steps[0].over:g} over: begin with over: 0"
        if len({step.verb for step in steps}) > 1:
            yield "steps", "steps: some add and some remove: write two policies, one for each direction"
        for before, after in pairwise(steps):
            if after.over <= before.over:
                yield (
                    "steps",
                    f"steps: over: {after.over:g} comes after over: {before.over:g}: write a larger distance",
                )

    @property
    def is_scheduled(self) -> bool:
        """Whether the policy has a schedule instead of conditions."""
        return self.schedule is not None or self.at is not None

    @property
    def followed(self) -> FollowedDocument | None:
        """What the size follows, instead of conditions."""
        return self.target or self.pass_through

    @property
    def action(self) -> Action:
        """What it does once its conditions hold, as the core sees it."""
        if self.steps is not None:
            steps = tuple(Step(over=step.over, adjustment=self._one(step, step.verb)) for step in self.steps)
            return Steps(by=ConditionId(self.by or self.when[0]), steps=steps)
        return self.outright

    @property
    def outright(self) -> Adjustment:
        """The one adjustment that is written."""
        return self._one(self, next(verb for verb in AdjustmentVerb if getattr(self, verb.value) is not None))

    def _one(self, entry: PolicyDocument | StepDocument, verb: AdjustmentVerb) -> Adjustment:
        amount = getattr(entry, verb.value)
        return Adjustment(
            verb=verb,
            amount=amount.number,
            percent=amount.percent,
            at_least=entry.at_least or 0,
            rounding=self.rounding,
        )


def _wrong(sentence: str, key: str) -> PydanticCustomError:
    return PydanticCustomError("sentence", "{sentence}", {"sentence": sentence, "key": key})
