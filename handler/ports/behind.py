"""What is remembered of the balancers that groups are behind; as a port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from config.units import BalancerId, GroupId
from handler.planning.attachments import Attachment
from handler.planning.desired import Definition
from handler.planning.provisioning import Binding
from handler.planning.world import Record
from handler.ports.stored import Event


class BehindStore(Protocol):
    """Attachments by a person's word, and what was made for groups."""

    def attach(
        self, act: Event, definition: Definition, attachments: Sequence[Attachment], records: Sequence[Record]
    ) -> None:
        """Write behind what a group's members are and will be, and why, in one transaction.

        ``attachments`` are all that the group has then; ``records`` are of the members whom it changes.
        """
        ...

    def bindings(self, group: GroupId) -> tuple[Binding, ...]:
        """What was made for a group, sorted by balancer."""
        ...

    def bind(self, group: GroupId, binding: Binding) -> None:
        """Write down what was made for a group, or is about to be; insert or replace."""
        ...

    def unbind(self, group: GroupId, balancer: BalancerId) -> None:
        """Forget what was made for a group, once it is gone."""
        ...
