"""A profile as it is written: what a new member is made of."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, PlainValidator, field_validator

from config.document.cloudstack import Parameters
from config.document.declared import SIZE_PATTERN, Declared, key, must, worded
from config.document.libvirt import DomainXml, VolumeName
from config.document.opennebula import ExtraAttributes, RoleName
from config.document.openstack import OpenstackKeys
from config.document.parts import PartDocument, leading_somewhere
from config.document.resource_limits import ResourceLimitsDocument, at_least
from config.document.scalars import AbsolutePath, Given, HttpPath, Name, Port, PositiveSpan, Text, Variable, Yes
from config.document.sources import SnmpDocument, TextOrSecret

_MEMORY = worded("size with a unit", "from 1MiB", type="string", pattern=SIZE_PATTERN)


class ReadyDocument(Declared):
    """A member is ready when GET http://ADDRESS:PORT/PATH answers 200 to 399."""

    http: HttpPath = must("Path to ask for.", "/healthz")
    port: Port = must("Port to ask at.", 8080)
    within: PositiveSpan = must("A member that is not ready by then is broken.", "5m")


class ProfileDocument(OpenstackKeys):
    """What a new member is made of. A changed profile moves nothing that runs."""

    hidden: ClassVar[frozenset[str]] = frozenset(
        {"command", "env", "snmp", "user_data", "parameters", "extra", "domain"}
    )

    cloud: Name = must("The cloud that members come from.", "local")
    command: Annotated[Annotated[list[Text], Field(min_length=1)] | None, Given] = key(
        "The program that is a member, and its arguments, where members are processes.",
        ["python3", "-m", "http.server"],
        left_out="none; a cloud of this kind needs it",
    )
    env: dict[Variable, TextOrSecret] = key(
        "Environment of the program; TRIMTAB_* is added. A secret is given by where it is kept.",
        {"WORKERS": "4", "DB_PASSWORD": {"file": "/etc/trimtab/db"}},
        default={},
    )
    directory: Annotated[AbsolutePath | None, Given] = key(
        "Where the program starts: an absolute path.", "/srv/web", left_out="in the state directory"
    )
    limits: ResourceLimitsDocument = key(
        "What each process of the member may use.", {"memory": "512MiB", "open_files": 1024}, default={}
    )
    new_privileges: Annotated[Yes | None, Given] = key(
        "The program may gain privileges by set-user-id bits and file capabilities (no_new_privs is not set).",
        True,
        left_out="it may not",
    )
    zone: Annotated[Text | None, Given] = key(
        "CloudStack: the zone, by name or id, as in all that follow.",
        "par1",
        left_out="none; a cloud of this kind needs it",
    )
    template: Annotated[Text | None, Given] = key(
        "CloudStack, OpenNebula: the template.", "web-2026-03", left_out="none; a cloud of this kind needs it"
    )
    offering: Annotated[Text | None, Given] = key(
        "CloudStack: the service offering.", "small", left_out="none; a cloud of this kind needs it"
    )
    networks: list[Text] = key(
        "On all but OneFlow: the networks, the first first. [none] is no network, on OpenStack.",
        ["web-tier"],
        default=[],
        left_out="those of the account, template or domain; on OpenStack Nova chooses",
    )
    affinity_groups: list[Text] = key("CloudStack: the affinity groups.", ["apart"], default=[])
    user_data: Annotated[Annotated[str, Field(min_length=1, max_length=2**19, title="text")] | None, Given] = key(
        "CloudStack, OpenStack, libvirt: what cloud-init finds as user data. No secrets: others can read it.",
        "#cloud-config\npackages: [nginx]\n",
        left_out="none",
    )
    parameters: Annotated[Parameters | None, Given] = key(
        "CloudStack: more parameters of deployVirtualMachine.", {"rootdisksize": 20, "keypair": "ops"}, left_out="none"
    )
    short_names: Annotated[Yes | None, Given] = key(
        "CloudStack: host names of at most 15 characters, for Windows.", True, left_out="of at most 63"
    )
    extra: Annotated[ExtraAttributes | None, Given] = key(
        "OpenNebula: attributes that are put in the place of the template's own of the same name.",
        {"CPU": 2, "MEMORY": 4096, "SCHED_REQUIREMENTS": 'CLUSTER_ID = "100"'},
        left_out="the template as it is",
    )
    service: Annotated[Text | None, Given] = key(
        "OneFlow: the service, by name or id.", "shop", left_out="none; a cloud of this kind needs it"
    )
    role: Annotated[RoleName | None, Given] = key(
        "OneFlow: the role with the members as nodes.", "frontend", left_out="none; a cloud of this kind needs it"
    )
    base: Annotated[VolumeName | None, Given] = key(
        "libvirt: the volume that members' disks begin as, with its pool. It must not change while they use it.",
        "images/debian-12.qcow2",
        left_out="none; a cloud of this kind needs it",
    )
    memory: Annotated[Annotated[int, PlainValidator(at_least("1MiB")), _MEMORY] | None, Given] = key(
        "libvirt: the memory of a member.", "2GiB", left_out="none; a cloud of this kind needs it"
    )
    vcpus: Annotated[Annotated[int, Field(ge=1, le=4096)] | None, Given] = key(
        "libvirt: the processors of a member.", 2, left_out="none; a cloud of this kind needs it", unit="processors"
    )
    pool: Annotated[Text | None, Given] = key(
        "libvirt: the pool of members' disks.", "fast", left_out="that of the base"
    )
    disk: Annotated[Annotated[int, PlainValidator(at_least("1MiB")), _MEMORY] | None, Given] = key(
        "libvirt: how large members' disks are for them.", "20GiB", left_out="as the base"
    )
    domain: Annotated[DomainXml | None, Given] = key(
        "libvirt: XML of a domain that name, memory, processors, disks and networks are put into.",
        '<domain type="kvm"><os><type machine="q35">hvm</type></os><features><acpi/></features></domain>',
        left_out="a guest of KVM with the host's processor and a channel for its agent",
    )
    parts: dict[Name, PartDocument] = key(
        "What each member has beside its machine, where the cloud makes such: volumes, ports, addresses.",
        {"data": {"volume": {"size": "20GiB"}, "on_delete": "retain"}},
        default={},
    )
    snmp: SnmpDocument = key("How to reach members' SNMP agents.", {"port": 161}, default={})
    ready: Annotated[ReadyDocument | None, Given] = key(
        "When a member is fit for work.", {"http": "/healthz", "port": 8080, "within": "5m"}, left_out="at once"
    )

    _leading_somewhere = field_validator("parts")(leading_somewhere)
