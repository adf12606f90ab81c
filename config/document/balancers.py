"""A balancer as it is written, and how a group uses one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from config.document.cloudstack_rule import CloudstackRuleDocument
from config.document.declared import Declared, key, must
from config.document.haproxy import HaproxyDocument
from config.document.managed import ManagedDocument
from config.document.netscaler import NetscalerBalancerDocument
from config.document.openstack import OctaviaDocument
from config.document.scalars import Given, Listen, Name, Port
from config.model.managed import OF_MADE


class SharedListenerDocument(Declared):
    """A holder process owns the listening socket and hands it to members."""

    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        OF_MADE,
        "a shared listener is one socket of this machine: listen says where, and there is nothing else to make",
    )

    listen: Listen = must("Address and port to listen on.", "127.0.0.1:8080")


class BalancerDocument(Declared):
    """What spreads work over members. Exactly one kind of balancer."""

    choice: ClassVar[tuple[str, ...]] = ("shared_listener", "haproxy", "netscaler", "octavia", "cloudstack", "managed")
    choice_of: ClassVar[str] = "the kind of balancer"

    shared_listener: Annotated[SharedListenerDocument | None, Given] = key(
        "One listening socket that all members share; for processes of this machine.", {"listen": "127.0.0.1:8080"}
    )
    haproxy: Annotated[HaproxyDocument | None, Given] = key(
        "HAProxy, steered over its runtime socket.", {"socket": "/run/haproxy/admin.sock", "backend": "web"}
    )

    netscaler: Annotated[NetscalerBalancerDocument | None, Given] = key(
        "A service group of a NetScaler, steered over NITRO.",
        {
            "url": "https://192.0.2.10",
            "user": "trimtab",
            "password": {"env": "NS_PASSWORD"},
            "service_group": "web",
        },
    )
    octavia: Annotated[OctaviaDocument | None, Given] = key(
        "A pool of Octavia, steered over the API of an OpenStack cloud.", {"cloud": "prod", "pool": "web"}
    )

    cloudstack: Annotated[CloudstackRuleDocument | None, Given] = key(
        "A load-balancer rule of a CloudStack account; for virtual machines of that account.",
        {
            "endpoint": "https://cloud.example.org/client/api",
            "api_key": {"env": "CLOUDSTACK_KEY"},
            "secret": {"file": "/etc/trimtab/cloudstack.secret"},
            "rule": "web-https",
        },
    )
    managed: Annotated[ManagedDocument | None, Given] = key(
        "One that Trimtab makes and deletes, on a cloud that has balancers.",
        {"cloud": "prod", "vip": {"subnet": "public-v4"}},
    )

    @property
    def kind(
        self,
    ) -> (
        SharedListenerDocument
        | HaproxyDocument
        | NetscalerBalancerDocument
        | OctaviaDocument
        | CloudstackRuleDocument
        | ManagedDocument
    ):
        """The one kind that is written."""
        steered = self.netscaler or self.octavia or self.cloudstack
        kind = self.shared_listener or self.haproxy or steered or self.managed
        if kind is None:
            raise AssertionError("a balancer without a kind was validated")
        return kind


class BalancerUseDocument(Declared):
    """Members serve a port behind a balancer."""

    use: Name = must("The balancer.", "edge")
    port: Port = must("The port at which members serve.", 8080)
