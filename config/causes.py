"""What is missing, refused or used up when a cloud or a balancer does not do what was asked, and what to do about it.

Source: the errors that Rackspace's Otter puts a group into ERROR for, with those that its users had to guess.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class Cause(enum.Enum):
    """One sort of trouble with the other side."""

    LAUNCH_CONFIGURATION = "launch_configuration"
    """What members are made of is refused as a whole."""
    IMAGE = "image"
    FLAVOR = "flavor"
    NETWORK = "network"
    KEY = "key"
    ZONE = "zone"
    SERVER_GROUP = "server_group"
    QUOTA = "quota"
    CAPACITY = "capacity"
    CREDENTIALS = "credentials"
    LIBRARY = "library"
    """What its driver is made with is not installed here."""
    SERVICE = "service"
    """A whole service of the cloud is not there for this account."""
    BALANCER = "balancer"
    BALANCER_GOING = "balancer_going"
    BALANCER_BUSY = "balancer_busy"
    BALANCER_FULL = "balancer_full"
    POOL = "pool"
    SEAT = "seat"
    """A member's own place on a balancer."""
    HEALTH_MONITOR = "health_monitor"


MENDING: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.LAUNCH_CONFIGURATION: "correct the profile",
        Cause.IMAGE: "put the image back, or name another in the profile",
        Cause.FLAVOR: "put the flavor back, or name another in the profile",
        Cause.NETWORK: "put the network back, or name another in the profile",
        Cause.KEY: "put the key pair back, or name another in the profile",
        Cause.ZONE: "name another zone in the profile",
        Cause.SERVER_GROUP: "put the server group back, make room in it, or name another in the profile",
        Cause.QUOTA: "raise the account's limit, or lower max",
        Cause.CAPACITY: "wait for room in the cloud, or name another zone or flavor in the profile",
        Cause.CREDENTIALS: "check the credentials, and what they may do",
        Cause.LIBRARY: "install what is named where Trimtab is installed, and start Trimtab again",
        Cause.SERVICE: "check that the account is still active and has this service",
        Cause.BALANCER: "put the balancer back, or detach the group from it",
        Cause.BALANCER_GOING: "wait until it is gone, and detach the group from it",
        Cause.BALANCER_BUSY: "wait: it takes one change at a time",
        Cause.BALANCER_FULL: "raise the balancer's limit, or lower max",
        Cause.POOL: "put the pool back, or detach the group from its balancer",
        Cause.SEAT: "nothing: it is looked for again",
        Cause.HEALTH_MONITOR: "put the health monitor back, or let the balancer do without",
    }
)
"""What a person can do."""


def mending(cause: Cause, thing: str) -> str:
    """Say what a person can do, in the other side's own word for the thing.

    >>> mending(Cause.IMAGE, "template"), mending(Cause.SERVER_GROUP, "affinity group")[:27]
    ('put the template back, or name another in the profile', 'put the affinity group back')
    """
    return MENDING[cause].replace(f"the {cause.value.replace('_', ' ')} ", f"the {thing} ", 1)


READABLE = "keep the secret where the file says that it is, for Trimtab to read and for nobody else"
"""How to mend a secret that is not there, or is no secret."""
