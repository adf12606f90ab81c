"""What `trimtab doctor` asks Octavia, besides whether it shows a pool's members.

Source: Octavia API v2, version discovery, ``provisioning_status`` of pools and load balancers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from collector.clients.openstack.connection import LOAD_BALANCER, Connection
from config.causes import MENDING, Cause
from config.units import Instant
from handler.balancers.octavia.answers import Tree
from handler.balancers.octavia.pool import Pool
from handler.ports.examination import About, Check, Look, clock_look, fine, untold

_MEND = MENDING[Cause.BALANCER]


def checks_of(name: str, connection: Connection, pool: Pool, clock: Callable[[], Instant]) -> Sequence[Check]:
    """Checks of one pool; ``name``: the balancer's id in the file."""
    named = partial(Check, about=About.BALANCER, name=name, mend=_MEND)
    return (
        named(what="version", look=partial(_version, connection)),
        named(what="clock", look=partial(_clock, connection, clock)),
        named(what="state", look=partial(_state, pool)),
    )


def _version(connection: Connection) -> Look:
    offered = connection.offered(LOAD_BALANCER)
    return fine(f"Octavia {offered[0]}.{offered[1]}") if offered else untold("Octavia does not tell its version")


def _clock(connection: Connection, clock: Callable[[], Instant]) -> Look:
    connection.offered(LOAD_BALANCER)  # logging in may take a while: not between the two looks at our clock
    before = clock()
    answer = connection.ask(LOAD_BALANCER, "GET", "/lbaas/pools?fields=id&limit=1")
    return clock_look(answer.date, before, clock())


def _state(pool: Pool) -> Look:
    if pool.state() is Tree.ACTIVE:
        return fine("pool and load balancer take changes")
    return untold("pool or load balancer is being changed just now, and takes no changes meanwhile")
