"""Checks of `trimtab doctor` for a NetScaler, beside the listing of a service group's members.

Source: NITRO REST API reference, ``nsversion``; RFC 9110, 6.6.1, for the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from collector.clients.nitro.client import NitroClient
from collector.clients.nitro.parsing import text
from collector.clients.nitro.session import NitroCall
from collector.clients.quoting import shown
from config.units import Instant
from handler.ports.examination import About, Check, Look, fine, look_at_clock, unknown

_VERSION = NitroCall(path="config/nsversion")


def checks_of(name: str, client: NitroClient, clock: Callable[[], Instant]) -> Sequence[Check]:
    """Checks of one appliance; ``name``: the balancer's id in the file."""
    named = partial(Check, about=About.BALANCER, name=name)
    return (
        named(what="version", look=partial(_version, client)),
        named(what="clock", look=partial(_clock, client, clock)),
    )


def _version(client: NitroClient) -> Look:
    entries = client.whole(_VERSION).get("nsversion")
    found = entries[0] if isinstance(entries, list) and entries else entries  # releases differ
    version = shown(text(found, "version")) if isinstance(found, dict) else ""
    return fine(version) if version else unknown("NetScaler does not report its version")


def _clock(client: NitroClient, clock: Callable[[], Instant]) -> Look:
    client.date(_VERSION)  # log in before the clocks are compared: a login may take a while
    return look_at_clock(lambda: client.date(_VERSION), clock)
