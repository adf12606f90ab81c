"""MIB modules → the objects that they name: OIDs from the root, and what the readings are. Pure.

What the SMI itself defines is known here, and so are the types that most MIBs import, since the files of RFC 2578 and
its companions are rarely at hand. Everything else that a MIB imports must be among the modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from config.counters.mib_syntax import Leaf, Module
from config.counters.objects import KnownObject, ObjectShape, numeric
from config.model.counters import CounterKind

_INTERNET = "1.3.6.1"
_ROOTS: Mapping[str, str] = {
    "ccitt": "0", "iso": "1", "joint-iso-ccitt": "2", "org": "1.3", "dod": "1.3.6", "internet": _INTERNET,
    "directory": f"{_INTERNET}.1", "mgmt": f"{_INTERNET}.2", "mib-2": f"{_INTERNET}.2.1",
    "transmission": f"{_INTERNET}.2.1.10", "experimental": f"{_INTERNET}.3", "private": f"{_INTERNET}.4",
    "enterprises": f"{_INTERNET}.4.1", "security": f"{_INTERNET}.5", "snmpV2": f"{_INTERNET}.6",
    "snmpDomains": f"{_INTERNET}.6.1", "snmpProxys": f"{_INTERNET}.6.2", "snmpModules": f"{_INTERNET}.6.3",
    "system": f"{_INTERNET}.2.1.1", "interfaces": f"{_INTERNET}.2.1.2", "ip": f"{_INTERNET}.2.1.4",
    "tcp": f"{_INTERNET}.2.1.6", "udp": f"{_INTERNET}.2.1.7", "snmp": f"{_INTERNET}.2.1.11",
    "host": f"{_INTERNET}.2.1.25", "ifMIB": f"{_INTERNET}.2.1.31", "entityMIB": f"{_INTERNET}.2.1.47",
    "ucdavis": f"{_INTERNET}.4.1.2021", "ucdExperimental": f"{_INTERNET}.4.1.2021.13",
    "netSnmp": f"{_INTERNET}.4.1.8072", "netSnmpObjects": f"{_INTERNET}.4.1.8072.1",
}  # fmt: skip
"""Source: RFC 2578, section 2, and the well-known modules."""

_TEXT, _NUMBER, _OID = "OCTET STRING", "INTEGER", "OBJECT IDENTIFIER"
_NUMBERS = frozenset(
    ("INTEGER", "Integer32", "Unsigned32", "Gauge", "Gauge32", "Counter", "Counter32", "Counter64", "TimeTicks")
)
_NO_NUMBERS = frozenset((_OID, "IpAddress", "NetworkAddress", "BITS", "ObjectName", "NsapAddress"))
_PRIMITIVES = _NUMBERS | _NO_NUMBERS | {_TEXT, "Opaque"}
_MEANINGS: Mapping[str, str] = {
    "TimeInterval": "TimeTicks",
    **dict.fromkeys(
        ("CounterBasedGauge64", "HCPerfCurrentCount", "HCPerfIntervalCount", "HCPerfTotalCount"), "Gauge64"
    ),
}
"""Types that mean something else than what they are made of.

