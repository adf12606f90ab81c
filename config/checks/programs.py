"""Check what the members of a cloud run, and that no two groups share it.

Members of a process cloud run a program, nodes of a role of OneFlow what the role says, members of other clouds an
image; simulated members run nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from config.checks.findings import Finding
from config.document.profile_keys import FURTHER, NEEDED, PROGRAM
from config.model.balancers import SharedListener
from config.model.catalogue import (
    Catalogue,
    CloudstackCloud,
    CloudstackRecipe,
    Group,
    LibvirtCloud,
    ManagedBalancer,
    OneflowCloud,
    OneflowRecipe,
    OpennebulaCloud,
    OpennebulaRecipe,
    OpenstackCloud,
    OpenstackRecipe,
    ProcessCloud,
    ProcessRecipe,
    Profile,
    SimulatedCloud,
)
from config.model.libvirt import LibvirtRecipe
from config.model.parts import NetworkPort
from config.model.where import Where
from config.units import CloudId, GroupId, ProfileId


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machines:
    """A kind of cloud with machines as members."""

    recipe: type
    what: str
    holder: str
    """What holds the programs that they run."""
    needs: tuple[str, ...]
    more: tuple[str, ...]
    """Keys beside those that it needs; another kind may have the same."""
    parts: bool = False
    """Whether it makes parts of members."""

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.needs, *self.more)


_CLOUDSTACK = _Machines(
    recipe=CloudstackRecipe,
    what="virtual machines of CloudStack",
    holder="template",
    needs=NEEDED["cloudstack"],
    more=FURTHER["cloudstack"],
)
_OPENNEBULA = _Machines(
    recipe=OpennebulaRecipe,
    what="virtual machines of OpenNebula",
    holder="template",
    needs=NEEDED["opennebula"],
    more=FURTHER["opennebula"],
)
_ONEFLOW = _Machines(
    recipe=OneflowRecipe,
    what="nodes of a role of OneFlow",
    holder="role's template",
    needs=NEEDED["oneflow"],
    more=FURTHER["oneflow"],
)
_OPENSTACK = _Machines(
    recipe=OpenstackRecipe,
    what="servers of OpenStack",
    holder="image",
    needs=NEEDED["openstack"],
    more=FURTHER["openstack"],
    parts=True,
)
_LIBVIRT = _Machines(
    recipe=LibvirtRecipe,
    what="domains of libvirt",
    holder="domain",
    needs=NEEDED["libvirt"],
    more=FURTHER["libvirt"],
)
_KINDS = {
    LibvirtCloud: _LIBVIRT,
    CloudstackCloud: _CLOUDSTACK,
    OpennebulaCloud: _OPENNEBULA,
    OneflowCloud: _ONEFLOW,
    OpenstackCloud: _OPENSTACK,
}
_OF_MACHINES = tuple(dict.fromkeys(key for kind in _KINDS.values() for key in kind.keys))
_OF_PLAYED = {
    **dict.fromkeys(PROGRAM, "run no program"),
    **dict.fromkeys(_OF_MACHINES, "have no template or image"),
    "snmp": "answer no agent requests",
    "ready": "answer no probe, and are ready as soon as they are built",
}


def fitting(catalogue: Catalogue) -> Iterator[Finding]:
    """Find profiles that do not fit their cloud, and balancers that would be given members which serve nothing."""
    groups = _by_profile(catalogue)
    for profile in catalogue.profiles.values():
        made = groups.get(profile.id, ())
        match catalogue.clouds.get(profile.cloud):
            case None:
                continue
            case ProcessCloud(id=cloud):
                if not isinstance(profile.recipe, ProcessRecipe):
                    yield _missing(profile, ("command",), f"members on the cloud {cloud} are processes")
                reasons = dict.fromkeys((*_OF_MACHINES, "parts"), f"members on the cloud {cloud} are processes")
                yield from _meaningless(catalogue, profile, reasons)
            case SimulatedCloud(id=cloud):
                reasons = {key: f"members on the simulated cloud {cloud} {why}" for key, why in _OF_PLAYED.items()}
                yield from _meaningless(catalogue, profile, reasons)
                yield from _serving_nothing(catalogue, profile, made)
            case CloudstackCloud() | OpennebulaCloud() | OneflowCloud() | OpenstackCloud() | LibvirtCloud() as cloud:
                yield from _of_machines(catalogue, profile, made, _KINDS[type(cloud)])
            case unknown:
                assert_never(unknown)


def _by_profile(catalogue: Catalogue) -> Mapping[ProfileId, Sequence[Group]]:
    """Return the groups of each profile: there may be ten thousand of both."""
    found: dict[ProfileId, list[Group]] = {}
    for group in catalogue.groups.values():
        found.setdefault(group.profile, []).append(group)
    return found


def _of_machines(catalogue: Catalogue, profile: Profile, groups: Sequence[Group], kind: _Machines) -> Iterator[Finding]:
    what = f"members on the cloud {profile.cloud} are {kind.what}"
    absent = [key for key in kind.needs if ("profiles", profile.id, key) not in catalogue.sites]
    if absent and not isinstance(profile.recipe, kind.recipe):
        yield _missing(profile, absent, what)
    runs = f"members on the cloud {profile.cloud} run the program of their {kind.holder}"
    others = (key for key in _OF_MACHINES if key not in kind.keys)
    reasons = dict.fromkeys(PROGRAM, runs) | dict.fromkeys(others, what)
    if not kind.parts:
        reasons["parts"] = (
            f"members on the cloud {profile.cloud} have the disks and networks that their {kind.holder} says"
        )
    yield from _meaningless(catalogue, profile, reasons)
    yield from _on_no_network(profile)
    yield from _out_of_reach(catalogue, profile, groups)


def _on_no_network(profile: Profile) -> Iterator[Finding]:
    ports = [part.name for part in profile.parts if isinstance(part.spec, NetworkPort)]
    if ports and isinstance(profile.recipe, OpenstackRecipe) and profile.recipe.no_network:
        here = ("profiles", profile.id)
        message = f"members with ports ({', '.join(ports)}) are on a network: write no networks, or those besides"
        yield Finding((*here, "networks"), message, ((*here, "parts"),))


def _missing(profile: Profile, keys: Collection[str], because: str) -> Finding:
    here = ("profiles", profile.id)
    verb = "is" if len(keys) == 1 else "are"
    return Finding(here, f"{', '.join(keys)} {verb} missing: {because}", (here, ("clouds", profile.cloud)))


def _meaningless(catalogue: Catalogue, profile: Profile, because: Mapping[str, str]) -> Iterator[Finding]:
    for key, why in because.items():
        if (where := ("profiles", profile.id, key)) in catalogue.sites:
            yield Finding(where, f"{why}: remove it", _leans(profile))


def _serving_nothing(catalogue: Catalogue, profile: Profile, groups: Sequence[Group]) -> Iterator[Finding]:
    for group in groups:
        uses = (catalogue.balancers.get(use.balancer) for use in group.balancers)
        if not all(isinstance(balancer, ManagedBalancer) for balancer in uses):
            message = f"members on the simulated cloud {profile.cloud} serve nothing: remove the balancers"
            behind = tuple(("balancers", use.balancer) for use in group.balancers)
            leans = (("groups", group.id, "profile"), *behind, *_leans(profile))
            yield Finding(("groups", group.id, "balancers"), message, leans)


def _out_of_reach(catalogue: Catalogue, profile: Profile, groups: Sequence[Group]) -> Iterator[Finding]:
    for group in groups:
        for index, use in enumerate(group.balancers):
            if isinstance(catalogue.balancers.get(use.balancer), SharedListener):
                message = f"a shared listener serves processes of this machine, and members on {profile.cloud} are not"
                leans = (("groups", group.id, "profile"), ("balancers", use.balancer), *_leans(profile))
                yield Finding(("groups", group.id, "balancers", str(index), "use"), message, leans)


def _leans(profile: Profile) -> tuple[Where, ...]:
    return (("profiles", profile.id, "command"), ("profiles", profile.id, "cloud"), ("clouds", profile.cloud))


def shared_roles(catalogue: Catalogue) -> Iterator[Finding]:
    """Find groups that share a role of OneFlow, so that their members would be its nodes."""
    first_users: dict[tuple[CloudId, OneflowRecipe], GroupId] = {}
    for group in catalogue.groups.values():
        profile = catalogue.profiles.get(group.profile)
        if profile is None or not isinstance(profile.recipe, OneflowRecipe):
            continue
        first = first_users.setdefault((profile.cloud, profile.recipe), group.id)
        if first != group.id:
            role = f"role {profile.recipe.role} of service {profile.recipe.service}"
            message = f"{role} is that of group {first}: a role has the members of one group"
            leans = (("groups", first, "profile"), ("profiles", profile.id))
            yield Finding(("groups", group.id, "profile"), message, leans)
