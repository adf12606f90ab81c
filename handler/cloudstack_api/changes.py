"""Carry changes out through the operations that every interface uses, and put their refusals in CloudStack's terms."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from config.errors import Refused, StoreError
from config.model.sections import Section
from handler.cloudstack_api.faults import BOUND_BY_USERS, CloudstackFault, FaultCode, wrong
from handler.cloudstack_api.handles import Handles, Key, new_uuid
from handler.engine.declaring import Redeclared
from handler.engine.exclusive import ForeignMachines, UnreadableBalancer
from handler.identity.actors import Actor
from handler.operations.authorising import Forbidden
from handler.operations.declaration_operations import ApplyDeclarations, Declare, DeleteDeclared, Redeclare
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.registry import Operation, perform
from handler.ports.cloudstack_api import StoredHandle

Body = Mapping[str, object]


class Changes:
    """What one caller changes. Each change is whole or not at all, and in the audit trail."""

    def __init__(self, operations: Operations, handles: Handles, by: Actor) -> None:
        self._operations, self._handles, self._by = operations, handles, by

    async def make(self, section: Section, name: str, body: Body, details: Mapping[str, str]) -> StoredHandle:
        """Declare an entity, and keep what only this API has of it.

        Raises:
            CloudstackFault: it is refused.
        """
        async with self._handles.turn:  # a list that comes between would give the entity another UUID
            done = await self._declared(Declare(section=section, name=name, declared=body))
            handle = StoredHandle(
                section=section,
                id=done.changes[0].key[1],
                uuid=new_uuid(),
                made_at=self._operations.now(),
                details=details,
            )
            with in_cloudstacks_terms():
                await self._handles.begin(handle, done.revision)
        return handle

    async def replace(self, key: Key, body: Body, name: str | None = None) -> None:
        """Replace the document of an entity, and its display name if one is given. Raises as `make`."""
        section, entity_id = key
        await self._declared(Redeclare(section=section, id=entity_id, declared=body, name=name))

    async def replace_all(self, bodies: Mapping[Key, Body]) -> None:
        """Replace the documents of several entities at once. Raises as `make`."""
        sections: dict[Section, dict[str, Body]] = {}
        for (section, entity_id), body in bodies.items():
            sections.setdefault(section, {})[entity_id] = body
        await self._declared(ApplyDeclarations(sections=sections))

    async def delete(self, key: Key, *, members: bool = False) -> None:
        """Delete an entity; the members of a group leave first, if ``members`` allows it. Raises as `make`."""
        section, entity_id = key
        await self._declared(DeleteDeclared(section=section, id=entity_id, members=members))

    async def note(self, key: Key, details: Mapping[str, str]) -> None:
        """Replace what only this API has of an entity. Raises as `make`."""
        with in_cloudstacks_terms():
            await self._handles.note(key, details)

    async def perform(self, operation: Operation) -> object:
        """Perform an operation in the caller's name. Raises as `make`."""
        with in_cloudstacks_terms():
            return await perform(self._operations, operation, self._by)

    async def _declared(self, operation: Declare | Redeclare | ApplyDeclarations | DeleteDeclared) -> Redeclared:
        with in_cloudstacks_terms():
            done = await perform(self._operations, operation, self._by)
        if not isinstance(done, Redeclared):
            raise AssertionError(f"{operation} is no change of the declaration")
        if done.problems:
            raise wrong("; ".join(problem.message for problem in done.problems[:3]))
        return done


@contextlib.contextmanager
def in_cloudstacks_terms() -> Iterator[None]:
    """Raise what an operation raises as a `CloudstackFault`."""
    try:
        yield
    except Forbidden as error:
        raise CloudstackFault(FaultCode.UNAUTHORIZED, str(error)) from error
    except ForeignMachines as error:
        raise wrong(BOUND_BY_USERS) from error
    except UnreadableBalancer as error:
        raise CloudstackFault(FaultCode.UNAVAILABLE, str(error)) from error
    except (Refused, NoSuch) as error:
        raise wrong(str(error)) from error
    except StoreError as error:
        raise CloudstackFault(FaultCode.INTERNAL, str(error)) from error
