"""The limits of a recipe in the kernel's form, and the message about a limit that the kernel refuses.

A limit is soft and hard at once, so that a member cannot raise it, with one exception: a member that has used up its
processor time first gets SIGXCPU, and is killed some seconds later.

Source: setrlimit(2).
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass

from config.causes import FailureCause
from config.errors import Permanent
from config.model.catalogue import ProcessRecipe
from config.model.recipes import ResourceLimits

_LAST_SECONDS = 5
_UNIT_FILE = {
    "memory": "LimitDATA",
    "cpu_time": "LimitCPU",
    "open_files": "LimitNOFILE",
    "file_size": "LimitFSIZE",
    "core": "LimitCORE",
}
"""systemd's names for the daemon's own limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimit:
    """One resource of setrlimit(2)."""

    what: str
    """The key of the file."""
    number: int
    soft: int
    hard: int


def limits_of(limits: ResourceLimits) -> Iterator[ProcessLimit]:
    """Yield the declared limits and one against core files; memory last, since it also binds the confining program."""
    seconds = None if limits.cpu_time is None else int(limits.cpu_time)
    if seconds is not None:
        yield ProcessLimit(what="cpu_time", number=resource.RLIMIT_CPU, soft=seconds, hard=seconds + _LAST_SECONDS)
    plain = (
        ("core", resource.RLIMIT_CORE, limits.core),
        ("open_files", resource.RLIMIT_NOFILE, limits.open_files),
        ("file_size", resource.RLIMIT_FSIZE, limits.file_size),
        ("memory", resource.RLIMIT_DATA, limits.memory),
    )
    yield from (ProcessLimit(what=what, number=number, soft=n, hard=n) for what, number, n in plain if n is not None)


def spelt(recipe: ProcessRecipe) -> str:
    """Return the argument ``LIMITS`` of `handler.orchestrators.process.confinement`.

    >>> spelt(ProcessRecipe(command=("serve",)))
    'new_privileges:0:0:0,core:4:0:0'
    """
    nice = recipe.limits.nice
    bounds = [] if nice is None else [f"nice:0:{nice}:0"]
    bounds += [] if recipe.new_privileges else ["new_privileges:0:0:0"]
    bounds += [f"{limit.what}:{limit.number}:{limit.soft}:{limit.hard}" for limit in limits_of(recipe.limits)]
    return ",".join(bounds)


def out_of_reach(limit: ProcessLimit, highest: int) -> str:
    """Return why a process with this hard limit may not set a limit; empty: it may."""
    if highest == resource.RLIM_INFINITY or limit.hard <= highest:
        return ""
    return f"{limit.what} {limit.soft} is above what this process may give, {highest - (limit.hard - limit.soft)}"


def remedy_for(what: str) -> str:
    """Return what a person can do about such a limit."""
    if what not in _UNIT_FILE:
        return f"remove {what} from the profile's limits, or start Trimtab with a lower nice value"
    return f"lower it, or raise {_UNIT_FILE[what]}= in the unit of Trimtab"


def refused(recipe: ProcessRecipe, what: str, number: int) -> Permanent:
    """Return the error for a limit that the kernel refuses."""
    for limit in limits_of(recipe.limits):
        if limit.what == what and (words := out_of_reach(limit, resource.getrlimit(limit.number)[1])):
            return Permanent(f"limits: {words}: {remedy_for(what)}", cause=FailureCause.LAUNCH_CONFIGURATION)
    return Permanent(
        f"limits: {what}: {os.strerror(number)}: {remedy_for(what)}", cause=FailureCause.LAUNCH_CONFIGURATION
    )