An interval is an INTEGER of hundredths of a second (RFC 2579). ``Gauge64`` is our word: a Counter64 on the wire, and a
gauge in meaning (RFC 2856, RFC 3705).
"""

_TYPES: Mapping[str, str] = {
    # RFC 2579
    "DisplayString": _TEXT, "PhysAddress": _TEXT, "MacAddress": _TEXT, "DateAndTime": _TEXT, "TAddress": _TEXT,
    "TruthValue": _NUMBER, "TestAndIncr": _NUMBER, "RowStatus": _NUMBER, "StorageType": _NUMBER,
    "AutonomousType": _OID, "InstancePointer": _OID, "VariablePointer": _OID, "RowPointer": _OID, "TDomain": _OID,
    "TimeStamp": "TimeTicks",
    # RFC 2856, 2863, 3411, 3413, 3419, 3593, 4001, 4133, 4363, 4502, 6933; IANA; Net-SNMP
    "SnmpAdminString": _TEXT, "SnmpEngineID": _TEXT, "SnmpSecurityModel": _NUMBER, "SnmpSecurityLevel": _NUMBER,
    "SnmpMessageProcessingModel": _NUMBER, "SnmpTagValue": _TEXT, "SnmpTagList": _TEXT,
    "InetAddress": _TEXT, "InetAddressType": _NUMBER, "InetPortNumber": "Unsigned32", "InetVersion": _NUMBER,
    "InetAddressPrefixLength": "Unsigned32", "InetZoneIndex": "Unsigned32", "InetScopeType": _NUMBER,
    "InetAutonomousSystemNumber": "Unsigned32", "InetAddressIPv4": _TEXT, "InetAddressIPv6": _TEXT,
    "InterfaceIndex": "Integer32", "InterfaceIndexOrZero": "Integer32", "IANAifType": _NUMBER, "OwnerString": _TEXT,
    "EntryStatus": _NUMBER, "TimeFilter": "TimeTicks", "ZeroBasedCounter32": "Gauge32",
    "ZeroBasedCounter64": "Counter64", "PerfCurrentCount": "Gauge32", "PerfIntervalCount": "Gauge32",
    "PerfTotalCount": "Gauge32", "PhysicalIndex": "Integer32", "PhysicalIndexOrZero": "Integer32",
    "PhysicalClass": _NUMBER, "TransportAddress": _TEXT, "TransportAddressType": _NUMBER, "TransportDomain": _OID,
    "UUID": _TEXT, "VlanId": "Integer32", "VlanIndex": "Unsigned32", "PortList": _TEXT, "BridgeId": _TEXT,
    "Float": "Opaque",
}  # fmt: skip
"""Types that most MIBs import → what they are made of, where their own module is not among the files."""

_DEEPEST = 128
"""Of parents over an object, or types under a type: an OID has no more arcs (RFC 3416, section 3)."""

_UNITS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), ("s", 1.0)),
    **dict.fromkeys(("millisecond", "milliseconds", "milli-seconds", "msec", "msecs", "ms"), ("ms", 1.0)),
    **dict.fromkeys(("microsecond", "microseconds", "micro-seconds", "usec", "usecs", "us"), ("us", 1.0)),
    **dict.fromkeys(("minute", "minutes", "min"), ("min", 1.0)),
    **dict.fromkeys(("hour", "hours"), ("h", 1.0)),
    **dict.fromkeys(("centiseconds", "centi-seconds", "hundredths of a second"), ("s", 0.01)),
    **dict.fromkeys(("0.01 seconds", "1/100 seconds", "10 milliseconds"), ("s", 0.01)),
    **dict.fromkeys(("tenths of a second", "deciseconds", "1/10 seconds"), ("s", 0.1)),
    **dict.fromkeys(("percent", "percentage", "%", "per cent"), ("percent", 1.0)),
    **dict.fromkeys(("octet", "octets", "byte", "bytes"), ("bytes", 1.0)),
    **dict.fromkeys(("kibibytes", "kib"), ("KiB", 1.0)),
    **dict.fromkeys(("mebibytes", "mib"), ("MiB", 1.0)),
    **dict.fromkeys(("bit", "bits"), ("bits", 1.0)),
    **dict.fromkeys(("bps", "bits per second", "bits/second", "bits/sec", "b/s"), ("bits/s", 1.0)),
    **dict.fromkeys(("kbps", "kilobits per second", "kbits/sec", "kbit/s"), ("kbit/s", 1.0)),
    **dict.fromkeys(("mbps", "megabits per second", "mbits/sec", "mbit/s"), ("Mbit/s", 1.0)),
}
"""UNITS clauses in small letters → our unit, and what a reading is multiplied by.

"kilobytes" is not among them: some mean 1,000 and some 1,024, so it stays a word that converts to nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Gap:
    """Something that a module needs, and that is nowhere; ``wanted`` is ``module``: it leads back to itself."""

    module: str
    """The module that needs it."""
    wanted: str
    """The module that should define it; empty: the MIB does not name one."""
    symbol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The objects of modules, in their order, and all that is missing to know the others."""

    objects: tuple[KnownObject, ...]
    gaps: tuple[Gap, ...]


def link(modules: Iterable[Module]) -> Linked:
    """Find the OID and the meaning of every object that can be a number, or text that holds one."""
    linker = _Linker(modules={module.name: module for module in modules})
    objects = tuple(known for module in linker.modules.values() for known in linker.objects(module))
    return Linked(objects=objects, gaps=tuple(sorted(linker.gaps)))


class _Missing(Exception):
    """A symbol leads nowhere."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(gap.symbol)
        self.gap = gap


