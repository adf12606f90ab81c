"""Which seats are ours to touch."""

from __future__ import annotations

from config.errors import Permanent
from config.units import MemberName
from handler.launches import LaunchId


def ours(member: MemberName) -> MemberName:
    """The member's name, if it is a launch id: the seats of others are never touched.

    Raises:
        Permanent: it is not.
    """
    if LaunchId.parse(member) is None:
        raise Permanent(f"{member!r} is not a launch id: seats of others are never touched")
    return member
