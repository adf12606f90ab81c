"""What a catalogue declares of each group, held against the members that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from config.document.edits import edits
from config.document.statement import Statement
from config.errors import DeclarationError, Problem
from config.model.balancers import Balancer
from config.model.catalogue import Catalogue, Site
from config.model.clouds import ProcessCloud
from config.model.edits import used
from config.units import BalancerId, CloudId, GroupId
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
        DeclarationError: a group that has members is declared on another cloud, or its cloud on another machine.
        StoreError: the store cannot be read.
    """
    before = {group.id: group for group in store.groups()}
    found = (
        _moved(catalogue, before[group].definition, store, file)
        for group in sorted(catalogue.groups)
        if group in before
    )
    problems = [
        *(problem for problem in found if problem is not None),
        *_moved_machines(catalogue, before, store, file),
    ]
    if problems:
        raise DeclarationError(tuple(problems))
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
    message = (
        f"group {group} has members on cloud {cloud}, and its profile is on cloud {profile.cloud} now: members do not "
        "move between clouds; declare a group of another name there"
    )
    return _problem_at(catalogue.sites.get(("groups", group)), file, message)


def _moved_machines(
    catalogue: Catalogue, before: Mapping[GroupId, StoredGroup], store: Store, file: Path
) -> Iterator[Problem]:
    """Yield each cloud of processes that would leave the machine (``on``) that members of it run on.

    Another machine would list none of them, also where their group is no longer declared.
    """
    groups: dict[CloudId, list[GroupId]] = {}
    for stored in before.values():
        if isinstance(stored.definition.cloud, ProcessCloud):
            groups.setdefault(stored.definition.cloud.id, []).append(stored.id)
    statement = store.statement() if groups else None
    written = {} if statement is None else statement.values
    for cloud in sorted(groups):
        there = written.get(("clouds", cloud, "on"))
        if there is None or _stays(catalogue, cloud, there):
            continue
        group = next((each for each in groups[cloud] if store.members(each)), None)
        if group is not None:
            yield _left_behind(catalogue, cloud, group, file)


def _stays(catalogue: Catalogue, cloud: CloudId, there: str) -> bool:
    """Whether a cloud stays on a machine; one that names none any more is of a daemon that is no worker."""
    same = catalogue.written.get(("clouds", cloud, "on"), there) == there
    return same and isinstance(catalogue.clouds.get(cloud), ProcessCloud)


def _left_behind(catalogue: Catalogue, cloud: CloudId, group: GroupId, file: Path) -> Problem:
    site = catalogue.sites.get(("clouds", cloud, "on")) or catalogue.sites.get(("clouds",))
    message = (
        f"cloud {cloud}: members of group {group} are processes of the machine that it was on, and do not move with "
        "it: leave it as it was until they are gone; declare one of another name elsewhere"
    )
    return _problem_at(site, file, message)


def _problem_at(site: Site | None, file: Path, message: str) -> Problem:
    if site is None:
        return Problem(file=str(file), line=0, column=0, message=message)
    return Problem(file=site.file, line=site.line, column=site.column, message=message)


def _kept(before: Definition, store: Store) -> dict[BalancerId, Balancer]:
    """The balancers that members are behind, or that a pass under way may still put members behind."""
    behind = {balancer for record in store.members(before.group.id) for balancer, _ in record.balancers}
    behind |= {use.balancer for use in before.group.balancers}
    behind |= {binding.balancer for binding in store.bindings(before.group.id)}
    return {balancer: declared for balancer, declared in before.balancers.items() if balancer in behind}