@dataclass(slots=True, kw_only=True)
class _Linker:
    modules: Mapping[str, Module]
    gaps: set[Gap] = field(default_factory=set)
    found: dict[tuple[str, str], str] = field(default_factory=dict)

    def objects(self, module: Module) -> Iterator[KnownObject]:
        for leaf in module.leaves:
            try:
                known = self._object(module, leaf)
            except _Missing as missing:
                self.gaps.add(missing.gap)
            else:
                if known is not None:
                    yield known

    def _object(self, module: Module, leaf: Leaf) -> KnownObject | None:
        shape = _shape(leaf, self._made_of(module, leaf.syntax))
        if shape is None or leaf.name not in module.nodes:
            return None
        column = module.nodes[leaf.name][0] in module.rows
        oid = numeric(self._oid(module, leaf.name))
        if oid is None:
            return None  # an arc that is negative, or longer than 32 bits: no agent can answer
        return KnownObject(name=f"{module.name}::{leaf.name}", oid=oid, column=column, compound=column, shape=shape)

    def _oid(self, module: Module, symbol: str, depth: int = 0) -> str:
        """From the root; each answer is kept, since all objects of a MIB share their parents."""
        key = module.name, symbol
        if key not in self.found:
            if depth > _DEEPEST:
                raise _Missing(Gap(module=module.name, wanted=module.name, symbol=symbol))
            self.found[key] = self._computed_oid(module, symbol, depth)
        return self.found[key]

    def _computed_oid(self, module: Module, symbol: str, depth: int) -> str:
        if symbol in module.nodes:
            parent, arcs = module.nodes[symbol]
            above = self._oid(module, parent, depth + 1) if parent else ""
            return ".".join(part for part in (above, arcs) if part)
        wanted = module.imports.get(symbol, "")
        other = self.modules.get(wanted)
        if other is not None and symbol in other.nodes:
            return self._oid(other, symbol, depth + 1)
        if symbol in _ROOTS:
            return _ROOTS[symbol]
        raise _Missing(Gap(module=module.name, wanted=wanted, symbol=symbol))

    def _made_of(self, module: Module, syntax: str) -> str:
        """The primitive type under a type, or the name of one that has a meaning of its own."""
        for _ in range(_DEEPEST):
            if syntax in _PRIMITIVES:
                return syntax
            if syntax in module.types:
                syntax = module.types[syntax]
                continue
            wanted = module.imports.get(syntax, "")
            other = self.modules.get(wanted)
            if syntax in _MEANINGS or other is None or syntax not in other.types:
                if (known := _MEANINGS.get(syntax) or _TYPES.get(syntax)) is None:
                    raise _Missing(Gap(module=module.name, wanted=wanted, symbol=syntax))
                return known
            module = other
        raise _Missing(Gap(module=module.name, wanted=module.name, symbol=syntax))


def _shape(leaf: Leaf, primitive: str) -> ObjectShape | None:
    """What readings of a primitive type are; ``None`` for what is never a number."""
    if primitive in _NO_NUMBERS:
        return None
    if primitive == "TimeTicks":
        return ObjectShape(unit="s", scale=0.01, description=leaf.description)
    unit, scale = _UNITS.get(leaf.units.lower(), (leaf.units, 1.0))
    bits = 64 if primitive in {"Counter64", "Gauge64"} else 32
    if primitive in {"Counter", "Counter32", "Counter64"}:
        unit = f"{unit}/s" if unit else ""
        return ObjectShape(kind=CounterKind.RISING, bits=bits, unit=unit, scale=scale, description=leaf.description)
    span = leaf.span if unit == "percent" else None
    return ObjectShape(bits=bits, unit=unit, scale=scale, range=_range(span), description=leaf.description)


def _range(span: tuple[int, int] | None) -> tuple[float, float] | None:
    return None if span is None or span[0] >= span[1] else (float(span[0]), float(span[1]))
