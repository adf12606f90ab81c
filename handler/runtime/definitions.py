"""What a catalogue declares of each group, held against the members that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from config.document.edits import edits
from config.document.statement import Statement
from config.errors import DeclarationError, Problem
from config.model.balancers import Balancer
from config.model.catalogue import Catalogue
from config.model.edits import used
from config.units import BalancerId, GroupId
from handler.planning.attachments import Attachment, attached
from handler.planning.desired import Definition
from handler.ports.store import FileChange, Store
from handler.ports.stored import StoredGroup


def definition_of(
    catalogue: Catalogue,
    group: GroupId,
    kept: Mapping[BalancerId, Balancer] | None = None,
    attachments: Sequence[Attachment] = (),
) -> Definition:
    """One group's declaration with all that it refers to.

    ``kept`` are balancers that members are still behind: they stay, as declared now if they still are, since members
    remain on those that they were made with, whatever is declared since. ``attachments`` add to what the group lists.
    """
    declared = attached(catalogue.groups[group], attachments)
    profile = catalogue.profiles[declared.profile]
    before = kept or {}
    used = {use.balancer for use in declared.balancers}
    return Definition(
        group=declared,
        profile=profile,
        cloud=catalogue.clouds[profile.cloud],
        balancers={
            balancer: catalogue.balancers.get(balancer) or before[balancer] for balancer in sorted(used | before.keys())
        },
    )


def definitions(catalogue: Catalogue, store: Store, file: Path) -> list[Definition]:
    """Every group's definition, with the balancers that members of it are still behind. Reads the store.

    Args:
        catalogue: that is to come into force.
        store: what is there, and how it was declared.
        file: where the catalogue comes from, for messages.

    Raises:
        DeclarationError: a group that has members is declared on another cloud.
        StoreError: the store cannot be read.
    """
    before = {group.id: group for group in store.groups()}
    found = (
        _moved(catalogue, before[group].definition, store, file)
        for group in sorted(catalogue.groups)
        if group in before
    )
    if problems := tuple(problem for problem in found if problem is not None):
        raise DeclarationError(problems)
    return [_declared(catalogue, group, before.get(group), store) for group in sorted(catalogue.groups)]


def edited_by(by: str, catalogue: Catalogue, store: Store, file: Path) -> FileChange:
    """What was edited since a file was taken before; nothing where none was. Reads the store."""
    before = store.statement()
    after = Statement(values=catalogue.written, used=used(catalogue))
    found = () if before is None else edits(before, after, catalogue.sites, str(file))
    return FileChange(by=by, statement=after, edits=found)


def _declared(catalogue: Catalogue, group: GroupId, before: StoredGroup | None, store: Store) -> Definition:
    if before is None:
        return definition_of(catalogue, group)
    return definition_of(catalogue, group, _kept(before.definition, store), before.attachments)


def _moved(catalogue: Catalogue, before: Definition, store: Store, file: Path) -> Problem | None:
    """Why a group cannot be looked after on the cloud that is declared now: its members are on another one.

    There, none of them would be found: all would be taken as gone, and left behind.
    """
    group, cloud = before.group.id, before.cloud.id
    profile = catalogue.profiles[catalogue.groups[group].profile]
    if profile.cloud == cloud or not store.members(group):
        return None
    site = catalogue.sites.get(("groups", group))
    return Problem(
        file=site.file if site else str(file),
        line=site.line if site else 0,
        column=site.column if site else 0,
        message=f"group {group} has members on cloud {cloud}, and its profile is on cloud {profile.cloud} now: "
        "members do not move between clouds; declare a group of another name there",
    )


def _kept(before: Definition, store: Store) -> dict[BalancerId, Balancer]:
    """The balancers that members are behind, or that a pass under way may still put members behind."""
    behind = {balancer for record in store.members(before.group.id) for balancer, _ in record.balancers}
    behind |= {use.balancer for use in before.group.balancers}
    behind |= {binding.balancer for binding in store.bindings(before.group.id)}
    return {balancer: declared for balancer, declared in before.balancers.items() if balancer in behind}
