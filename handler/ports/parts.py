"""The port to clouds that make parts of members beside their machines: volumes, ports, addresses."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from config.errors import Permanent
from config.model.catalogue import Profile
from config.model.parts import MemberPart
from config.units import GroupId, MemberName, PartName
from handler.planning.steps import MakePart, PartStep, ReleasePart, RemovePart
from handler.planning.world import MadePart, PartListing
from handler.ports.orchestrator import Orchestrator


@runtime_checkable
class PartMaker(Protocol):
    """What an orchestrator has besides, where its cloud makes parts. It raises exactly `Transient` and `Permanent`."""

    def parts(self, group: GroupId) -> PartListing:
        """Return the parts of the group's members, by mark, and whether the listing is complete."""
        ...

    def all_parts(self) -> PartListing:
        """List those of every group of this installation, as `parts` does those of one: of groups forgotten too."""
        ...

    def find_part(self, member: MemberName, name: PartName) -> MadePart | None:
        """Ask for one part. ``None`` is a *definite* not-found; anything less certain raises `Transient`."""
        ...

    def make_part(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        """Make a part that bears the mark of ``member`` and its own name. There already is success.

        ``profile`` declares it, and also describes the machine that will use it.
        """
        ...

    def remove_part(self, member: MemberName, name: PartName) -> None:
        """Begin to remove a part. Gone already is success."""
        ...

    def release_part(self, member: MemberName, name: PartName) -> None:
        """Take our mark off a part, and leave it where it is. Nothing there bears it: success."""
        ...


def change_part(orchestrator: Orchestrator, step: PartStep, profile: Profile) -> None:
    """Have one part made, removed or released.

    Raises:
        Transient: it may work later.
        Permanent: this cloud makes no parts, or will not.
    """
    if not isinstance(orchestrator, PartMaker):
        raise Permanent(f"the cloud of {step.member} makes no parts, so none can be changed")
    match step:
        case MakePart(member=member, part=name):
            declared = next((part for part in profile.parts if part.name == name), None)
            if declared is None:
                raise Permanent(f"the profile {profile.id} declares no part {name}")
            orchestrator.make_part(member, declared, profile)
        case RemovePart(member=member, part=name):
            orchestrator.remove_part(member, name)
        case ReleasePart(member=member, part=name):
            orchestrator.release_part(member, name)
