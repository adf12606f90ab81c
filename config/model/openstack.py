"""How to reach one OpenStack."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.model.access import BY_SYSTEM, SecretRef, Trust
from config.units import BalancerId, CloudId, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudsYaml:
    """A cloud of a ``clouds.yaml``, as all clients of OpenStack have it."""

    cloud: str
    file: str | None = None
    """``None``: where openstacksdk looks by itself."""


class Interface(enum.Enum):
    """Which of a service's endpoints is used."""

    PUBLIC = "public"
    INTERNAL = "internal"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationCredential:
    """What a user of Keystone makes for one program: the user's roles in one project, or some of them."""

    auth_url: str
    id: str
    secret: SecretRef
    interface: Interface = Interface.PUBLIC
    trust: Trust = BY_SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackAccess:
    """One project of one region."""

    credentials: CloudsYaml | ApplicationCredential
    region: str | None = None
    """``None``: as the credentials say, or the only one."""
    timeout: Seconds = 15.0
    """For one call, all of it: a new token and the answer's last byte included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OctaviaBalancer:
    """One pool of Octavia."""

    id: BalancerId
    cloud: CloudId
    access: OpenstackAccess | None
    """As the cloud says; ``None``: there is no such cloud, or it is none of OpenStack, and the file is refused."""
    pool: str | None = None
    """By name or id. ``None``: the only one of the load balancer."""
    load_balancer: str | None = None
    """By name or id; where the pool is not named."""
    subnet: str | None = None
    """The id of the members' subnet; ``None``: that of the load balancer's address."""
    weight: int = 1
    lb_status_timeout: Seconds = 30.0
    """How long a change may wait for those of others, and be waited for."""
