"""A cloud as it is written: its kind, and the limits of calls to it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from config.document.cloudstack import CloudstackDocument
from config.document.declared import Declared, key, must
from config.document.libvirt import LibvirtDocument
from config.document.on_workers import Workers, on_workers
from config.document.opennebula import OneflowDocument, OpennebulaDocument
from config.document.openstack import OpenstackDocument
from config.document.scalars import Given, PositiveSpan
from config.document.simulation import SimulatedDocument


class BudgetDocument(Declared):
    """How much may be created on a cloud: the brake on a runaway."""

    outstanding: Annotated[int | None, Field(ge=1), Given] = key(
        "Creates that are not yet in service.",
        20,
        left_out="the larger of 10 and half the sum of its groups' max",
        unit="members",
    )
    per_hour: Annotated[int | None, Field(ge=1), Given] = key(
        "Creates in any hour.",
        120,
        left_out="the larger of 60 and twice the sum of its groups' max",
        unit="members",
    )


class GroupBudgetDocument(Declared):
    """How much may be created for one group, besides what its cloud allows."""

    outstanding: Annotated[int | None, Field(ge=1), Given] = key(
        "Creates that are not yet in service.", 10, left_out="what the cloud's budget allows", unit="members"
    )
    per_hour: Annotated[int | None, Field(ge=1), Given] = key(
        "Creates in any hour.", 60, left_out="what the cloud's budget allows", unit="members"
    )


class CallsDocument(Declared):
    """The most calls to a cloud: creates, removals, look-ups by name."""

    count: Annotated[int, Field(ge=2, le=10**6)] = must(
        "The most calls in a burst, and then evenly this many …", 10, unit="calls"
    )
    per: PositiveSpan = key("… in so long.", "1s", default="1s")
    at_once: Annotated[int, Field(ge=1, le=1000)] = key("Calls side by side.", 8, default=8, unit="calls")


class ProcessDocument(Declared):
    """Members are processes of this machine."""


class CloudDocument(Declared):
    """Where members come from. Exactly one kind of cloud."""

    choice: ClassVar[tuple[str, ...]] = (
        *("process", "simulated", "cloudstack", "opennebula", "oneflow", "openstack", "libvirt"),
    )
    choice_of: ClassVar[str] = "the kind of cloud"

    process: Annotated[ProcessDocument | None, Given] = key(
        "Members are processes of this machine, each on a loopback address.", {}
    )
    simulated: Annotated[SimulatedDocument | None, Given] = key(
        "Members are simulated: for trying a declaration without a cloud.", {"boot": "30s"}
    )
    cloudstack: Annotated[CloudstackDocument | None, Given] = key(
        "Members are virtual machines, deployed and destroyed over the API of CloudStack.",
        {
            "endpoint": "https://cloud.example.org/client/api",
            "api_key": {"env": "CLOUDSTACK_KEY"},
            "secret": {"file": "/etc/trimtab/cloudstack.secret"},
        },
    )
    opennebula: Annotated[OpennebulaDocument | None, Given] = key(
        "Members are virtual machines, instantiated and terminated over the API of OpenNebula.",
        {
            "endpoint": "http://one.example.org:2633/RPC2",
            "user": "fleet",
            "password": {"file": "/etc/trimtab/opennebula.password"},
        },
    )
    oneflow: Annotated[OneflowDocument | None, Given] = key(
        "Members are nodes of roles of OneFlow services that exist; OneFlow makes them.",
        {
            "endpoint": "http://one.example.org:2474",
            "rpc": "http://one.example.org:2633/RPC2",
            "user": "fleet",
            "password": {"file": "/etc/trimtab/opennebula.password"},
        },
    )
    openstack: Annotated[OpenstackDocument | None, Given] = key(
        "Members are servers of an OpenStack project, made and deleted over Nova's API.", {"cloud": "prod"}
    )
    libvirt: Annotated[LibvirtDocument | None, Given] = key(
        "Members are domains of hosts with libvirt (KVM), without a cloud above them.", {"uri": "qemu:///system"}
    )
    budget: BudgetDocument = key("How much may be created on this cloud, by all groups.", {"per_hour": 60}, default={})
    calls: Annotated[CallsDocument | None, Given] = key(
        "The most calls to this cloud, by all groups together.", {"count": 10, "per": "1s"}, left_out="no limit"
    )
    on: Annotated[Workers | None, Given] = on_workers()
