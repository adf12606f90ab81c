"""Balancers as they are written, one kind a class, and how a group uses one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from config.document.addresses import BaseUrl, Listen, RuntimeSocket
from config.document.cloudstack import NO_PROJECT, PROJECT
from config.document.declared import Declared, key, must
from config.document.managed import ManagedDocument
from config.document.on_workers import Workers, on_workers
from config.document.openstack import OctaviaDocument
from config.document.scalars import BackendName, Given, MapFile, Name, Port, PositiveSpan, Text, Yes
from config.document.sources import SecretDocument, TrustingDocument
from config.model.balancers import CloudstackRuleBalancer, ServerTemplate
from config.model.clouds import CloudstackCloud
from config.model.managed import OF_MADE
from config.units import BalancerId, CloudId


class HaproxyDocument(Declared):
    """One backend of one HAProxy, or of several processes that serve alike."""

    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        OF_MADE, "HAProxy's runtime API cannot create backends: write it in HAProxy's own configuration"
    )
    choice: ClassVar[tuple[str, ...]] = ("socket", "sockets")
    choice_of: ClassVar[str] = "where HAProxy is steered"
    together: ClassVar[tuple[str, ...]] = ("template", "map")

    socket: Annotated[RuntimeSocket | None, Given] = key(
        "HAProxy's runtime socket, level admin: a path or HOST:PORT.", "/run/haproxy/admin.sock"
    )
    sockets: Annotated[Annotated[list[RuntimeSocket], Field(min_length=1)] | None, Given] = key(
        "The runtime sockets of several processes; a member serves once it does on all.",
        ["/run/haproxy/one.sock", "192.0.2.7:9999"],
    )
    backend: BackendName = must("The backend's name.", "web")
    template: Annotated[BackendName | None, Given] = key(
        "The prefix of a server-template: members are put into its servers, which survive a reload.",
        "web",
        left_out="members are dynamic servers",
    )
    map: Annotated[MapFile | None, Given] = key(
        "The map in which HAProxy keeps which member is where.",
        "/var/lib/haproxy/members.map",
        left_out="none: it goes with template",
    )

    @field_validator("sockets")
    @classmethod
    def _once_each(cls, sockets: list[str] | None) -> list[str] | None:
        if sockets is not None and len(set(sockets)) < len(sockets):
            raise PydanticCustomError("sentence", "the same socket is written twice", {"key": ""})
        return sockets

    @property
    def slots(self) -> ServerTemplate | None:
        """The template, if there is one."""
        if self.template is None or self.map is None:
            return None
        return ServerTemplate(prefix=self.template, map=self.map)


class CloudstackRuleDocument(TrustingDocument):
    """One load-balancer rule of a CloudStack account."""

    hidden: ClassVar[frozenset[str]] = frozenset({"api_key", "secret", "endpoint"})

    endpoint: BaseUrl = must("The address of the API.", "https://cloud.example.org/client/api")
    api_key: SecretDocument = must("Where the account's API key is kept.", {"env": "CLOUDSTACK_KEY"})
    secret: SecretDocument = must("Where the account's secret key is kept.", {"file": "/etc/trimtab/cloudstack.secret"})
    project: Annotated[Text | None, Given] = key(PROJECT, "shop", left_out=NO_PROJECT)
    rule: Text = must("The rule's name or id.", "web-https")
    timeout: PositiveSpan = key("How long an answer may take.", "15s", default="15s")
    job_timeout: PositiveSpan = key("How long to wait for a change; it continues after that.", "2m", default="2m")

    def balancer(self, id: BalancerId) -> CloudstackRuleBalancer:
        """As the core sees it."""
        account = CloudstackCloud(
            id=CloudId(id),
            endpoint=self.endpoint,
            api_key=self.api_key.ref,
            secret=self.secret.ref,
            trust=self.trust,
            timeout=self.timeout,
            job_timeout=self.job_timeout,
            project=self.project,
        )
        return CloudstackRuleBalancer(id=id, rule=self.rule, cloud=account)


class NetscalerBalancerDocument(TrustingDocument):
    """One service group of a NetScaler, steered over NITRO."""

    hidden: ClassVar[frozenset[str]] = frozenset({"password", "url"})

    url: BaseUrl = must("Its management address, that of the primary of a pair.", "https://192.0.2.10")
    user: Text = must("A user who may change the service group.", "trimtab")
    password: SecretDocument = must("Where the user's password is kept.", {"env": "NS_PASSWORD"})
    service_group: Text = must("The service group with our members.", "web")
    delay: Annotated[PositiveSpan | None, Given] = key(
        "After this long the appliance closes a drained member's remaining connections, even without Trimtab.",
        "10m",
        left_out="Trimtab alone ends them",
    )
    save: Annotated[Yes | None, Given] = key(
        "Have the appliance keep changes over its own restart.", True, left_out="not"
    )
    timeout: PositiveSpan = key("How long an answer may take.", "10s", default="10s")


class SharedListenerDocument(Declared):
    """A holder process owns the listening socket and hands it to members."""

    refused: ClassVar[Mapping[str, str]] = dict.fromkeys(
        OF_MADE,
        "a shared listener is one socket of this machine: listen is its address, and it has no other parts",
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
    on: Annotated[Workers | None, Given] = on_workers()

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
