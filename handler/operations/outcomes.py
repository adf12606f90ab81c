"""The outcomes of operations, which their callers get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from config.units import GroupId, Instant, MemberName
from handler.engine.assembly import Reloaded
from handler.engine.declaring import Redeclared
from handler.leasing.workers import ClusterStatus
from handler.operations.member_log import MemberLog
from handler.operations.setting_changes import SettingChange
from handler.planning.member_details import CloseUp
from handler.planning.plan import Snapshot
from handler.planning.status import Adoption, GroupStatus, RollStatus
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import Plan
from handler.planning.world import World
from handler.ports.canaries import Canary
from handler.ports.store import GroupEdit
from handler.recording.status import RecordingStatus
from handler.tuning.canary import Judgement
from trigger.reasons import Reason
from trigger.requests import Decision, RequestOutcome

_MOVED = frozenset({Reason.SCALED_OUT, Reason.SCALED_IN, Reason.FORCED, Reason.ADVISED, Reason.WAITING_TURN})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReply:
    """The answer to an alarm or a policy execution from outside."""

    request: str
    repeated: bool
    """A request with this id was answered before, so this one changed nothing."""
    reason: Reason
    desired_from: int | None
    desired_to: int | None
    answer: RequestOutcome | None
    """``None`` when repeated."""

    @property
    def accepted(self) -> bool:
        """Whether the size moves, now or in the group's turn, or would if the group did not only advise."""
        return self.reason in _MOVED


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionStatus:
    """One revision of a group's definition."""

    number: int
    at: Instant
    """When it was first in force."""
    profile: str
    """Digest of the profile that it makes members from."""
    changes: tuple[str, ...]
    """The differences from the revision before, as text; empty for the oldest that is kept."""
    members: int
    """How many members were made from its profile."""
    converged_at: Instant | None
    """When every member was made from it and no step was left; ``None``: never so far."""
    declared: bool
    """It is the file's present declaration."""
    in_force: bool
    """New members are made from its profile."""
    edits: tuple[GroupEdit, ...]
    """Edits of the file that concern the group while this revision was the newest; newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The outcome of a rollback or a roll."""

    group: GroupId
    words: str
    roll: RollStatus | None
    """The group's roll now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPass:
    """The outcome of a pass for one member."""

    group: GroupId
    member: MemberName
    outcomes: tuple[StepOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsApplied:
    """The outcome of applying settings, or of going back."""

    group: GroupId
    dry_run: bool = True
    """Nothing was changed."""
    change: SettingChange | None
    """``None``: the values are declared already."""
    revision: int | None = None
    """Of what is declared over the API, which has values of these; ``None``: the file has them all."""
    words: str = ""
    """What was changed, with its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryStatus:
    """A setting that is tried beside the declared one, and what its days say."""

    group: GroupId
    canary: Canary | None
    """``None``: the group has none."""
    judgement: Judgement | None
    """Likewise."""


Shown: TypeAlias = Mapping[str, object]
"""The answer's fields, for an operation whose outcome has no class of its own."""

Done: TypeAlias = (
    Decision
    | RequestReply
    | GroupStatus
    | Plan
    | World
    | Snapshot
    | CloseUp
    | MemberPass
    | MemberLog
    | Steered
    | Reloaded
    | Redeclared
    | Adoption
    | RecordingStatus
    | ClusterStatus
    | SettingsApplied
    | CanaryStatus
    | Shown
)
"""Every outcome of an operation."""
