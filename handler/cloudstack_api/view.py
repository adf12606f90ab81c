"""What is declared at one moment, as one caller of this API sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, assert_never

from config.model.catalogue import Catalogue
from config.model.cloudstack_api import CloudstackApi
from config.model.sections import Section
from config.units import ROOT_ACCOUNT, AccountId, GroupId, Instant
from handler.cloudstack_api.faults import unknown_id
from handler.cloudstack_api.handles import Key, KnownHandles
from handler.cloudstack_api.owners import shown_owner, wanted_accounts
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.rendering import RenderedFields, Shown
from handler.engine.declared import Declaration
from handler.identity.actors import Actor
from handler.ports.cloudstack_api import StoredHandle
from handler.runtime.group_runtime import GroupRuntime
from handler.users.accounts import KnownAccounts
from handler.users.known import KnownUsers

_SECTIONS: Final = tuple(Section)


@dataclass(slots=True, kw_only=True)
class AnswerCache:
    """What answers share for as long as neither the declaration nor a handle changes."""

    groups: dict[str, tuple[str, int, RenderedFields]] = field(default_factory=dict)
    """The groups as they were last shown, each with its state and number of members."""
    order: dict[Section, tuple[str, ...]] = field(default_factory=dict)
    """Every id of a section, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A caller, and the declaration in force. Entities in quarantine are not shown."""

    by: Actor
    declared: Declaration
    handles: KnownHandles
    users: KnownUsers
    api: CloudstackApi
    runtimes: Mapping[GroupId, GroupRuntime]
    kept: AnswerCache

    @property
    def accounts(self) -> KnownAccounts:
        """Every account and domain."""
        return self.users.accounts

    @property
    def catalogue(self) -> Catalogue:
        """The declaration in force."""
        return self.declared.catalogue

    def ids(self, section: Section) -> Iterator[str]:
        """Yield the ids of entities that the caller may see, newest first."""
        ordered = self.kept.order.get(section)
        if ordered is None:
            made_at = {
                entity_id: self.handle((section, entity_id)).made_at for entity_id in ids_in(self.declared, section)
            }
            ordered = self.kept.order[section] = tuple(sorted(made_at, key=lambda each: (-made_at[each], each)))
        return (entity_id for entity_id in ordered if self.sees((section, entity_id)))

    def listed(self, arguments: Arguments, section: Section) -> Sequence[str]:
        """Return the ids that a list is about: one that is named, or those of the accounts that are asked for.

        Raises:
            CloudstackFault: there is no such entity or account.
        """
        if arguments.text("id") is not None:
            return (self.find(arguments, "id", section),)
        keyword = (arguments.text("keyword") or "").lower()
        owned = self.ids(section) if section is Section.COUNTERS else self.owned(arguments, section)
        return [each for each in owned if not keyword or keyword in self.name((section, each)).lower()]

    def owned(self, arguments: Arguments, section: Section) -> Sequence[str]:
        """Return the ids of what belongs to the accounts that a list is about. Raises as `listed`."""
        wanted = wanted_accounts(arguments, self.by, self.accounts)
        return [each for each in self.ids(section) if wanted is None or self.account((section, each)) in wanted]

    def sees(self, key: Key) -> bool:
        """Tell whether an entity exists for the caller. Every caller sees the counters of the root account."""
        section, entity_id = key
        if section is Section.GROUPS:
            return self.by.grants.sees(GroupId(entity_id))
        account = self.account(key)
        is_shared = section is Section.COUNTERS and account == ROOT_ACCOUNT
        return is_shared or self.by.grants.holds(account)

    def account(self, key: Key) -> AccountId:
        """Return the account that an entity belongs to."""
        section, entity_id = key
        return self.declared.account_of((section.value, entity_id))

    def owner(self, key: Key) -> Shown:
        """Return the fields that say whose an entity is."""
        return shown_owner(self.accounts, self.account(key))

    def handle(self, key: Key) -> StoredHandle:
        """Return how clients know an entity."""
        return self.handles.of(key)

    def uuid(self, key: Key) -> str:
        """Return the UUID of an entity."""
        return self.handles.of(key).uuid

    def name(self, key: Key) -> str:
        """Return the name of an entity for clients."""
        own = self.handles.of(key).details.get("name")
        return own or display_name(self.declared, key)

    def find(self, arguments: Arguments, parameter: str, section: Section) -> str:
        """Return the id of the entity that a required parameter names.

        Raises:
            CloudstackFault: there is none in this section that the caller may see.
        """
        return self.found(arguments, parameter, arguments.need(parameter), section)

    def found(self, arguments: Arguments, parameter: str, uuid: str, section: Section) -> str:
        """Return the id of the entity with a UUID. Raises as `find`."""
        handle = self.handles.named(uuid)
        is_there = handle is not None and handle.section is section and is_in(self.declared, section, handle.id)
        if handle is None or not is_there or not self.sees((section, handle.id)):
            raise unknown_id(arguments.command.envelope, parameter, uuid)
        return handle.id

    def wanted(self, arguments: Arguments, parameter: str, section: Section) -> str | None:
        """Return the id of the entity that a parameter names; ``None``: it is not given. Raises as `find`."""
        uuid = arguments.text(parameter)
        return None if uuid is None else self.found(arguments, parameter, uuid, section)


def ids_in(declared: Declaration, section: Section) -> Iterator[str]:
    """Yield the ids of what is declared in a section, by whichever owner, and in force."""
    in_force = _in_force(declared.catalogue, section)
    for entity_id in in_force:
        if (section.value, entity_id) in declared.file.keys or (section.value, entity_id) in declared.entities:
            yield entity_id


def is_in(declared: Declaration, section: Section, entity_id: str) -> bool:
    """Tell whether something is declared and in force."""
    key = (section.value, entity_id)
    return entity_id in _in_force(declared.catalogue, section) and (
        key in declared.file.keys or key in declared.entities
    )


def keys_in(declared: Declaration) -> Iterator[Key]:
    """Yield the keys of everything that this API can show."""
    for section in _SECTIONS:
        for entity_id in ids_in(declared, section):
            yield section, entity_id


def display_name(declared: Declaration, key: Key) -> str:
    """Return the display name of an entity; of an entry of the file, its id."""
    section, entity_id = key
    entity = declared.entities.get((section.value, entity_id))
    return entity_id if entity is None or (section.value, entity_id) in declared.file.keys else entity.name


def shown_time(at: Instant) -> str:
    """Return an instant as CloudStack writes it.

    >>> shown_time(Instant(1769853600.0))
    '2026-01-31T10:00:00+0000'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")


def _in_force(catalogue: Catalogue, section: Section) -> Mapping[Any, object]:
    match section:
        case Section.COUNTERS:
            return catalogue.counters
        case Section.CONDITIONS:
            return catalogue.conditions
        case Section.POLICIES:
            return catalogue.policies
        case Section.PROFILES:
            return catalogue.profiles
        case Section.GROUPS:
            return catalogue.groups
        case unknown:
            assert_never(unknown)
