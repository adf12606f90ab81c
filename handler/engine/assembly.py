"""Build the groups in memory from the file and the store, and report what a reload did to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, replace

from config.errors import Problem
from config.model.catalogue import Catalogue
from config.model.edits import Edit
from config.units import CloudId, GroupId, PolicyId
from handler import logs
from handler.ports.stored import StoredGroup
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.resuming import rules_of


def furnish(
    runtimes: MutableMapping[GroupId, GroupRuntime], stored: StoredGroup, before: Catalogue | None, after: Catalogue
) -> None:
    """Load a group's runtime from the store; policies with unchanged rules keep their holds."""
    runtime = runtimes.get(stored.id)
    if runtime is None:
        runtimes[stored.id] = GroupRuntime.of(stored)
        return
    if runtime.state.orphaned is not stored.state.orphaned:
        logs.say("orphaned" if stored.state.orphaned else "declared_again", group=runtime.id)
    runtime.definition, runtime.declared, runtime.pinned = stored.definition, stored.declared, stored.pinned
    runtime.account, runtime.deleting, runtime.edited_at = stored.account, stored.deleting, stored.edited_at
    runtime.state = replace(runtime.state, orphaned=stored.state.orphaned, watched=stored.state.watched)
    runtime.holds = {policy: hold for policy, hold in runtime.holds.items() if _is_same(policy, before, after)}


def _is_same(policy: PolicyId, before: Catalogue | None, after: Catalogue) -> bool:
    if before is None or policy not in after.policies:
        return False
    return rules_of(before, (policy,)) == rules_of(after, (policy,))


def share_clouds(runtimes: Iterable[GroupRuntime]) -> None:
    """Set for each group how many members the other groups of its cloud's budget may have."""
    declared = [runtime for runtime in runtimes if not runtime.state.orphaned]
    maximum = Counter[CloudId]()
    for runtime in declared:
        maximum[runtime.definition.cloud.id] += runtime.definition.group.maximum
    for runtime in runtimes:
        own = 0 if runtime.state.orphaned else runtime.definition.group.maximum
        runtime.beside = maximum[runtime.definition.cloud.id] - own


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What a reload did; with problems, nothing."""

    problems: tuple[Problem, ...]
    added: tuple[GroupId, ...]
    changed: tuple[GroupId, ...]
    orphaned: tuple[GroupId, ...]
    edits: tuple[Edit, ...]
    """What was edited in the file, in all its sections, since it was taken before."""
    revision: int | None = None
    """Of the file, if it was applied for all daemons over the store; ``None``: it was not."""


def reloaded(before: Catalogue, after: Catalogue, edits: tuple[Edit, ...], revision: int | None = None) -> Reloaded:
    """Return what one catalogue in place of another does to groups."""
    old, new = before.groups.keys(), after.groups.keys()
    return Reloaded(
        problems=(),
        added=tuple(sorted(new - old)),
        changed=tuple(sorted(old & new & {group for edit in edits for group in edit.groups})),
        orphaned=tuple(sorted(old - new)),
        edits=edits,
        revision=revision,
    )


def words_of(edits: Iterable[Edit]) -> str:
    """Return edits of the file as one line, each as ``key: before → after``."""
    return "; ".join(edit.words for edit in edits)
