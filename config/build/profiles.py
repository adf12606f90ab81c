"""Documents of profiles → the model."""

from __future__ import annotations

from types import MappingProxyType

from config.document.openstack import NOWHERE
from config.document.parts import parts_of
from config.document.profiles import ProfileDocument
from config.model.catalogue import (
    CloudstackRecipe,
    NoProgram,
    OneflowRecipe,
    OpennebulaRecipe,
    OpenstackRecipe,
    ProcessRecipe,
    Profile,
    ReadyProbe,
    Recipe,
)
from config.model.libvirt import LibvirtRecipe
from config.model.recipes import attributes_of
from config.units import CloudId, ProfileId


def profile(id: ProfileId, entry: ProfileDocument) -> Profile:
    """Build a profile: the kind of its recipe follows from which keys are written."""
    ready = entry.ready
    return Profile(
        id=id,
        cloud=CloudId(entry.cloud),
        recipe=_recipe(entry),
        snmp=entry.snmp.access,
        ready=None if ready is None else ReadyProbe(path=ready.http, port=ready.port, within=ready.within),
        parts=parts_of(entry.parts),
    )


def _recipe(entry: ProfileDocument) -> Recipe:  # noqa: PLR0911  # one for each kind
    if entry.command is not None:
        env = {name: each if isinstance(each, str) else each.ref for name, each in entry.env.items()}
        return ProcessRecipe(
            command=tuple(entry.command),
            env=MappingProxyType(env),
            directory=entry.directory,
            limits=entry.limits.limits,
            new_privileges=entry.new_privileges is True,
        )
    if entry.image is not None and entry.flavor is not None:
        return _server(entry, image=entry.image, flavor=entry.flavor)
    if entry.service is not None and entry.role is not None:
        return OneflowRecipe(service=entry.service, role=entry.role)
    if entry.template is not None and entry.zone is None and entry.offering is None:
        return OpennebulaRecipe(
            template=entry.template, networks=tuple(entry.networks), extra=attributes_of(entry.extra or ())
        )
    if entry.zone is not None and entry.template is not None and entry.offering is not None:
        return _deployed(entry, zone=entry.zone, template=entry.template, offering=entry.offering)
    if entry.base is not None and entry.memory is not None and entry.vcpus is not None:
        return _domain(entry, base=entry.base, memory=entry.memory, vcpus=entry.vcpus)
    return NoProgram()  # `config.checks.programs` says what is missing


def _deployed(entry: ProfileDocument, *, zone: str, template: str, offering: str) -> CloudstackRecipe:
    return CloudstackRecipe(
        zone=zone,
        template=template,
        offering=offering,
        networks=tuple(entry.networks),
        affinity_groups=tuple(entry.affinity_groups),
        user_data=entry.user_data or "",
        parameters=entry.parameters or (),
        short_names=entry.short_names is True,
    )


def _domain(entry: ProfileDocument, *, base: str, memory: int, vcpus: int) -> LibvirtRecipe:
    pool, _, volume = base.partition("/")
    return LibvirtRecipe(
        base_pool=pool,
        base=volume,
        memory=memory,
        vcpus=vcpus,
        pool=entry.pool,
        disk=entry.disk,
        networks=tuple(entry.networks),
        user_data=entry.user_data or "",
        domain=entry.domain or "",
    )


def _server(entry: ProfileDocument, *, image: str, flavor: str) -> OpenstackRecipe:
    nowhere = entry.networks == [NOWHERE]
    return OpenstackRecipe(
        image=image,
        flavor=flavor,
        networks=() if nowhere else tuple(entry.networks),
        no_network=nowhere,
        key_name=entry.key_name,
        security_groups=tuple(entry.security_groups),
        availability_zone=entry.availability_zone,
        server_group=entry.server_group,
        boot_volume=None if entry.boot_volume is None else entry.boot_volume.volume,
        user_data=entry.user_data or "",
        metadata=MappingProxyType(dict(entry.metadata or ())),
        config_drive=entry.config_drive is True,
        reach=entry.reach.reach,
    )
