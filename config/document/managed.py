"""How a balancer that Trimtab makes itself is written in YAML: every property, with units, and what goes together."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, ClassVar, Self

from pydantic import Field, PlainValidator, Strict, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import Declared, key, must, worded
from config.document.made_rule import MadeRuleDocument
from config.document.scalars import Given, HttpPath, Name, Port, PositiveSpan, Text
from config.model.managed import (
    HANDS_ON,
    WITH_REQUESTS,
    HealthMonitor,
    ListenerSpec,
    Method,
    Persistence,
    PoolSpec,
    Probe,
    ProbeMethod,
    Protocol,
    SessionPersistence,
    Vip,
)
from config.units import format_span

_Lax = Strict(False)
"""Words of a closed list are written as text."""
_CODES = r"[1-5][0-9]{2}(-[1-5][0-9]{2}|(, ?[1-5][0-9]{2})*)"
_COOKIE = r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}"


def _sentence(message: str, at: str) -> PydanticCustomError:
    return PydanticCustomError("sentence", "{message}", {"message": message, "key": at})


def read_ip(value: object) -> str:
    """Read an address of IP, version 4 or 6.

    Raises:
        ValueError: says what was expected.
    """
    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError as error:
        raise ValueError("an address of IP, such as 192.0.2.10") from error


def read_codes(value: object) -> str:
    """Read HTTP status codes: one, a list, or a range.

    Raises:
        ValueError: says what was expected.

    >>> read_codes(200), read_codes("200, 204"), read_codes("200-299")
    ('200', '200,204', '200-299')
    """
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not re.fullmatch(_CODES, text):
        raise ValueError("status codes: one such as 200, a list such as 200,204, or a range such as 200-299")
    first, _, last = text.partition("-")
    if last and int(first) > int(last):
        raise ValueError("a range whose first code is the lower one, such as 200-299")
    return text.replace(" ", "")


def read_cookie(value: object) -> str:
    """Read the name of a cookie (RFC 6265, a token).

    Raises:
        ValueError: says what was expected.
    """
    if not isinstance(value, str) or not re.fullmatch(_COOKIE, value):
        raise ValueError("the name of a cookie, such as JSESSIONID")
    return value


Address = Annotated[str, PlainValidator(read_ip), worded("IP address", type="string")]
Codes = Annotated[
    str, PlainValidator(read_codes), worded("status codes: one, a list, or a range", type=["string", "integer"])
]
Cookie = Annotated[str, PlainValidator(read_cookie), worded("name of a cookie", type="string", pattern=f"^{_COOKIE}$")]
Up = Annotated[bool, Strict()]


class VipDocument(Declared):
    """Where clients come in: a subnet, a network, or both."""

    subnet: Annotated[Text | None, Given] = key(
        "The subnet of the address, by name or id.", "public-v4", left_out="the cloud chooses one of the network"
    )
    network: Annotated[Text | None, Given] = key(
        "The network of the address, by name or id.", "public", left_out="that of the subnet"
    )
    address: Annotated[Address | None, Given] = key("The address.", "192.0.2.10", left_out="the cloud chooses")
    admin_state_up: Up = key("Whether the load balancer is up.", False, True, default=True)

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.subnet is None and self.network is None:
            raise _sentence("the source of the address is missing: write subnet or network", "")
        return self

    @property
    def vip(self) -> Vip:
        """As the core sees it."""
        return Vip(subnet=self.subnet, network=self.network, address=self.address, admin_state_up=self.admin_state_up)


class ListenerDocument(Declared):
    """The protocol and port that the balancer accepts."""

    protocol: Annotated[Protocol, _Lax] = key("What clients speak.", "HTTP", default="HTTP")
    port: Port = key("The port that clients connect to.", 443, default=80)
    connection_limit: Annotated[Annotated[int, Field(ge=1, le=2**31 - 1)] | None, Given] = key(
        "How many connections there may be at once.", 2000, left_out="no limit", unit="connections"
    )
    admin_state_up: Up = key("Whether the listener is up.", False, True, default=True)

    @property
    def listener(self) -> ListenerSpec:
        """As the core sees it."""
        return ListenerSpec(
            protocol=self.protocol,
            port=self.port,
            connection_limit=self.connection_limit,
            admin_state_up=self.admin_state_up,
        )


class PersistenceDocument(Declared):
    """One client stays with one member."""

    type: Annotated[Persistence, _Lax] = must("How a client is known again.", "HTTP_COOKIE")
    cookie_name: Annotated[Cookie | None, Given] = key(
        "The application's cookie; with APP_COOKIE.", "JSESSIONID", left_out="none"
    )

    @model_validator(mode="after")
    def _cookie_of_the_application(self) -> Self:
        if self.type is Persistence.APP_COOKIE and self.cookie_name is None:
            raise _sentence("cookie_name is missing: APP_COOKIE uses a cookie of the application", "type")
        if self.type is not Persistence.APP_COOKIE and self.cookie_name is not None:
            raise _sentence(f"{self.type.value} needs no cookie_name: it goes with APP_COOKIE", "cookie_name")
        return self

    @property
    def persistence(self) -> SessionPersistence:
        """As the core sees it."""
        return SessionPersistence(kind=self.type, cookie_name=self.cookie_name)


class PoolDocument(Declared):
    """The members behind the listener, and how they are addressed."""

    id: Annotated[Text | None, Given] = key(
        "A pool that exists, by its id; it is used, never deleted.", "4bbc9fbf", left_out="Trimtab makes one"
    )
    protocol: Annotated[Protocol, _Lax] = key("What members speak.", "HTTP", default="HTTP")
    lb_method: Annotated[Method, _Lax] = key("Which member is next.", "LEAST_CONNECTIONS", default="ROUND_ROBIN")
    session_persistence: Annotated[PersistenceDocument | None, Given] = key(
        "Keep each client with one member.", {"type": "SOURCE_IP"}, left_out="any member"
    )
    subnet: Annotated[Text | None, Given] = key(
        "The subnet of the members' addresses, by name or id.", "web-tier", left_out="that of the VIP"
    )
    admin_state_up: Up = key("Whether the pool is up.", False, True, default=True)

    @model_validator(mode="after")
    def _cookies_are_of_http(self) -> Self:
        kept = self.session_persistence
        if kept is not None and kept.type is not Persistence.SOURCE_IP and self.protocol is not Protocol.HTTP:
            message = f"{kept.type.value} needs a pool that reads HTTP: write HTTP, not {self.protocol.value}"
            raise _sentence(message, "session_persistence")
        return self

    @property
    def pool(self) -> PoolSpec:
        """As the core sees it."""
        kept = self.session_persistence
        return PoolSpec(
            id=self.id,
            protocol=self.protocol,
            lb_method=self.lb_method,
            session_persistence=None if kept is None else kept.persistence,
            subnet=self.subnet,
            admin_state_up=self.admin_state_up,
        )


class HealthMonitorDocument(Declared):
    """How the balancer checks the members."""

    id: Annotated[Text | None, Given] = key(
        "A monitor that exists, by its id; it is used, never deleted.", "72c5ed97", left_out="Trimtab makes one"
    )
    type: Annotated[Probe, _Lax] = key("How the balancer probes members.", "HTTP", default="PING")
    delay: PositiveSpan = key("How long from one probe to the next.", "10s", default="10s")
    timeout: PositiveSpan = key("How long a probe waits for an answer.", "5s", default="5s")
    max_retries: Annotated[int, Field(ge=1, le=10)] = key(
        "How many probes in a row have to succeed or fail before a member counts as well or ill.",
        3,
        default=3,
        unit="probes",
    )
    http_method: Annotated[Annotated[ProbeMethod, _Lax] | None, Given] = key(
        "The method of the request, with HTTP and HTTPS.", "HEAD", implied="GET"
    )
    url_path: Annotated[HttpPath | None, Given] = key(
        "The path of the request, with HTTP and HTTPS.", "/healthz", implied="/"
    )
    expected_codes: Annotated[Codes | None, Given] = key("The status of a member that is well.", "200-299", implied=200)
    admin_state_up: Up = key("Whether the monitor is up.", False, True, default=True)

    @model_validator(mode="after")
    def _in_time(self) -> Self:
        for name, span in (("delay", self.delay), ("timeout", self.timeout)):
            if span != int(span):
                raise _sentence(f"{span:g}s is not a whole number of seconds", name)
        if self.timeout >= self.delay:
            message = (
                f"a timeout of {format_span(self.timeout)} is not shorter than the delay, {format_span(self.delay)}"
            )
            raise _sentence(message, "timeout")
        return self

    @model_validator(mode="after")
    def _requests_are_of_http(self) -> Self:
        given = [name for name in ("http_method", "url_path", "expected_codes") if getattr(self, name) is not None]
        if given and self.type not in WITH_REQUESTS:
            raise _sentence(
                f"{given[0]} goes with HTTP and HTTPS: a {self.type.value} probe requests no page", given[0]
            )
        return self

    @property
    def monitor(self) -> HealthMonitor:
        """As the core sees it."""
        return HealthMonitor(
            id=self.id,
            kind=self.type,
            delay=self.delay,
            timeout=self.timeout,
            max_retries=self.max_retries,
            http_method=self.http_method or ProbeMethod.GET,
            url_path=self.url_path or "/",
            expected_codes=self.expected_codes or "200",
            admin_state_up=self.admin_state_up,
        )


_SET_BY_RULE = {
    "listener": "a rule of CloudStack is its own listener: write protocol and public_port in rule",
    "pool": "a rule of CloudStack is its own pool: write algorithm and stickiness in rule",
    "health_monitor": "CloudStack calls it a health check: write health_check in rule",
}
"""Keys that do not go with a rule → why."""


class ManagedDocument(Declared):
    """Trimtab makes it when a group first needs it, and deletes what it made when no group does any more."""

    choice: ClassVar[tuple[str, ...]] = ("vip", "loadbalancer", "rule")
    choice_of: ClassVar[str] = "the load balancer"

    cloud: Name = must("The cloud that makes it.", "prod")
    vip: Annotated[VipDocument | None, Given] = key("Where clients come in.", {"subnet": "public-v4"})
    loadbalancer: Annotated[Text | None, Given] = key(
        "Instead: a load balancer that exists, by name or id; it is used, never deleted.", "front"
    )
    rule: Annotated[MadeRuleDocument | None, Given] = key(
        "Instead, on CloudStack: a load-balancer rule.", {"network": "web-tier", "private_port": 8080}
    )
    listener: ListenerDocument = key("The protocol and port for clients.", {"protocol": "HTTP", "port": 80}, default={})
    pool: PoolDocument = key(
        "How a member is chosen, and how the balancer connects to it.", {"lb_method": "LEAST_CONNECTIONS"}, default={}
    )
    health_monitor: Annotated[HealthMonitorDocument | None, Given] = key(
        "How the balancer checks members.", {"type": "HTTP", "url_path": "/healthz"}, left_out="not at all"
    )
    lb_status_timeout: PositiveSpan = key(
        "How long a part of it may be pending before the group says so.", "10m", default="5m"
    )

    @model_validator(mode="after")
    def _not_beside_a_rule(self) -> Self:
        given = [name for name in _SET_BY_RULE if name in self.model_fields_set]
        if self.rule is not None and given:
            raise _sentence(_SET_BY_RULE[given[0]], given[0])
        return self

    @model_validator(mode="after")
    def _hands_on(self) -> Self:
        taken, handed = self.listener.protocol, self.pool.protocol
        if self.pool.id is None and handed not in HANDS_ON[taken]:
            words = " or ".join(sorted(protocol.value for protocol in HANDS_ON[taken]))
            raise _sentence(
                f"a listener of {taken.value} forwards {words}, so its pool cannot be {handed.value}", "pool"
            )
        return self

    @model_validator(mode="after")
    def _exists_within_what_exists(self) -> Self:
        if self.loadbalancer is None and self.pool.id is not None:
            raise _sentence("an existing pool belongs to an existing load balancer: name it, too", "pool")
        monitor = self.health_monitor
        if self.pool.id is None and monitor is not None and monitor.id is not None:
            raise _sentence("a monitor that exists is of a pool that exists: name its id, too", "health_monitor")
        return self
