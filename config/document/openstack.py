"""How an OpenStack cloud is written in YAML, and what its servers are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PlainValidator, Strict, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from config.document.addresses import BaseUrl
from config.document.declared import NO_UNIT, Declared, key, must
from config.document.events import EXAMPLE, NovaEventsDocument
from config.document.scalars import AbsolutePath, Given, Name, PositiveSpan, Text, Yes
from config.document.sources import SecretDocument, TrustingDocument
from config.model.openstack import ApplicationCredential, CloudsYaml, Interface, OpenstackAccess
from config.model.recipes import BootVolume, Reach

OURS = "trimtab"
"""What our own metadata begins with."""
NOWHERE = "none"
"""Alone in `networks`: the server has none."""
_KEY = r"[A-Za-z0-9_:. -]{1,255}"
_LONGEST = 255
_MOST = 100


class ApplicationCredentialDocument(TrustingDocument):
    """An application credential of Keystone."""

    hidden: ClassVar[frozenset[str]] = frozenset({"auth_url", "secret"})

    auth_url: BaseUrl = must("The address of Keystone, version 3.", "https://cloud.example.org:5000/v3")
    id: Text = must("The credential's id.", "5d2ac4b7e2e04b4d8b3e0c4c1f9a7e21")
    secret: SecretDocument = must("Where its secret is kept.", {"file": "/etc/trimtab/openstack.secret"})
    interface: Annotated[Interface, Strict(False)] = key(
        "Which endpoints are used: public, internal or admin.", "internal", default="public"
    )


class OpenstackDocument(Declared):
    """Members are servers of one OpenStack project."""

    choice: ClassVar[tuple[str, ...]] = ("cloud", "application_credential")
    choice_of: ClassVar[str] = "the identity for OpenStack"

    cloud: Annotated[Text | None, Given] = key("The name of a cloud of clouds.yaml.", "prod")
    config: Annotated[AbsolutePath | None, Given] = key(
        "The clouds.yaml.", "/etc/openstack/clouds.yaml", left_out="where openstacksdk looks for it"
    )
    application_credential: Annotated[ApplicationCredentialDocument | None, Given] = key(
        "An application credential, instead of clouds.yaml.",
        {
            "auth_url": "https://cloud.example.org:5000/v3",
            "id": "5d2ac4b7e2e04b4d8b3e0c4c1f9a7e21",
            "secret": {"file": "/etc/trimtab/openstack.secret"},
        },
    )
    region: Annotated[Text | None, Given] = key(
        "The region, where there are several.", "RegionOne", left_out="as the credentials say"
    )
    timeout: PositiveSpan = key("How long one call may take, all of it.", "15s", default="15s")

    events: Annotated[NovaEventsDocument | None, Given] = key(
        "The message bus on which Nova publishes what happens to machines; their groups are then looked at.",
        EXAMPLE,
        left_out="groups are looked at in turn alone",
    )

    @model_validator(mode="after")
    def _config_of_a_cloud(self) -> Self:
        if self.config is not None and self.cloud is None:
            message = "config has no meaning with an application credential: remove it"
            raise PydanticCustomError("sentence", message, {"key": "config"})
        return self

    @property
    def access(self) -> OpenstackAccess:
        """As the core sees it."""
        return OpenstackAccess(credentials=self._credentials, region=self.region, timeout=self.timeout)

    @property
    def _credentials(self) -> CloudsYaml | ApplicationCredential:
        if (given := self.application_credential) is None:
            return CloudsYaml(cloud=self.cloud or "", file=self.config)
        return ApplicationCredential(
            auth_url=given.auth_url,
            id=given.id,
            secret=given.secret.ref,
            interface=given.interface,
            trust=given.trust,
        )


class OctaviaDocument(Declared):
    """One pool of Octavia that is there already."""

    choice: ClassVar[tuple[str, ...]] = ("pool", "load_balancer")
    choice_of: ClassVar[str] = "the pool"

    cloud: Name = must("The OpenStack cloud that it belongs to.", "prod")
    pool: Annotated[Text | None, Given] = key("The pool, by name or id.", "web")
    load_balancer: Annotated[Text | None, Given] = key(
        "The load balancer, by name or id, instead of the pool: its only one is meant.", "front"
    )
    subnet: Annotated[Text | None, Given] = key(
        "The id of the members' subnet.",
        "5ae4a4ab-9c8f-4f1f-8e17-0d8f1d659928",
        left_out="that of the load balancer's address",
    )
    weight: Annotated[int, Field(ge=1, le=256)] = key("The weight of a member that serves.", 1, default=1, unit=NO_UNIT)
    lb_status_timeout: PositiveSpan = key(
        "How long a change may wait for those of others, and be waited for.", "30s", default="30s"
    )


class BootVolumeDocument(Declared):
    """The disk that a server starts from, made of its image."""

    size: Annotated[int, Field(ge=1, le=65536)] = must("Its size.", 20, unit="GiB")
    type: Annotated[Text | None, Given] = key("The volume type.", "ssd", left_out="the cloud's own")
    delete_on_termination: Annotated[bool, Strict()] = key(
        "Whether it goes with the server.", False, True, default=True
    )

    @property
    def volume(self) -> BootVolume:
        """As the core sees it."""
        return BootVolume(size=self.size, kind=self.type, keep=not self.delete_on_termination)


class ReachDocument(Declared):
    """Which of a server's addresses members are reached at."""

    later: ClassVar[Mapping[str, str]] = {"floating": "floating addresses"}

    network: Annotated[Text | None, Given] = key("The network, by its name.", "web-tier", left_out="the server's first")
    version: Annotated[Literal[4, 6] | None, Given] = key("The version of IP.", 6, left_out="4 before 6")

    @property
    def reach(self) -> Reach:
        """As the core sees it."""
        return Reach(network=self.network, version=self.version)


