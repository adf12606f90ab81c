"""A store that may be older than the fleet: what that does to a group's state, and how it ends. Pure.

A backup that is put back, or a disk that is rolled back, remembers a size that later decisions have replaced. Taken at
its word it would remove every member that came since. So nothing is removed, replaced or made for the group, desired
size is at least what is there (within max), and a person confirms it: `trimtab store adopt`.

There are two signs. A machine bears a launch sequence above the last one that the store gave out. Or `trimtab restore`
put the store there: then the first complete listing is compared with it, and settles the matter if both agree.

Source: DESIGN.md "Moving" (store generation); ADR 0016.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from config.model.catalogue import Group
from config.units import GroupId, Instant
from trigger.requests import GroupState, OlderStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What one pass saw of a group, compared with what the store remembers."""

    found: int
    """Machines that are there and are not being deleted."""
    ahead: int
    """The highest launch sequence among them that is above the store's last one; 0: none is."""
    agrees: bool
    """The listing is complete, and shows exactly the members that the store remembers, as many as desired."""


def compared(group: Group, state: GroupState, seen: Inventory, now: Instant) -> GroupState:
    """Return the state after a pass: in doubt, more in doubt, no longer in doubt, or the very same.

    A group without a desired size takes its first one from the listing, so its store cannot be too old for it.
    """
    if state.desired is None or state.orphaned:
        return state
    if state.older is None:
        return _raised(group, state, seen, OlderStore(since=now, stored=state.desired)) if seen.ahead else state
    if not state.older.found and seen.agrees:
        return confirmed(state)
    return _raised(group, state, seen, state.older)


def confirmed(state: GroupState) -> GroupState:
    """Return the state once the store is believed: desired size stays what it was raised to."""
    return replace(state, older=None)


def _raised(group: Group, state: GroupState, seen: Inventory, before: OlderStore) -> GroupState:
    desired = state.desired or 0
    older = replace(before, found=max(before.found, seen.found), sequence=max(before.sequence, seen.ahead))
    size = max(desired, min(seen.found, group.maximum))
    if older == state.older and size == desired:
        return state
    return replace(state, older=older, desired=size, revision=state.revision + (size != desired))


def say_older(group: GroupId, older: OlderStore) -> str:
    """Say why the store is in doubt, and what to do; for people.

    >>> what, _, until = say_older(
    ...     GroupId("web"), OlderStore(since=Instant(0.0), stored=3, found=8, sequence=8)
    ... ).partition("; ")
    >>> what
    'the store is older than the fleet: it remembers size 3, and 8 members up to launch 8 are there'
    >>> until
    'nothing is removed, replaced or made until it is confirmed: trimtab store adopt web'
    """
    upto = f" up to launch {older.sequence}" if older.sequence else ""
    if older.found:
        there = f"{older.found} members{upto} are there"
        what = f"the store is older than the fleet: it remembers size {older.stored}, and {there}"
    else:
        what = f"the store was restored (size {older.stored}), and no complete listing has agreed with it yet"
    return f"{what}; nothing is removed, replaced or made until it is confirmed: trimtab store adopt {group}"
