"""The port to clouds with a will of their own: what of them stands in the way of members, asked while all is well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from config.errors import Permanent, Transient
from config.model.catalogue import Profile
from config.units import Instant
from handler.convergence.traffic import Traffic
from handler.planning.desired import Definition
from handler.ports.orchestrator import Orchestrator


@runtime_checkable
class Remarking(Protocol):
    """What an orchestrator has besides, whose cloud does more than it is told.

    It raises exactly `Transient` and `Permanent`.
    """

    def remarks(self, profile: Profile) -> Sequence[str]:
        """Say what stands in the way of new members, or would fight for them, and how to mend it.

        A group that is as large as it should be asks for nothing, and would learn of it only when it must grow. So
        each pass asks; what was read some seconds ago is good enough. Nothing is changed.
        """
        ...


def remarks_of(
    orchestrator: Orchestrator, definition: Definition, traffic: Traffic, clock: Callable[[], Instant]
) -> tuple[str, ...]:
    """Ask a cloud that has remarks for those on a group. That it does not answer is told where more depends on it."""
    if not isinstance(orchestrator, Remarking):
        return ()
    try:
        with traffic.look(definition.cloud, clock) as may:
            return tuple(orchestrator.remarks(definition.profile)) if may else ()
    except Permanent as error:
        return (str(error),)
    except Transient:
        return ()
