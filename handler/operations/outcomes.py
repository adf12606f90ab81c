"""What becomes of an operation: the values that its caller is answered with, and the error of an unknown name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from config.units import GroupId, Instant, MemberName
from handler.engine.assembly import Reloaded
from handler.planning.member_details import CloseUp
from handler.planning.plan import Snapshot
from handler.planning.status import Adoption, GroupStatus, RollStatus
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import Plan
from handler.planning.world import World
from handler.ports.store import GroupEdit
from handler.recording.status import RecordingStatus
from trigger.reasons import Reason
from trigger.requests import Decision, RequestOutcome


class NoSuch(LookupError):
    """There is no such group, policy or member; the message names the nearest one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The answer to an alarm or a policy execution from outside."""

    request: str
    repeated: bool
    """This id was answered before; nothing was done now."""
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    answer: RequestOutcome | None
    """``None`` when repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionStatus:
    """One revision of a group's definition."""

    number: int
    at: Instant
    """When it was first in force."""
    profile: str
    """Digest of what members are made of under it."""
    changes: tuple[str, ...]
    """What differs from the revision before, in words; nothing of the oldest that is kept."""
    members: int
    """Members that are made of its profile."""
    converged_at: Instant | None
    """When every member was made of it and nothing was left to do; ``None``: never so far."""
    declared: bool
    """It is what the file says now."""
    in_force: bool
    """New members are made of its profile."""
    edits: tuple[GroupEdit, ...]
    """What was edited in the file while it was the newest, in all that the group goes by; newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """What became of a rollback or a roll."""

    group: GroupId
    words: str
    roll: RollStatus | None
    """The group's roll, as it stands now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPass:
    """What a pass for one member did."""

    group: GroupId
    member: MemberName
    outcomes: tuple[StepOutcome, ...]


Shown: TypeAlias = Mapping[str, object]
"""Of an operation that has nothing to say but what it did: the fields of the answer."""

Done: TypeAlias = (
    Decision
    | Asked
    | GroupStatus
    | Plan
    | World
    | Snapshot
    | CloseUp
    | MemberPass
    | Steered
    | Reloaded
    | Adoption
    | RecordingStatus
    | Shown
)
"""What an operation may become."""
