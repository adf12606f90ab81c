"""What `trimtab doctor` asks the account of a load-balancer rule: it may be another one than that of the machines.

Source: CloudStack 4.22, ``listCapabilities``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from collector.clients.cloudstack.answers import text
from collector.clients.cloudstack.client import Wire
from config.model.catalogue import CloudstackCloud
from config.units import Instant
from handler.ports.clocks import look_at_clock
from handler.ports.examination import About, Check, Look, fine, untold


def checks_of(name: str, cloud: CloudstackCloud, wire: Wire, clock: Callable[[], Instant]) -> Sequence[Check]:
    """Checks of one account; ``name``: the balancer's id in the file."""
    named = partial(Check, about=About.BALANCER, name=name)
    here = (cloud.id, cloud.endpoint, cloud.trust, cloud.timeout, clock)
    return (
        named(what="version", look=partial(_version, wire)),
        named(what="clock", look=lambda: look_at_clock(*here)),
    )


def _version(wire: Wire) -> Look:
    version = text(wire.ask("listCapabilities").get("capability"), "cloudstackversion")
    return fine(f"CloudStack {version}") if version else untold("CloudStack does not tell its version")
