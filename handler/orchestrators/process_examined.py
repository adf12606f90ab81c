"""What `trimtab doctor` asks this machine about the programs that members run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from config.causes import MENDING, Cause
from config.model import ProcessRecipe, Profile
from handler.examination import About, Check, Look, fine, wrong

_MEND = MENDING[Cause.LAUNCH_CONFIGURATION]


def checks_of(profiles: Sequence[Profile], directory: Path, environ: Mapping[str, str]) -> Sequence[Check]:
    """One check a profile; ``directory`` is where members start whose recipe names none."""
    return tuple(
        Check(about=About.PROFILE, name=profile.id, what="command", look=partial(_look, recipe, directory, environ))
        for profile in profiles
        if isinstance(recipe := profile.recipe, ProcessRecipe)
    )


def _look(recipe: ProcessRecipe, directory: Path, environ: Mapping[str, str]) -> Look:
    if recipe.directory is not None and not Path(recipe.directory).is_dir():
        return wrong(f"{recipe.directory} is not a directory", f"create it, or {_MEND}")
    program = recipe.command[0]
    if os.sep in program:
        where = Path(recipe.directory) if recipe.directory is not None else directory
        path = where / program
        found = str(path) if path.is_file() and os.access(path, os.X_OK) else None
    else:
        found = shutil.which(program, path=recipe.env.get("PATH", environ.get("PATH", os.defpath)))
    return wrong(f"there is no program {program}", _MEND) if found is None else fine(f"{program} is {found}")
