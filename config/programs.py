"""What members of a cloud run: those of a process cloud a program, those of a simulated one nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from config.findings import Finding
from config.model import Catalogue, NoProgram, ProcessCloud, Profile, SimulatedCloud
from config.where import Where

_OF_PROGRAMS = {
    "command": "run no program",
    "env": "run no program",
    "directory": "run no program",
    "snmp": "answer nobody",
    "ready": "answer nobody, and are ready when they have built",
}


def fitting(catalogue: Catalogue) -> Iterator[Finding]:
    """Find profiles that do not fit their cloud, and balancers that would be given members which serve nothing."""
    for profile in catalogue.profiles.values():
        match catalogue.clouds.get(profile.cloud):
            case None:
                continue
            case ProcessCloud(id=cloud):
                if isinstance(profile.recipe, NoProgram):
                    message = f"command is missing: members on the cloud {cloud} are processes"
                    here = ("profiles", profile.id)
                    yield Finding(here, message, (here, ("clouds", cloud)))
            case SimulatedCloud():
                yield from _played(catalogue, profile)
            case unknown:
                assert_never(unknown)


def _played(catalogue: Catalogue, profile: Profile) -> Iterator[Finding]:
    for key, why in _OF_PROGRAMS.items():
        if (where := ("profiles", profile.id, key)) in catalogue.sites:
            message = f"members on the simulated cloud {profile.cloud} {why}: remove it"
            yield Finding(where, message, _leans(profile))
    for group in catalogue.groups.values():
        if group.profile == profile.id and group.balancers:
            message = f"members on the simulated cloud {profile.cloud} serve nothing: remove the balancers"
            leans = (("groups", group.id, "profile"), *_leans(profile))
            yield Finding(("groups", group.id, "balancers"), message, leans)


def _leans(profile: Profile) -> tuple[Where, ...]:
    return (("profiles", profile.id, "command"), ("profiles", profile.id, "cloud"), ("clouds", profile.cloud))
