"""What members are called on CloudStack. Pure.

A machine has a host name, unique in its network and not to be changed while it runs; a display name, for people; and
details, where it bears its mark. The host name decides whose it is: it is there from the first moment, in the call that
makes the machine, and hands that edit details or display names do not reach it. A mark that says otherwise speaks
against it.
"""

from __future__ import annotations

import base64
from hashlib import blake2b

from config.units import MemberName
from handler.launches import LaunchId

MARK = "trimtab"
"""The key of the detail that holds the member's name."""
_NETBIOS = 15


def short_name(id: LaunchId) -> str:
    """A host name of at most 15 characters, the same for the same launch.

    >>> short_name(LaunchId(installation="k3f9ab", group="web", sequence=12))
    'web-k3f9ab-12'
    >>> short_name(LaunchId(installation="k3f9ab", group="checkout", sequence=12))
    'chec-r6hdqgtwfa'
    """
    if len(id.name) <= _NETBIOS:
        return id.name
    digest = base64.b32encode(blake2b(id.name.encode(), digest_size=10).digest()).decode().lower()
    return f"{id.group[:4].rstrip('-')}-{digest[:10]}"


def host_name(id: LaunchId, *, short: bool) -> str:
    """What a new machine is called."""
    return short_name(id) if short else id.name


def member_of(installation: str, *, host: str, display: str, mark: str | None) -> MemberName | None:
    """Which member of this installation a machine is; ``None``: it is somebody else's.

    >>> member_of("k3f9ab", host="web-k3f9ab-12", display="renamed by hand", mark=None)
    'web-k3f9ab-12'
    >>> member_of("k3f9ab", host="by-hand", display="web-k3f9ab-12", mark=None) is None
    True
    """
    for said in (mark, host, display):
        launch = LaunchId.parse(said or "")
        if launch is not None and launch.installation == installation:
            fits = host in {launch.name, short_name(launch)} and mark in {None, launch.name}
            return launch.name if fits else None
    return None
