"""Real snmpd processes on loopback addresses, with eight objects of each agent; one process stands for many agents."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from collector.samples import Reply, Scrape
from collector.sources.poll import Poller
from collector.sources.snmp import SnmpSource
from config.model.access import AuthProtocol, PrivProtocol, SecretRef, SnmpAccess, SnmpUser
from config.model.catalogue import Catalogue
from tests.support.collector import a_catalogue, a_poller, an_object
from tests.support.ports import free_udp_port
from tests.support.snmpd import AUTH_PASSWORD, PRIV_PASSWORD, running_snmpd, user_lines

OIDS = tuple(f"1.3.6.1.4.1.8072.9999.9999.{number}.0" for number in range(1, 9))
USER = SnmpUser(
    name="ada", auth=(AuthProtocol.SHA256, SecretRef(env="AUTH")), priv=(PrivProtocol.AES, SecretRef(env="PRIV"))
)
PATIENT = 10.0
"""Seconds that a poll may take."""
INTERVAL = 15.0
_OVERRIDES = [f"override .{oid} integer {number}" for number, oid in enumerate(OIDS)]
_PER_PROCESS = 500


@contextlib.contextmanager
def running_agents(place: Path, count: int) -> Iterator[int]:
    """So many agents, each at an address of its own, all at one port."""
    port, users = free_udp_port(), user_lines(USER.name, AuthProtocol.SHA256, PrivProtocol.AES)
    addresses = [address_of(number) for number in range(count)]
    with contextlib.ExitStack() as running:
        for first in range(0, count, _PER_PROCESS):
            home = place / f"agents-{count}-{first}"
            home.mkdir()
            some = addresses[first : first + _PER_PROCESS]
            running.enter_context(running_snmpd(home, addresses=some, port=port, lines=[*_OVERRIDES, *users]))
        yield port


def address_of(number: int) -> str:
    """Return the address of one agent."""
    return f"127.33.{number // 250}.{number % 250 + 1}"


def named_addresses(count: int) -> Mapping[str, str]:
    """Return the address of each of so many agents, by the name of the member that it is."""
    return {f"m{number:05}": address_of(number) for number in range(count)}


def asking(access: SnmpAccess, groups: Sequence[str] = ("web",)) -> tuple[Poller, Catalogue]:
    """Return a poller, and a catalogue whose groups ask for every object."""
    counters = [an_object(oid, id=f"c{place}") for place, oid in enumerate(OIDS)]
    catalogue = a_catalogue(counters, groups=groups, snmp=access, interval=INTERVAL)
    return a_poller(SnmpSource(), secrets={"AUTH": AUTH_PASSWORD, "PRIV": PRIV_PASSWORD}), catalogue


def settle() -> None:
    """As the daemon does once it runs: what is there stays there, and is not looked through again."""
    gc.collect()
    gc.freeze()


def expect_whole(scrape: Scrape) -> None:
    """Raise `AssertionError` if a value was lost."""
    lost = int((scrape.reply != Reply.OK).sum())
    assert lost == 0, f"{lost} of {scrape.reply.size} values were lost: {sorted(set(scrape.details.values()))}"
