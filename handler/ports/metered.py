"""The port to clouds that say how much may be used of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from config.model.catalogue import Profile
from handler.planning.headroom import Quota


@runtime_checkable
class Metered(Protocol):
    """What an orchestrator has besides, where its cloud counts. It raises exactly `Transient` and `Permanent`."""

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Read what limits new members of a profile, and what one of them takes of it.

        A limit that the cloud does not tell is left out: not known is not none, and a creation says so if it is met.
        The names of limits are the same for every profile, since what they count is shared. Nothing is changed.
        """
        ...
