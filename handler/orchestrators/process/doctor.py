"""Checks of `trimtab doctor` for the programs that members run on this machine."""

from __future__ import annotations

import os
import resource
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from config.causes import REMEDIES, FailureCause
from config.model.catalogue import ProcessRecipe, Profile
from handler.orchestrators.process.limits import limits_of, out_of_reach, remedy_for
from handler.ports.examination import About, Check, Look, fine, wrong

_REMEDY = REMEDIES[FailureCause.LAUNCH_CONFIGURATION]
_CAP_SYS_RESOURCE = 24


def checks_of(profiles: Sequence[Profile], directory: Path, environ: Mapping[str, str]) -> Sequence[Check]:
    """Return each profile's checks; ``directory`` is the working directory of members whose recipe names none."""
    return tuple(check for profile in profiles for check in _of(profile, directory, environ))


def _of(profile: Profile, directory: Path, environ: Mapping[str, str]) -> Iterator[Check]:
    recipe, named = profile.recipe, partial(Check, about=About.PROFILE, name=profile.id)
    if isinstance(recipe, ProcessRecipe):
        yield named(what="command", look=partial(_look, recipe, directory, environ))
        yield named(what="limits", look=partial(_limits, recipe))


def _look(recipe: ProcessRecipe, directory: Path, environ: Mapping[str, str]) -> Look:
    if recipe.directory is not None and not Path(recipe.directory).is_dir():
        return wrong(f"{recipe.directory} is not a directory", f"create it, or {_REMEDY}")
    program = recipe.command[0]
    if os.sep in program:
        where = Path(recipe.directory) if recipe.directory is not None else directory
        path = where / program
        found = str(path) if path.is_file() and os.access(path, os.X_OK) else None
    else:
        searched = recipe.env.get("PATH", environ.get("PATH", os.defpath))
        found = shutil.which(program, path=searched if isinstance(searched, str) else os.defpath)
    if found is None:
        return wrong(f"there is no program {program}", f"install it, or {_REMEDY}")
    if gains_privileges(found) and not recipe.new_privileges:
        words = f"{found} gains privileges when it starts, which members do not"
        return wrong(words, "write new_privileges: true into the profile, or run it as the user that members need")
    return fine(f"{program} is {found}")


def gains_privileges(program: str) -> bool:
    """Return whether a program has a set-user-id or set-group-id bit, or file capabilities (capabilities(7))."""
    try:
        if Path(program).stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
            return True
        return bool(os.getxattr(program, "security.capability"))
    except OSError:  # the file lacks the attribute, or the filesystem has none
        return False


def _limits(recipe: ProcessRecipe, highest: Callable[[int], tuple[int, int]] = resource.getrlimit) -> Look:
    """Compare declared limits with this process' hard limits, which stand for the daemon's."""
    if may_raise_limits():
        return fine("this process may give any limits")
    for limit in limits_of(recipe.limits):
        if words := out_of_reach(limit, highest(limit.number)[1]):
            return wrong(words, remedy_for(limit.what))
    return fine("the limits are within what this process may give")


def may_raise_limits() -> bool:
    """Return whether this process may exceed hard limits (``CAP_SYS_RESOURCE``)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    (effective,) = (line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAP_SYS_RESOURCE & 1)
