"""Freezes of a group that a person can begin and end, each with what will happen, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from config.model.effects import FrozenDirection
from config.units import Seconds, format_span
from handler.operations.size_operations import FreezeGroup, UnfreezeGroup
from handler.planning.status import GroupStatus
from handler.web.pages.figures import minute
from handler.web.pages.offer import Offer
from trigger.policies.manual_freezes import ManualFreeze

SPANS: Final = (900.0, 3600.0, 4 * 3600.0, 8 * 3600.0, 86400.0, 3 * 86400.0, 7 * 86400.0)
"""Seconds that a dialog offers."""
AT_FIRST: Final = 3600.0
"""Seconds that a dialog begins with."""
_LABELS: Final = MappingProxyType(
    {
        FrozenDirection.BOTH: "Freeze",
        FrozenDirection.IN: "Shield from scale-in",
        FrozenDirection.OUT: "Freeze growth",
    }
)
_EFFECTS: Final = MappingProxyType(
    {
        FrozenDirection.BOTH: "changes the size",
        FrozenDirection.IN: "makes the group smaller",
        FrozenDirection.OUT: "makes the group larger",
    }
)


def freezing(status: GroupStatus, lasts: Seconds) -> Iterator[Offer]:
    """Yield a freeze of both directions and of each for ``lasts`` seconds, and the end of each that there is."""
    group = status.group
    for direction in (FrozenDirection.BOTH, FrozenDirection.IN, FrozenDirection.OUT):
        earlier = [each for each in status.freezes if _meet(each.direction, direction)]
        yield Offer(
            operation=FreezeGroup(group=group, lasts=lasts, direction=direction),
            label=_LABELS[direction],
            happens=(
                f"For {format_span(lasts)} no policy and no alarm {_EFFECTS[direction]}; persons still may.",
                "Lost and broken members are replaced, and bounds and floors of alerts hold.",
                *(f"It takes the place of what {_until(each)}." for each in earlier),
            ),
            done=f"{group}: {_LABELS[direction].lower()} for {format_span(lasts)}.",
        )
    for each in status.freezes:
        yield Offer(
            operation=UnfreezeGroup(group=group, direction=each.direction),
            label=f"End: {_LABELS[each.direction].lower()}",
            happens=(f"What {_until(each)} ends now. Alerts and declared windows that freeze go on.",),
            done=f"{group} is no longer frozen by a person.",
        )


def _meet(one: FrozenDirection, other: FrozenDirection) -> bool:
    return one is other or FrozenDirection.BOTH in {one, other}


def _until(freeze: ManualFreeze) -> str:
    because = f" ({freeze.because})" if freeze.because else ""
    return f"{freeze.by} froze until {minute(freeze.until)} UTC{because}"
