"""How a load-balancer rule of CloudStack that Trimtab makes is written in YAML, and what goes together."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import Field, PlainValidator, Strict, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import Declared, key, must, worded
from config.document.scalars import Given, HttpPath, Port, PositiveSpan, Text
from config.model.made_rule import Algorithm, HealthCheck, MadeRule, RuleProtocol, Stickiness, StickinessMethod
from config.units import format_span

_Lax = Strict(False)
"""Words of a closed list are written as text."""
_Flag = Annotated[bool, Strict()]
_PARAMETER = r"[a-z][a-z-]{0,60}"
_LONGEST = 255
_SOME = Annotated[int, Field(ge=1, le=1000)]


def _sentence(message: str, at: str) -> PydanticCustomError:
    return PydanticCustomError("sentence", "{message}", {"message": message, "key": at})


def read_cidr(value: object) -> str:
    """Read a network, or one address, of IP version 4 or 6.

    Raises:
        ValueError: says what was expected.

    >>> read_cidr("192.0.2.0/24"), read_cidr("2001:DB8::1")
    ('192.0.2.0/24', '2001:db8::1/128')
    """
    try:
        return str(ipaddress.ip_network(value if isinstance(value, str) else ""))
    except ValueError as error:
        raise ValueError("a network such as 192.0.2.0/24, or an address") from error


def read_stickiness(value: object) -> tuple[tuple[str, str], ...]:
    """Read parameters of a stickiness policy, sorted by name; what is set by being there is ``true``.

    Raises:
        ValueError: says what was expected.

    >>> read_stickiness({"cookie-name": "JSESSIONID", "nocache": True, "length": 52})
    (('cookie-name', 'JSESSIONID'), ('length', '52'), ('nocache', 'true'))
    """
    expected = "parameters of the stickiness policy and their values, such as {cookie-name: JSESSIONID}"
    if not isinstance(value, dict) or not value:
        raise ValueError(expected)
    for name, given in value.items():
        known = isinstance(name, str) and re.fullmatch(_PARAMETER, name) and isinstance(given, str | int)
        if not known or not 0 < len(str(given)) <= _LONGEST or given is False:
            raise ValueError(expected)
    return tuple(sorted((name, "true" if given is True else str(given)) for name, given in value.items()))


Cidr = Annotated[str, PlainValidator(read_cidr), worded("network or address", type="string")]
Parameters = Annotated[
    tuple[tuple[str, str], ...],
    PlainValidator(read_stickiness),
    WithJsonSchema(
        {
            "title": "parameter → value",
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": f"^{_PARAMETER}$"},
            "additionalProperties": {"type": ["string", "integer", "boolean"]},
        }
    ),
]


class StickinessDocument(Declared):
    """One client stays with one member."""

    refused: ClassVar[Mapping[str, str]] = {
        "type": "CloudStack calls it method: LbCookie, AppCookie or SourceBased",
        "cookie_name": "CloudStack has it among parameters, as cookie-name",
    }

    method: Annotated[StickinessMethod, _Lax] = must("How a client is known again.", "LbCookie")
    parameters: Annotated[Parameters | None, Given] = key(
        "As the provider has them.", {"cookie-name": "JSESSIONID"}, left_out="none"
    )

    @property
    def stickiness(self) -> Stickiness:
        """As the core sees it."""
        return Stickiness(method=self.method, parameters=self.parameters or ())


class HealthCheckDocument(Declared):
    """How the provider checks members. Not every provider does: the virtual router does not."""

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("http_method", "expected_codes"), "CloudStack decides that: GET, and any answer of 200"),
        "type": "CloudStack's health check asks for a page, and nothing else",
        "delay": "CloudStack calls it interval",
        "url_path": "CloudStack calls it path",
        "max_retries": "CloudStack counts healthy and unhealthy answers apart",
    }

    path: HttpPath = key("The path of the request.", "/healthz", default="/")
    interval: PositiveSpan = key(
        "How long from one question to the next: whole seconds, 1 to 20940.", "10s", default="5s"
    )
    timeout: PositiveSpan = key(
        "How long an answer may take: whole seconds, 2 to 60, no more than interval.", "5s", default="2s"
    )
    healthy: _SOME = key("This many answers in a row make a member healthy.", 3, default=2, unit="answers")
    unhealthy: _SOME = key("This many failures in a row make a member unhealthy.", 3, default=10, unit="failures")

    @model_validator(mode="after")
    def _in_time(self) -> Self:
        for name, span, least, most in (("interval", self.interval, 1, 20940), ("timeout", self.timeout, 2, 60)):
            if span != int(span) or not least <= span <= most:
                raise _sentence(f"whole seconds, {least} to {most}, not {span:g}s", name)
        if self.timeout > self.interval:
            message = (
                f"a timeout of {format_span(self.timeout)} is longer than the interval, {format_span(self.interval)}"
            )
            raise _sentence(message, "timeout")
        return self

    @property
    def check(self) -> HealthCheck:
        """As the core sees it."""
        return HealthCheck(
            path=self.path,
            interval=self.interval,
            timeout=self.timeout,
            healthy=self.healthy,
            unhealthy=self.unhealthy,
        )


class MadeRuleDocument(Declared):
    """A load-balancer rule of CloudStack."""

    refused: ClassVar[Mapping[str, str]] = {
        "connection_limit": "CloudStack limits connections for a whole network, in its offering, not for a rule",
        "admin_state_up": "a rule of CloudStack serves as long as it exists",
        "subnet": "CloudStack has no subnets: members are reached in their network",
        "lb_method": "CloudStack calls it algorithm: roundrobin, leastconn or source",
        "session_persistence": "CloudStack calls it stickiness",
        "health_monitor": "CloudStack calls it health_check",
        "port": "CloudStack has two: public_port, and private_port where members serve",
        "ip": "CloudStack calls it address",
    }

    network: Annotated[Text | None, Given] = key(
        "The members' network, by name or id.", "web-tier", left_out="that of the address"
    )
    address: Annotated[Text | None, Given] = key(
        "A public address that the account has, or its id.",
        "203.0.113.10",
        left_out="Trimtab acquires one, and releases it",
    )
    public_port: Port = key("The port that clients connect to.", 443, default=80)
    private_port: Port = must("The port at which members serve, as the group says it.", 8080)
    protocol: Annotated[Annotated[RuleProtocol, _Lax] | None, Given] = key(
        "The protocol of clients.", "tcp-proxy", left_out="tcp"
    )
    algorithm: Annotated[Algorithm, _Lax] = key("Which member is next.", "leastconn", default="roundrobin")
    cidrs: Annotated[Annotated[list[Cidr], Field(min_length=1)] | None, Given] = key(
        "The networks that clients may come from.", ["198.51.100.0/24"], left_out="any"
    )
    open_firewall: Annotated[_Flag | None, Given] = key(
        "Whether the address's firewall is opened for it.", False, left_out="as CloudStack does"
    )
    stickiness: Annotated[StickinessDocument | None, Given] = key(
        "Keep each client with one member.", {"method": "SourceBased"}, left_out="any member"
    )
    health_check: Annotated[HealthCheckDocument | None, Given] = key(
        "How the provider checks members.", {"path": "/healthz"}, left_out="not at all"
    )

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.address is None and self.network is None:
            raise _sentence("network is missing: an address is acquired for a network, if none is named", "")
        return self

    @property
    def rule(self) -> MadeRule:
        """As the core sees it."""
        return MadeRule(
            private_port=self.private_port,
            public_port=self.public_port,
            network=self.network,
            address=self.address,
            protocol=self.protocol,
            algorithm=self.algorithm,
            cidrs=tuple(self.cidrs or ()),
            open_firewall=self.open_firewall,
            stickiness=None if self.stickiness is None else self.stickiness.stickiness,
            health_check=None if self.health_check is None else self.health_check.check,
        )
