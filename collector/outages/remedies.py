"""Explain failures and what to do about them, in words for people: for logs, `why` and `probe`.

>>> remedy("snmp", Reply.REFUSED)
'nothing listens at the SNMP port: start the agent, or set snmp: {port: ...} in the profile'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from collector.outages.misses import Miss, whose
from collector.samples import Reply
from config.units import CounterId

_ANY: Final = ""
_SNMP_AUTH = "check user, auth and priv in the profile's snmp, the secrets that they name, and the agent's users"
_CREDENTIALS = "check user and password, or bearer, and the secrets that they name"
_REMEDIES: Mapping[tuple[str, Reply], str] = MappingProxyType(
    {
        (_ANY, Reply.TIMEOUT): "no answer in time: check that it runs, and that it can be reached from here",
        (_ANY, Reply.REFUSED): "connection refused: check that the server runs, and its address and port",
        (_ANY, Reply.AUTH): _CREDENTIALS,
        (_ANY, Reply.NO_SUCH_COUNTER): "there is no such value: check the name in the counter",
        (
            _ANY,
            Reply.MALFORMED,
        ): "the answer is not a number: check the name in the counter, and what answers at the address",
        (_ANY, Reply.UNREACHABLE): "the source cannot be reached: check its address, its name, and the network",
        (_ANY, Reply.RATE_LIMITED): "too many requests: lengthen the interval, or raise the source's limit",
        (_ANY, Reply.STALE): "the value is older than the group's freshness: find out why the source has no newer one",
        (_ANY, Reply.INCOMPLETE): "the source itself reports that its answer is incomplete: check its health",
        (
            _ANY,
            Reply.UNTRUSTED,
        ): "its certificate is not trusted: renew it, name its authority with ca, or set insecure: true",
        (
            _ANY,
            Reply.OUTSIDE_RANGE,
        ): "an impossible value counts as no answer: repair the sensor, or correct the counter's range",
        (
            _ANY,
            Reply.PUT_OFF,
        ): "let the endpoint return less, use another endpoint, or lengthen the group's interval",
        (_ANY, Reply.FUTURE): "set the clocks: the sample's time is more than a minute ahead of the clock here",
        (
            _ANY,
            Reply.AMBIGUOUS,
        ): "several values where one is expected: narrow it, or set rows to combine them",
        ("snmp", Reply.TIMEOUT): "no answer: check that the agent runs, that UDP reaches it from here, and the "
        "community: agents ignore requests with a wrong one",
        ("snmp", Reply.REFUSED): "nothing listens at the SNMP port: start the agent, or set snmp: {port: ...} in the "
        "profile",
        ("snmp", Reply.AUTH): _SNMP_AUTH,
        ("snmp", Reply.NO_SUCH_COUNTER): "the agent has no such object: check name and instance, and that the "
        "agent's view shows it (snmpget makes the same request)",
        ("snmp", Reply.MALFORMED): "the object is not a number: choose another object",
        ("snmp", Reply.UNREACHABLE): "the member has no address that can be reached over UDP from here",
        ("haproxy", Reply.REFUSED): "HAProxy has no server with the member's name in the group's backend: it is not "
        "registered, or HAProxy was reloaded without it",
        ("haproxy", Reply.UNREACHABLE): "HAProxy does not answer: check that it runs, the socket's path or the "
        "page's address, and that Trimtab may open it",
        (
            "haproxy",
            Reply.NO_SUCH_COUNTER,
        ): "HAProxy leaves this column empty here: it needs a health check, a limit or "
        "HTTP mode, or this version lacks it",
        ("netscaler", Reply.REFUSED): "the appliance has no such member: check service_group and virtual_server",
        ("netscaler", Reply.AUTH): "the appliance refuses the user: check user and password of the source",
        (
            "prometheus",
            Reply.NO_SUCH_COUNTER,
        ): "the query finds nothing (for this member): try it in Prometheus itself, and check label",
        ("prometheus", Reply.MALFORMED): "the query does not return a number: try it in Prometheus itself",
        (
            "opennebula",
            Reply.REFUSED,
        ): "OpenNebula has no running machine for the member: check its state, and that it was not renamed",
        ("opennebula", Reply.AUTH): "OpenNebula refuses the user: check user and password of the cloud",
        (
            "opennebula",
            Reply.NO_SUCH_COUNTER,
        ): "the machine has no such attribute: onevm show lists them; measured ones appear after a while",
        ("opennebula", Reply.STALE): "the hypervisors have not measured for so long: check OpenNebula's monitoring",
        (
            "cloudstack",
            Reply.REFUSED,
        ): "CloudStack has no running machine for the member: check its state, and that it was not renamed",
        (
            "cloudstack",
            Reply.AUTH,
        ): "check api_key and secret of the cloud, both clocks, and that its role has listVirtualMachinesMetrics",
        (
            "cloudstack",
            Reply.NO_SUCH_COUNTER,
        ): "CloudStack does not have it (yet): check that its own page of the machine shows it",
        (
            "cloudstack",
            Reply.STALE,
        ): "CloudStack measures nothing new: check vm.stats.interval (lag allows for a longer one) and the host",
        ("nova", Reply.REFUSED): "the project has no running server for the member: check its state and its metadata",
        (
            "nova",
            Reply.AUTH,
        ): "check the credentials of the cloud, and that Nova's policy lets its user read diagnostics: by "
        "default, only administrators may (os_compute_api:os-server-diagnostics)",
        (
            "nova",
            Reply.NO_SUCH_COUNTER,
        ): "the hypervisor does not report it: openstack server show --diagnostics lists what it reports",
        (
            "gnocchi",
            Reply.REFUSED,
        ): "the project has no server for the member: check its state and its metadata",
        ("gnocchi", Reply.AUTH): "check the credentials of the cloud, and that Gnocchi lets its user read metrics",
        (
            "gnocchi",
            Reply.NO_SUCH_COUNTER,
        ): "Gnocchi has no such metric, aggregation or granularity of the server (yet): check the server's resource "
        "there, and the archive policy of its metric",
        (
            "gnocchi",
            Reply.STALE,
        ): "there is no newer measurement: check Ceilometer and gnocchi-metricd; lag allows for their usual delay",
        ("push", Reply.TIMEOUT): "no value has been pushed yet: check that the sender runs, and its token",
        ("push", Reply.STALE): "no new value has been pushed: check that the sender still runs",
        ("alert", Reply.TIMEOUT): "no alert brings a value now: while none fires, there is none",
    }
)


def remedy(source: str, reply: Reply) -> str:
    """Return the advice for a failure of a kind of source; it starts in lower case and has no full stop.

    Raises:
        KeyError: for OK, which is no failure.
    """
    return _REMEDIES.get((source, reply)) or _REMEDIES[_ANY, reply]


def say_all(misses: Iterable[Miss], sources: Mapping[CounterId, str]) -> tuple[str, ...]:
    """Return lines for people, in order: counters that the same silence affects on the same members share a line.

    Args:
        misses: of one group.
        sources: the name of each counter's source; a counter without one is left out.
    """
    alike: dict[tuple[str, Miss], list[CounterId]] = {}
    for miss in misses:
        if (source := sources.get(miss.counter)) is not None:
            alike.setdefault((source, replace(miss, counter=CounterId(""))), []).append(miss.counter)
    return tuple(
        say(replace(miss, counter=CounterId(", ".join(names))), source) for (source, miss), names in alike.items()
    )


def say(miss: Miss, source: str) -> str:
    """Return one line for people: the counter, the members, the source's words, the advice."""
    kind = miss.reply.word.replace("_", " ")
    words = f" ({miss.detail})" if miss.detail else ""
    return f"{whose(miss)}: {kind}{words}; {remedy(source, miss.reply)}"
