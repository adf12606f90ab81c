"""What a page shows of a setting that could be declared, and of one that is a canary. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never
from urllib.parse import urlencode

from config.units import GroupId
from handler.operations.outcomes import CanaryStatus
from handler.operations.setting_changes import SettingChange
from handler.ports.canaries import FleetFigures
from handler.ports.settings import SettingsOwner
from handler.tuning.canary import Verdict
from handler.web.pages.figures import minute, number
from handler.web.pages.frame import href

_VERDICTS = {Verdict.WAIT: "Too early to say", Verdict.SWITCH: "It does better", Verdict.STAY: "It does no better"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingActions:
    """How a page may apply a setting."""

    path: str
    """Of the page."""
    query: str
    """The values that were asked about."""
    acts: bool
    """A person is logged in, whose page can send requests."""
    writable: bool
    """The file may be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeShown:
    """What it takes to declare the setting."""

    refused: str
    """Why it cannot be declared; empty: it can."""
    patch: tuple[str, ...]
    over_api: tuple[str, ...]
    others: str
    """Other groups that it touches."""
    declared: str
    """The decision of the last tick, in words; empty: not known."""
    changed: str
    """What that would have been with this setting."""
    dialog: str = ""
    """The path of the dialog that applies it; empty: it cannot be applied here."""
    download: str = ""
    """The path of the patch; empty: the file owns none of the values."""
    canary: str = ""
    """The path of the dialog that has it compared day after day; empty: this page can send no request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryShown:
    """A setting that is compared with the declared one, day after day."""

    values: str
    since: str
    rows: tuple[tuple[str, str, str, str], ...]
    """Of each setting: its name, member-hours, minutes over the limit, and changes."""
    days: int
    verdict: str
    problem: str
    """Why the last day could not be compared; empty: it was, or none has ended so far."""
    tried: str
    """The path of this page with these values."""
    dialog: str
    """The path of the dialog that ends it; empty: this page can send no request."""


def change_of(
    group: GroupId, change: SettingChange | str | None, applying: SettingActions | None = None
) -> ChangeShown | None:
    """Return what a page shows of a change; a text says why there is none, ``None``: the setting is declared."""
    match change:
        case None:
            return None
        case str():
            return ChangeShown(refused=change, patch=(), over_api=(), others="", declared="", changed="")
        case SettingChange(first=first):
            return ChangeShown(
                refused="",
                patch=change.patch,
                over_api=change.over_api,
                others=", ".join(each for each in change.groups if each != group),
                declared="" if first is None else first.declared,
                changed="" if first is None else first.changed,
                dialog=f"{applying.path}/dialog?{applying.query}" if applying and _applies(change, applying) else "",
                download=f"{applying.path}/patch?{applying.query}" if applying and change.patch else "",
                canary=f"{applying.path}/dialog?act=canary&{applying.query}" if applying and applying.acts else "",
            )
        case _:
            assert_never(change)


def _applies(change: SettingChange, applying: SettingActions) -> bool:
    match change.owner:
        case SettingsOwner.API | SettingsOwner.BOTH:
            return applying.acts
        case SettingsOwner.FILE:
            return applying.acts and applying.writable
        case _:
            assert_never(change.owner)


def canary_of(status: CanaryStatus, *, acts: bool) -> CanaryShown | None:
    """Return what a page shows of a canary; ``None``: there is none."""
    canary, judgement = status.canary, status.judgement
    if canary is None or judgement is None:
        return None
    path = f"{href(status.group)}/tune"

    def row(name: str, figures: FleetFigures) -> tuple[str, str, str, str]:
        return name, number(figures.hours), number(figures.over), number(float(figures.changes))

    return CanaryShown(
        values=", ".join(f"{name} = {value}" for name, value in canary.values.items()),
        since=f"{minute(canary.at)} UTC by {canary.by}",
        rows=(row("As declared", judgement.declared), row("This setting", judgement.tried)) if canary.days else (),
        days=len(canary.days),
        verdict=f"{_VERDICTS[judgement.verdict]}: {judgement.because}.",
        problem=canary.problem,
        tried=f"{path}?{urlencode(canary.values)}",
        dialog=f"{path}/dialog?act=stop" if acts else "",
    )
