"""Names of members on CloudStack. Pure.

A machine has a host name, unique in its network and not to be changed while it runs; a display name, for people; and
details, where it bears its mark. The host name decides whose it is: it is there from the first moment, in the call that
makes the machine, and hands that edit details or display names do not reach it. A mark that says otherwise speaks
against it.

A machine that is there already can be given to Trimtab, or taken from it: its tag says so, and has the last word. Tags
are never copied with a machine, two hands cannot write the same one, and they need no stop.
"""

from __future__ import annotations

import base64
from hashlib import blake2b

from config.units import MemberName
from handler.planning.launches import LaunchId

MARK = "trimtab"
"""The key of the detail that holds the member's name."""
TAG = "trimtab"
"""The key of the tag that holds the name of a member that was given to Trimtab."""
RELEASED = "trimtab-released"
"""The key of the tag that a machine has which was made as a member, and is none any more unless it is given back."""
CLAIM = "trimtab-claim"
"""The key of the detail, and of the tag, that hold the store generation that claimed the machine."""
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
    """Return a new machine's host name."""
    return short_name(id) if short else id.name


def member_of(
    installation: str, *, host: str, display: str, mark: str | None, tag: str | None = None
) -> MemberName | None:
    """Return which member of this installation a machine is; ``None``: it is foreign.

    >>> member_of("k3f9ab", host="web-k3f9ab-12", display="renamed by hand", mark=None)
    'web-k3f9ab-12'
    >>> member_of("k3f9ab", host="by-hand", display="web-k3f9ab-12", mark=None) is None
    True
    >>> member_of("k3f9ab", host="by-hand", display="web-k3f9ab-12", mark=None, tag="web-k3f9ab-12")
    'web-k3f9ab-12'
    >>> member_of("k3f9ab", host="web-k3f9ab-12", display="web-k3f9ab-12", mark=None, tag=RELEASED) is None
    True
    """
    if tag is not None:
        given = LaunchId.parse(tag)
        return given.name if given is not None and given.installation == installation else None
    for text in (mark, host, display):
        launch = LaunchId.parse(text or "")
        if launch is not None and launch.installation == installation:
            fits = host in {launch.name, short_name(launch)} and mark in {None, launch.name}
            return launch.name if fits else None
    return None


def mark_of(*, host: str, mark: str | None, tag: str | None) -> str | None:
    """Return a machine's mark of any installation, as far as it can be recognised; ``None``: there is none.

    >>> mark_of(host="web-zzzzzz-1", mark=None, tag=None)
    'web-zzzzzz-1'
    >>> mark_of(host="web-zzzzzz-1", mark=None, tag=RELEASED) is None
    True
    """
    texts = (mark, host) if tag is None else (tag,)
    return next((each for each in texts if each is not None and LaunchId.parse(each) is not None), None)
