"""Operations on a group's settings: thresholds, durations, windows, steps and quiet times, whichever owner has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated

from annotated_types import Len

from config.units import GroupId
from handler.identity.rights import Verb
from handler.operations.address import ABOUT, HEADER, one_group, over

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.outcomes import CanaryStatus, SettingsApplied, Shown

Values = Annotated[Mapping[Annotated[str, Len(1, 300)], Annotated[str, Len(1, 40)]], Len(1, 64)]
_VALUES = {ABOUT: "By name, such as conditions.busy.above, as a person writes them."}
Tags = Annotated[str, Len(1, 1000)] | None
_IF_MATCH = {HEADER: "If-Match", ABOUT: "Only if what is declared still has the tag that a dry run answered."}


@over(
    "POST", "/groups/{group}/settings", "apply_settings", verb=Verb.TUNE, on=one_group, body="SettingsBody",
    tag="declarations",
)  # fmt: skip
class ApplySettings:
    """Declare other values of a group, all of them or none, and keep those that were before.

    Values of the API are a new revision. Values of the file are written into it where it is declared writable.
    """

    group: GroupId
    values: Values = field(metadata=_VALUES)
    dry_run: bool = field(default=False, metadata={ABOUT: "Only say what would change."})
    if_match: Tags = field(default=None, metadata=_IF_MATCH)

    async def perform(self, operations: Operations, by: Actor) -> SettingsApplied:
        return await operations.settings.apply(
            self.group, self.values, by, if_match=self.if_match, dry_run=self.dry_run
        )


@over("POST", "/groups/{group}/settings/back", "return_settings", verb=Verb.TUNE, on=one_group, tag="declarations")
class ReturnSettings:
    """Declare the values again that were there before others were applied, unless something else changed since."""

    group: GroupId
    if_match: Tags = field(default=None, metadata=_IF_MATCH)

    async def perform(self, operations: Operations, by: Actor) -> SettingsApplied:
        return await operations.settings.go_back(self.group, by, if_match=self.if_match)


@over(
    "POST",
    "/groups/{group}/canary",
    "begin_canary",
    verb=Verb.TUNE,
    on=one_group,
    body="CanaryBody",
    tag="declarations",
)
class BeginCanary:
    """Compare values with the declared ones on simulated fleets, day after day; another canary of the group ends."""

    group: GroupId
    values: Values = field(metadata=_VALUES)
    goals: Annotated[tuple[Annotated[str, Len(1, 40)], ...], Len(0, 2)] = field(
        default=(), metadata={ABOUT: "Such as over 5m/day and changes 12/day; none: over as declared."}
    )
    switches: bool = field(
        default=False, metadata={ABOUT: "Apply the values once they are proposed, if the API has all of them."}
    )

    async def perform(self, operations: Operations, by: Actor) -> CanaryStatus:
        return await operations.canaries.begin(self.group, self.values, self.goals, by, switches=self.switches)


@over("DELETE", "/groups/{group}/canary", "end_canary", verb=Verb.TUNE, on=one_group, tag="declarations")
class EndCanary:
    """Compare no more; nothing that is declared changes."""

    group: GroupId

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.canaries.end(self.group, by)
        return {"group": self.group, "ended": True}


SettingOperation = ApplySettings | ReturnSettings | BeginCanary | EndCanary
