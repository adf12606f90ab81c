"""Every operation there is, as one closed union from which routes are made, and the one way to have one done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, get_args

from handler.operations.daemon_operations import DaemonOperation
from handler.operations.group_operations import GroupOperation
from handler.operations.member_operations import MemberOperation
from handler.operations.size_operations import SizeOperation

if TYPE_CHECKING:
    from handler.operations.desk import Desk
    from handler.operations.outcomes import Done

Operation: TypeAlias = SizeOperation | GroupOperation | MemberOperation | DaemonOperation
OPERATIONS: tuple[type[Operation], ...] = get_args(Operation)


async def perform(desk: Desk, operation: Operation, by: str) -> Done:
    """Have an operation done, and say what became of it.

    Args:
        desk: of the daemon that is to do it.
        operation: what is asked, with every field as its type says.
        by: who asks; it is recorded with what was done.

    Raises:
        NoSuch: a name is unknown.
        Refused: it will not be done, and nothing has changed.
        StoreError: the store cannot be read or written.
    """
    return await operation.perform(desk, by)