def read_metadata(value: object) -> tuple[tuple[str, str], ...]:
    """Read metadata of a server, sorted by key. Numbers and booleans are written as they are in YAML.

    Raises:
        ValueError: says what was expected.

    >>> read_metadata({"tier": "web", "shard": 3})
    (('shard', '3'), ('tier', 'web'))
    """
    expected = "metadata with keys of letters, digits and _:.- and values of at most 255 characters, as {tier: web}"
    if not isinstance(value, dict) or not value or len(value) > _MOST:
        raise ValueError(expected)
    read: list[tuple[str, str]] = []
    for name, given in value.items():
        if not isinstance(name, str) or not re.fullmatch(_KEY, name) or not isinstance(given, str | int):
            raise ValueError(expected)
        if name.lower().startswith(OURS):
            raise ValueError(f"metadata of your own: keys that begin with {OURS} are Trimtab's")
        text = str(given).lower() if isinstance(given, bool) else str(given)
        if len(text) > _LONGEST or "\0" in text:
            raise ValueError(expected)
        read.append((name, text))
    return tuple(sorted(read))


Metadata = Annotated[
    tuple[tuple[str, str], ...],
    PlainValidator(read_metadata),
    WithJsonSchema(
        {
            "title": "key → value",
            "type": "object",
            "minProperties": 1,
            "maxProperties": _MOST,
            "propertyNames": {"pattern": f"^{_KEY}$"},
            "additionalProperties": {"type": ["string", "integer", "boolean"]},
        }
    ),
]


class OpenstackKeys(Declared):
    """Keys of a profile that only servers of OpenStack have."""

    image: Annotated[Text | None, Given] = key(
        "OpenStack: the image, by name or id, as in all that follow.",
        "web",
        left_out="none; a cloud of this kind needs it",
    )
    flavor: Annotated[Text | None, Given] = key(
        "OpenStack: the flavor.", "m1.small", left_out="none; a cloud of this kind needs it"
    )
    key_name: Annotated[Text | None, Given] = key("OpenStack: the key pair, by its name.", "ops", left_out="none")
    security_groups: list[Text] = key(
        "OpenStack: the security groups.", ["web"], default=[], left_out="the project's default"
    )
    availability_zone: Annotated[Text | None, Given] = key(
        "OpenStack: the availability zone, by its name.", "az1", left_out="Nova chooses"
    )
    server_group: Annotated[Text | None, Given] = key("OpenStack: the server group.", "apart", left_out="none")
    boot_volume: Annotated[BootVolumeDocument | None, Given] = key(
        "OpenStack: start from a volume that is made of the image.", {"size": 20}, left_out="the flavor's disk"
    )
    metadata: Annotated[Metadata | None, Given] = key(
        "OpenStack: metadata, beside Trimtab's own.", {"tier": "web"}, left_out="Trimtab's own alone"
    )
    config_drive: Annotated[Yes | None, Given] = key(
        "OpenStack: user data comes on a drive.", True, left_out="as the cloud does"
    )
    reach: ReachDocument = key("OpenStack: which address members are reached at.", {"version": 6}, default={})
