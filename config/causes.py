"""What is missing, refused or used up when a cloud or a balancer does not do what was asked, and what to do about it.

Source: the errors that Rackspace's Otter puts a group into ERROR for, with those that its users had to guess.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class FailureCause(enum.Enum):
    """One sort of trouble with the other side."""

    LAUNCH_CONFIGURATION = "launch_configuration"
    """The cloud refuses the profile as a whole."""
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
    """A library that the driver needs is not installed here."""
    SERVICE = "service"
    """The account has no access to a service of the cloud."""
    BALANCER = "balancer"
    BALANCER_GOING = "balancer_going"
    BALANCER_BUSY = "balancer_busy"
    BALANCER_FULL = "balancer_full"
    POOL = "pool"
    REGISTRATION = "seat"
    """A member's registration with a balancer."""
    HEALTH_MONITOR = "health_monitor"


REMEDIES: Mapping[FailureCause, str] = MappingProxyType(
    {
        FailureCause.LAUNCH_CONFIGURATION: "correct the profile",
        FailureCause.IMAGE: "put the image back, or name another in the profile",
        FailureCause.FLAVOR: "put the flavor back, or name another in the profile",
        FailureCause.NETWORK: "put the network back, or name another in the profile",
        FailureCause.KEY: "put the key pair back, or name another in the profile",
        FailureCause.ZONE: "name another zone in the profile",
        FailureCause.SERVER_GROUP: "put the server group back, make room in it, or name another in the profile",
        FailureCause.QUOTA: "raise the account's limit, or lower max",
        FailureCause.CAPACITY: "wait for room in the cloud, or name another zone or flavor in the profile",
        FailureCause.CREDENTIALS: "check the credentials, and what they may do",
        FailureCause.LIBRARY: "install what is named where Trimtab is installed, and start Trimtab again",
        FailureCause.SERVICE: "check that the account is still active and has this service",
        FailureCause.BALANCER: "put the balancer back, or detach the group from it",
        FailureCause.BALANCER_GOING: "wait until it is gone, and detach the group from it",
        FailureCause.BALANCER_BUSY: "wait: it takes one change at a time",
        FailureCause.BALANCER_FULL: "raise the balancer's limit, or lower max",
        FailureCause.POOL: "put the pool back, or detach the group from its balancer",
        FailureCause.REGISTRATION: "nothing: it is looked for again",
        FailureCause.HEALTH_MONITOR: "put the health monitor back, or let the balancer do without",
    }
)
"""What a person can do."""


def remedy_for(cause: FailureCause, thing: str) -> str:
    """Say what a person can do, in the other side's own word for the thing.

    >>> remedy_for(FailureCause.IMAGE, "template"), remedy_for(FailureCause.SERVER_GROUP, "affinity group")[:27]
    ('put the template back, or name another in the profile', 'put the affinity group back')
    """
    return REMEDIES[cause].replace(f"the {cause.value.replace('_', ' ')} ", f"the {thing} ", 1)


READABLE = "keep the secret at the place that the file names, readable for Trimtab only"
"""What to do about a secret that is missing or invalid."""
