"""Carry changes out through the operations that every interface uses, and put their refusals in CloudStack's terms."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping

from config.errors import Refused, StoreError
from config.model.sections import Section
from config.units import AccountId, GroupId
from handler.cloudstack_api.faults import BOUND_BY_USERS, CloudstackFault, FaultCode, wrong
from handler.cloudstack_api.handles import Handles, Key, new_uuid
from handler.engine.declared import Declaration
from handler.engine.declaring import Redeclared
from handler.engine.exclusive import ForeignMachines, UnreadableBalancer
from handler.identity.actors import Actor
from handler.identity.audit import AuditResult, entry_by
from handler.identity.rights import OnEntity, Right, Verb
from handler.operations.authorising import Forbidden
from handler.operations.declaration_operations import ApplyDeclarations, Declare, DeleteDeclared, Redeclare
from handler.operations.declaration_proposals import misread
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.registry import Operation, perform
from handler.ports.cloudstack_api import StoredHandle

Body = Mapping[str, object]
_NOTED = "note_for_cloudstack"
"""The act in the audit trail that replaces what only this API has of an entity."""


class Changes:
    """What one caller changes. Each change is whole or not at all, and in the audit trail."""

    def __init__(
        self, operations: Operations, handles: Handles, by: Actor, declared: Callable[[], Declaration]
    ) -> None:
        self._operations, self._handles, self._by, self._declared = operations, handles, by, declared

    async def make(self, section: Section, name: str, body: Body, details: Mapping[str, str]) -> StoredHandle:
        """Declare an entity, and keep what only this API has of it.

        Raises:
            CloudstackFault: it is refused.
        """
        self._refuse_misread(section, self._by.account, body)
        async with self._handles.turn:  # a list that comes between would give the entity another UUID
            done = await self._performed(Declare(section=section, name=name, declared=body))
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
        self._refuse_misread(section, self._account(key), body)
        await self._performed(Redeclare(section=section, id=entity_id, declared=body, name=name))

    async def replace_all(self, bodies: Mapping[Key, Body]) -> None:
        """Replace the documents of several entities at once, those of each account. Raises as `make`."""
        for key, body in bodies.items():
            self._refuse_misread(key[0], self._account(key), body)
        for account in dict.fromkeys(map(self._account, bodies)):
            sections: dict[Section, dict[str, Body]] = {}
            for (section, entity_id), body in bodies.items():
                if self._account((section, entity_id)) == account:
                    sections.setdefault(section, {})[entity_id] = body
            await self._performed(ApplyDeclarations(sections=sections, account=account))

    async def delete(self, key: Key, *, members: bool = False) -> None:
        """Delete an entity; the members of a group leave first, if ``members`` allows it. Raises as `make`."""
        section, entity_id = key
        await self._performed(DeleteDeclared(section=section, id=entity_id, members=members))

    async def note(self, key: Key, details: Mapping[str, str]) -> None:
        """Replace what only this API has of an entity; the right to declare it is enough. Raises as `make`."""
        with in_cloudstacks_terms():
            try:
                self._operations.authorising.check(self._by, Right(Verb.TUNE, OnEntity(*key)))
            except (Forbidden, NoSuch) as error:
                await self._write(key, details, AuditResult.FORBIDDEN, outcome=str(error))
                raise
            if self._handles.known.of(key).details == details:
                return
            asked = await self._write(key, details, AuditResult.ASKED)
            await self._handles.note(key, details)
            await self._write(key, details, AuditResult.DONE, of=asked)

    async def perform(self, operation: Operation) -> object:
        """Perform an operation in the caller's name. Raises as `make`."""
        with in_cloudstacks_terms():
            return await perform(self._operations, operation, self._by)

    async def _performed(self, operation: Declare | Redeclare | ApplyDeclarations | DeleteDeclared) -> Redeclared:
        done = await self.perform(operation)
        if not isinstance(done, Redeclared):
            raise AssertionError(f"{operation} is no change of the declaration")
        if done.problems:
            raise wrong("; ".join(problem.message for problem in done.problems[:3]))
        return done

    async def _write(
        self, key: Key, details: Mapping[str, str], result: AuditResult, *, outcome: str = "", of: int | None = None
    ) -> int:
        """Write a row of the audit trail, with the names of the details alone, and return its number."""
        section, entity_id = key
        groups = (GroupId(entity_id),) if section is Section.GROUPS else ()
        on, given = f"/client/api {section.value}/{entity_id}", "" if of else json.dumps({"details": sorted(details)})
        more = {"on": on, "groups": groups, "given": given, "outcome": outcome, "of": of}
        entry = entry_by(self._by, self._operations.now(), _NOTED, result, **more)
        return (await self._operations.trail.write(entry)).number

    def _account(self, key: Key) -> AccountId:
        section, entity_id = key
        return self._declared().account_of((section.value, entity_id))

    def _refuse_misread(self, section: Section, account: AccountId, body: Body) -> None:
        """Refuse a document whose ids would be read as names: here a client has named one entity by its UUID.

        Raises:
            CloudstackFault: an entity of the account has an id of account `root`'s as its display name.
        """
        if hidden := misread(self._declared(), account, section, body):
            raise wrong(
                f"{hidden} is the display name of an entity of the account {account}, too: give that one another name"
            )


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
