"""Protect a group whose store may be older than its fleet. Pure.

A restored backup, or a disk that was rolled back, holds a size that later decisions have replaced. Following it would
delete every member created since. So Trimtab creates, replaces and deletes no member of the group, raises the desired
size to the number of members found (within max), and waits until a person confirms it: `trimtab store adopt`.

There are two signs. A machine has a launch sequence above the last one in the store. Or `trimtab restore` wrote the
store: then the first complete listing is compared with it, and ends the doubt if both agree.

Source: DESIGN.md "Moving" (store generation); ADR 0016.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from config.model.catalogue import Group
from config.units import GroupId, Instant
from trigger.requests import GroupState, OlderStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingCheck:
    """The listing of one pass, compared with the store."""

    found: int
    """Machines in the listing that are not being deleted."""
    ahead: int
    """The highest launch sequence among them that is above the store's last one; 0: none is."""
    agrees: bool
    """The listing is complete, and shows exactly the members of the store, as many as desired."""


def compared(group: Group, state: GroupState, seen: ListingCheck, now: Instant) -> GroupState:
    """Return the state after a pass: in doubt, more in doubt, no longer in doubt, or the same object.

    A group without a desired size takes its first size from the listing, so its store cannot be outdated.
    """
    if state.desired is None or state.orphaned:
        return state
    if state.older is None:
        return _raised(group, state, seen, OlderStore(since=now, stored=state.desired)) if seen.ahead else state
    if not state.older.found and seen.agrees:
        return confirmed(state)
    return _raised(group, state, seen, state.older)


def confirmed(state: GroupState) -> GroupState:
    """Return the state after the confirmation: the raised desired size stays."""
    return replace(state, older=None)


def _raised(group: Group, state: GroupState, seen: ListingCheck, before: OlderStore) -> GroupState:
    desired = state.desired or 0
    older = replace(before, found=max(before.found, seen.found), sequence=max(before.sequence, seen.ahead))
    size = max(desired, min(seen.found, group.maximum))
    if older == state.older and size == desired:
        return state
    return replace(state, older=older, desired=size, revision=state.revision + (size != desired))


def say_older(group: GroupId, older: OlderStore) -> str:
    """Say why the store may be outdated, and what to do.

    >>> what, _, until = say_older(
    ...     GroupId("web"), OlderStore(since=Instant(0.0), stored=3, found=8, sequence=8)
    ... ).partition("; ")
    >>> what
    'the store is older than the fleet: it has size 3, but the cloud lists 8 members up to launch 8'
    >>> until
    'no member is created, replaced or deleted until you confirm it: trimtab store adopt web'
    """
    upto = f" up to launch {older.sequence}" if older.sequence else ""
    if older.found:
        there = f"the cloud lists {older.found} members{upto}"
        what = f"the store is older than the fleet: it has size {older.stored}, but {there}"
    else:
        what = f"the store was restored (size {older.stored}), and no complete listing has agreed with it yet"
    return f"{what}; no member is created, replaced or deleted until you confirm it: trimtab store adopt {group}"
