"""Refuse to give an exclusive group a balancer with foreign machines, or one that may have some: it is unreadable."""

from __future__ import annotations

from collections.abc import Callable, Collection

from config.errors import DriverError, Refused
from config.model.balancers import Balancer
from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.planning.exclusive import occupied, to_be_read
from handler.ports.balancer import Balancer as BalancerPort
from handler.ports.balancer import registered_with


class ForeignMachines(Refused):
    """Foreign machines are registered with a balancer of an exclusive group."""


class UnreadableBalancer(Refused):
    """A balancer of an exclusive group cannot be read, so foreign machines there cannot be excluded now."""


def refuse_foreign(
    before: Catalogue,
    after: Catalogue,
    groups: Collection[GroupId],
    balancer_for: Callable[[Balancer], BalancerPort],
    installation: str,
) -> None:
    """Read every balancer that exclusive groups would gain. Blocks.

    Raises:
        ForeignMachines: foreign machines are registered there.
        UnreadableBalancer: it cannot be read.
    """
    for group, balancer in to_be_read(before, after, groups):
        try:
            foreign = registered_with(balancer_for(balancer), installation).foreign
        except DriverError as error:
            raise UnreadableBalancer(
                f"{group.id} is exclusive, and whether {balancer.id} has foreign machines cannot be read: {error}"
            ) from error
        if foreign:
            raise ForeignMachines(occupied(group.id, balancer.id, foreign))
