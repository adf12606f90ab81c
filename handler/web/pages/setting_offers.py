"""What a person may do with settings that were tried, or applied: each with what will happen, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.units import GroupId
from handler.operations.setting_changes import SettingChange
from handler.operations.setting_operations import ApplySettings, BeginCanary, EndCanary, ReturnSettings
from handler.ports.settings import AppliedSettings
from handler.web.pages.figures import minute
from handler.web.pages.offer import Offer


def apply_offer(group: GroupId, values: Mapping[str, str], change: SettingChange) -> Offer:
    """Offer to apply values, which holds only for what was shown."""
    return Offer(
        operation=ApplySettings(group=group, values=values, if_match=change.tag),
        label="Apply",
        happens=tuple(_happens(group, change)),
        lines=lines_of(change),
        done="The values are declared.",
    )


def return_offer(group: GroupId, applied: AppliedSettings, change: SettingChange) -> Offer:
    """Offer to go back to the values that were there before."""
    return Offer(
        operation=ReturnSettings(group=group, if_match=change.tag),
        label="Go back",
        happens=(f"This takes back what {applied_words(applied)}", *_happens(group, change)),
        lines=lines_of(change),
        done="The earlier values are declared.",
    )


def canary_offer(group: GroupId, values: Mapping[str, str], change: SettingChange) -> Offer:
    """Offer to compare values with the declared ones, day after day."""
    return Offer(
        operation=BeginCanary(group=group, values=values),
        label="Run as a canary",
        happens=(
            "Each day (UTC) from now on is replayed on two simulated fleets: with the declared values, and with these.",
            (
                "After three days this page proposes them if they are over the limit for no longer, and take fewer "
                "member-hours."
            ),
            "Nothing that is declared changes. Another canary of the group ends.",
        ),
        lines=lines_of(change),
        done="The first whole day is compared soon after it has ended.",
    )


def end_canary_offer(group: GroupId) -> Offer:
    """Offer to compare no more."""
    return Offer(
        operation=EndCanary(group=group),
        label="Stop",
        happens=("No more days are compared, and those that were are forgotten. Nothing that is declared changes.",),
        done="No more days are compared.",
    )


def applied_words(applied: AppliedSettings) -> str:
    """Return who applied what, and when."""
    values = "; ".join(value.words for value in applied.values)
    act = "went back to" if applied.is_return else "applied"
    return f"{applied.by} {act} at {minute(applied.at)} UTC: {values}."


def lines_of(change: SettingChange) -> tuple[str, ...]:
    """Return the lines of the file and the values of the API that change."""
    return (*change.patch, *change.over_api)


def _happens(group: GroupId, change: SettingChange) -> Iterator[str]:
    if change.by_hand:
        yield "These lines of the file are for a person to change: download the patch, apply it, and reload."
    elif change.patch:
        yield "These lines of the file change, and the file is loaded again."
    if change.over_api:
        yield "These values that the API owns change, as a new revision."
    if others := ", ".join(each for each in change.groups if each != group):
        yield f"Other groups use them, too: {others}."
    if change.first is not None:
        yield f"The last tick: {change.first.declared}. With these values: {change.first.changed}."
