"""What a failure means and what to do about it, in words: for logs, `why` and `probe`.

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
_SNMP_AUTH = (
    "look at user, auth and priv in the profile's snmp, at the secrets that they name, and at the agent's users"
)
_CREDENTIALS = "look at user and password, or bearer, and at the secrets that they name"
_REMEDIES: Mapping[tuple[str, Reply], str] = MappingProxyType(
    {
        (_ANY, Reply.TIMEOUT): "no answer in time: look whether it runs, and whether it can be reached from here",
        (_ANY, Reply.REFUSED): "it was refused: look whether the server runs, and at address and port",
        (_ANY, Reply.AUTH): _CREDENTIALS,
        (_ANY, Reply.NO_SUCH_COUNTER): "there is no such value: look at what the counter names",
        (
            _ANY,
            Reply.MALFORMED,
        ): "what came back is no number: look at what the counter names, and at what answers there",
        (_ANY, Reply.UNREACHABLE): "the source cannot be reached: look at its address, its name, and the way there",
        (_ANY, Reply.RATE_LIMITED): "asked too often: lengthen the interval, or raise the source's limit",
        (_ANY, Reply.STALE): "the value is older than the group's freshness: look why the source has no newer one",
        (_ANY, Reply.INCOMPLETE): "the source itself says that its answer is not whole: look at its own health",
        (
            _ANY,
            Reply.UNTRUSTED,
        ): "its certificate is not believed: renew it, name its authority with ca, or insecure: true",
        (
            _ANY,
            Reply.OUTSIDE_RANGE,
        ): "a value that cannot be counts as no answer: repair what measures it, or correct the counter's range",
        (
            _ANY,
            Reply.PUT_OFF,
        ): "let the endpoint show less, ask for another one, or lengthen the group's interval",
        (_ANY, Reply.FUTURE): "set the clocks: the sample's time is more than a minute ahead of the clock here",
        (_ANY, Reply.AMBIGUOUS): "several values where one is due: narrow it, or say with rows how they become one",
        ("snmp", Reply.TIMEOUT): "no answer: look whether the agent runs, whether UDP reaches it from here, and at the "
        "community: a wrong one is answered by silence",
        ("snmp", Reply.REFUSED): "nothing listens at the SNMP port: start the agent, or set snmp: {port: ...} in the "
        "profile",
        ("snmp", Reply.AUTH): _SNMP_AUTH,
        ("snmp", Reply.NO_SUCH_COUNTER): "the agent has no such object: look at name and instance, and whether the "
        "agent's view shows it (snmpget asks the same)",
        ("snmp", Reply.MALFORMED): "the object is no number: choose another object",
        ("snmp", Reply.UNREACHABLE): "the member has no address that can be reached over UDP from here",
        ("haproxy", Reply.REFUSED): "HAProxy knows no server of the member's name in the group's backend: it is not "
        "seated, or HAProxy was reloaded without it",
        ("haproxy", Reply.UNREACHABLE): "HAProxy does not answer: look whether it runs, at the socket's path or the "
        "page's address, and whether we may open it",
        (
            "haproxy",
            Reply.NO_SUCH_COUNTER,
        ): "HAProxy leaves this column empty here: it needs a health check, a limit or "
        "HTTP mode, or this version lacks it",
        ("netscaler", Reply.REFUSED): "the appliance knows no such member: look at service_group and virtual_server",
        ("netscaler", Reply.AUTH): "the appliance refuses the user: look at user and password of the source",
        (
            "prometheus",
            Reply.NO_SUCH_COUNTER,
        ): "the query finds nothing (for this member): try it in Prometheus itself, and look at label",
        ("prometheus", Reply.MALFORMED): "Prometheus makes no number of the query: try it in Prometheus itself",
        (
            "opennebula",
            Reply.REFUSED,
        ): "OpenNebula has no running machine that is the member: look at its state, and whether it was renamed",
        ("opennebula", Reply.AUTH): "OpenNebula refuses the user: look at user and password of the cloud",
        (
            "opennebula",
            Reply.NO_SUCH_COUNTER,
        ): "the machine has no such attribute: onevm show tells which it has; measured ones come after a while",
        ("opennebula", Reply.STALE): "the hypervisors have not measured for so long: look at OpenNebula's monitoring",
        (
            "cloudstack",
            Reply.REFUSED,
        ): "CloudStack has no running machine that is the member: look at its state, and whether it was renamed",
        (
            "cloudstack",
            Reply.AUTH,
        ): "look at api_key and secret of the cloud, at both clocks, and whether its role has "
        "listVirtualMachinesMetrics",
        (
            "cloudstack",
            Reply.NO_SUCH_COUNTER,
        ): "CloudStack does not have it (yet): look whether its own page of the machine shows it",
        (
            "cloudstack",
            Reply.STALE,
        ): "CloudStack measures nothing new: look at vm.stats.interval (lag allows for a longer one) and at the host",
        ("nova", Reply.REFUSED): "no running server of the project is the member: look at its state and its metadata",
        (
            "nova",
            Reply.AUTH,
        ): "look at the credentials of the cloud, and whether Nova's policy lets its user look at diagnostics: as it "
        "is delivered, only administrators may (os_compute_api:os-server-diagnostics)",
        (
            "nova",
            Reply.NO_SUCH_COUNTER,
        ): "the hypervisor does not tell: openstack server show --diagnostics shows what it does",
        (
            "gnocchi",
            Reply.REFUSED,
        ): "no server of the project is the member: look at its state and its metadata",
        ("gnocchi", Reply.AUTH): "look at the credentials of the cloud, and whether Gnocchi lets its user read metrics",
        (
            "gnocchi",
            Reply.NO_SUCH_COUNTER,
        ): "Gnocchi has no such metric, aggregation or granularity of the server (yet): look at the server's resource "
        "there, and at the archive policy of its metric",
        (
            "gnocchi",
            Reply.STALE,
        ): "nothing newer has been measured: look at Ceilometer and gnocchi-metricd; lag allows for their usual delay",
        ("push", Reply.TIMEOUT): "nothing has been pushed yet: look whether the sender runs, and at its token",
        ("push", Reply.STALE): "nothing new has been pushed: look whether the sender still runs",
        ("alert", Reply.TIMEOUT): "no alert brings a value now: while none fires, there is none",
    }
)


def remedy(source: str, reply: Reply) -> str:
    """What to do about a kind of failure of a kind of source; starts in lower case, without a full stop.

    Raises:
        KeyError: for OK, which is no failure.
    """
    return _REMEDIES.get((source, reply)) or _REMEDIES[_ANY, reply]


def say_all(misses: Iterable[Miss], sources: Mapping[CounterId, str]) -> tuple[str, ...]:
    """Lines for people, in order: counters that one silence took from the same members share a line.

    Args:
        misses: of one group.
        sources: what the source of each counter is called; a counter without one is left out.
    """
    alike: dict[tuple[str, Miss], list[CounterId]] = {}
    for miss in misses:
        if (source := sources.get(miss.counter)) is not None:
            alike.setdefault((source, replace(miss, counter=CounterId(""))), []).append(miss.counter)
    return tuple(
        say(replace(miss, counter=CounterId(", ".join(names))), source) for (source, miss), names in alike.items()
    )


def say(miss: Miss, source: str) -> str:
    """One line for people: which counter, whose, what was said, what to do."""
    kind = miss.reply.word.replace("_", " ")
    words = f" ({miss.said})" if miss.said else ""
    return f"{whose(miss)}: {kind}{words}; {remedy(source, miss.reply)}"
