"""The closed union of all operations, from which routes are made, and the one function that performs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, get_args

from handler.operations.account_operations import AccountOperation
from handler.operations.address import right_of
from handler.operations.auditing import audited, refused
from handler.operations.authorising import Forbidden
from handler.operations.daemon_operations import DaemonOperation
from handler.operations.declaration_operations import DeclarationOperation
from handler.operations.group_operations import GroupOperation
from handler.operations.key_operations import KeyOperation
from handler.operations.lookup import NoSuch
from handler.operations.member_operations import MemberOperation
from handler.operations.setting_operations import SettingOperation
from handler.operations.size_operations import SizeOperation
from handler.operations.user_operations import UserOperation

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.outcomes import Done

Operation: TypeAlias = (
    SizeOperation
    | GroupOperation
    | MemberOperation
    | DaemonOperation
    | AccountOperation
    | UserOperation
    | KeyOperation
    | DeclarationOperation
    | SettingOperation
)
OPERATIONS: tuple[type[Operation], ...] = get_args(Operation)


async def perform(operations: Operations, operation: Operation, by: Actor) -> Done:
    """Perform an operation and return its outcome; the audit trail has both.

    Args:
        operations: the daemon's interface, which performs it.
        operation: the request; its fields are already validated.
        by: the user, program or signal that asks; the history records its name.

    Raises:
        Forbidden: the actor lacks the right, and nothing has changed.
        NoSuch: a name is unknown, or not the actor's.
        Refused: the daemon will not do it, and nothing has changed.
        StoreError: the store cannot be read or written.
    """
    try:
        operations.authorising.check(by, right_of(operation))
    except (Forbidden, NoSuch) as error:
        await refused(operations.trail, operations.now(), operation, by, error)
        raise
    return await audited(operations.trail, operations.now, operation, by, lambda: operation.perform(operations, by))
