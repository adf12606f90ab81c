"""Sessions over pysnmp: where gufo-snmp has no wheel, and as a second opinion.

All requests of an identity leave from one socket, so a closed port is silence here. pysnmp checks signatures and finds
engines by itself. It takes 58 times the processor time of gufo-snmp, and its first contact with an agent grows with
the number of agents that it knows: it is for hundreds, not for thousands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from pysnmp.hlapi.v3arch import asyncio as hlapi  # type: ignore[import-untyped]
from pysnmp.hlapi.varbinds import CommandGeneratorVarBinds  # type: ignore[import-untyped]
from pysnmp.proto import errind, rfc1902, rfc1905  # type: ignore[import-untyped]

from collector.snmp.agents import Agent, Community, Identity
from collector.snmp.engine import FAULT, NO_SUCH_NAME, STATUSES, UPTIME, Cure, Raw, Trouble, Varbinds, silence
from collector.snmp.pysnmp_users import credentials, trouble
from collector.snmp.varbinds import Pairs, of_get, of_walk, valueless
from config.model.access import SnmpVersion
from config.units import Seconds

_NEVER: Seconds = 30.0
"""pysnmp gives up after this time, long after we did: its own clock is coarse."""
_MODULES = ("SNMP-COMMUNITY-MIB", "SNMP-TARGET-MIB", "PYSNMP-USM-MIB", "PYSNMP-SOURCE-MIB", "SNMPv2-TM")
_NOTHING = (rfc1905.NoSuchObject, rfc1905.NoSuchInstance, rfc1905.EndOfMibView)
_WHOLE = (rfc1902.Integer32, rfc1902.Unsigned32, rfc1902.Counter32, rfc1902.Counter64, rfc1902.TimeTicks)


class PysnmpLibrary:
    """One engine per identity, since pysnmp knows users by their name only; and one for each agent that restarted."""

    def __init__(self) -> None:
        self._engines: dict[Identity | Agent, hlapi.SnmpEngine] = {}
        self._restarted: set[Agent] = set()
        self._making = asyncio.Lock()

    async def open(self, agent: Agent, address: str, patience: Seconds) -> PysnmpSession:
        """Begin to speak with an agent; nothing is sent yet."""
        kind = hlapi.Udp6TransportTarget if ":" in address else hlapi.UdpTransportTarget
        target = await kind.create((address, agent.port), timeout=_NEVER, retries=0)
        key = agent if agent in self._restarted else agent.identity
        async with self._making:
            if key not in self._engines:
                self._engines[key] = await asyncio.to_thread(_engine)
        return PysnmpSession(agent, self._engines[key], target, lambda: self._renew(agent))

    async def close(self) -> None:
        """Give back the sockets."""
        for engine in self._engines.values():
            engine.close_dispatcher()
        await asyncio.sleep(0)  # asyncio closes them a turn later

    def _renew(self, agent: Agent) -> None:
        """Forget an agent by way of a new engine: pysnmp holds on to an id and a clock that are no longer true."""
        self._restarted.add(agent)
        if agent in self._engines:
            self._engines.pop(agent).close_dispatcher()


class PysnmpSession:
    """A conversation with one agent, on the socket of an engine."""

    def __init__(
        self, agent: Agent, engine: hlapi.SnmpEngine, target: hlapi.UdpTransportTarget, renew: Callable[[], None]
    ) -> None:
        self._identity = agent.identity
        self._silence = silence(agent)
        self._to = engine, credentials(agent.identity), target, hlapi.ContextData()
        self._renew = renew
        self._heard = False

    async def get(self, oids: Sequence[str], patience: Seconds) -> Varbinds | Trouble:
        """Ask for these objects in one request."""
        found = await self._answer(hlapi.get_cmd(*self._to, *map(_object, oids), lookupMib=False), patience)
        return found if isinstance(found, Trouble) else of_get(oids, found)

    async def after(self, oid: str, most: int, patience: Seconds) -> Varbinds | Trouble:
        """Ask for up to ``most`` objects that follow an OID; v1 has no way to ask for more than one."""
        if isinstance(self._identity, Community) and self._identity.version is SnmpVersion.V1:
            most = 1
            request = hlapi.next_cmd(*self._to, _object(oid), lookupMib=False)
        else:
            request = hlapi.bulk_cmd(*self._to, 0, most, _object(oid), lookupMib=False)
        found = await self._answer(request, patience)
        if isinstance(found, Trouble):
            return {} if found is STATUSES[NO_SUCH_NAME] else found
        return of_walk(most, [pair for pair in found if pair[1] is not None])  # the end bears the last one's name

    def close(self) -> None:
        """Nothing is its own."""

    async def _answer(self, request: Awaitable[Any], patience: Seconds) -> Pairs | Trouble:
        try:
            async with asyncio.timeout(patience):
                indication, status, _, found = await request
        except TimeoutError:
            return self._unheard()
        if indication is not None:
            return self._unheard() if isinstance(indication, errind.RequestTimedOut) else trouble(indication)
        self._heard = True
        if int(status):
            return STATUSES.get(int(status), FAULT)
        null = next((str(name) for name, value in found if type(value) is rfc1905.UnSpecified), None)
        return [(str(name), _raw(value)) for name, value in found] if null is None else valueless(null)

    def _unheard(self) -> Trouble:
        if not self._heard or isinstance(self._identity, Community):
            return self._silence
        self._renew()
        return replace(self._silence, cure=Cure.RENEWAL)


def _engine() -> hlapi.SnmpEngine:
    """Make an engine that has all it needs: a quarter of a second, which the event loop must not wait."""
    engine = hlapi.SnmpEngine()
    engine.get_mib_builder().load_modules(*_MODULES)
    CommandGeneratorVarBinds().make_varbinds(engine.cache, [_object(UPTIME)])
    return engine


def _object(oid: str) -> hlapi.ObjectType:
    return hlapi.ObjectType(hlapi.ObjectIdentity(oid))


def _raw(value: Any) -> Raw:  # noqa: ANN401  # pysnmp has no types
    if isinstance(value, _NOTHING):
        return None
    if isinstance(value, _WHOLE):
        return int(value)
    octets = isinstance(value, rfc1902.OctetString | rfc1902.Opaque) and not isinstance(value, rfc1902.IpAddress)
    return bytes(value) if octets else str(value.prettyPrint())
