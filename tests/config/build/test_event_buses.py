from __future__ import annotations

from typing import Any

from config.load import parse
from config.model.access import SecretRef, Trust
from config.model.catalogue import Catalogue
from config.model.clouds import EventBus, EventFormat
from config.settings import secret_places
from config.units import CloudId

_REACHED = "url: amqps://rabbit/nova, user: trimtab, password: {env: BUS}"
_CLOUDS = """
clouds:
  nova: {openstack: {cloud: c, events: {REACHED}}}
  own: {openstack: {cloud: c, events: {REACHED, exchange: cell, topics: [trimtab], ca: /ca.pem, timeout: 3s}}}
  stack: {cloudstack: {endpoint: "http://127.0.0.1/client/api", api_key: {env: K}, secret: {env: S}, events: {REACHED}}}
  still: {process: {}}
"""


def _parsed(clouds: str) -> Catalogue:
    return parse(clouds.replace("REACHED", _REACHED), "model.yaml")


def test_a_bus_of_each_kind_of_cloud_has_its_own_exchange_and_routing_keys() -> None:
    buses = _parsed(_CLOUDS).event_buses

    reached: dict[str, Any] = {"url": "amqps://rabbit/nova", "user": "trimtab", "password": SecretRef(env="BUS")}
    notifications = ("notifications.*", "versioned_notifications.*")
    nova, own, stack = CloudId("nova"), CloudId("own"), CloudId("stack")
    assert buses == {
        nova: EventBus(cloud=nova, format=EventFormat.NOVA, exchange="nova", bindings=notifications, **reached),
        own: EventBus(
            cloud=own,
            format=EventFormat.NOVA,
            exchange="cell",
            bindings=("trimtab.*",),
            trust=Trust(ca="/ca.pem"),
            timeout=3.0,
            **reached,
        ),
        stack: EventBus(
            cloud=stack,
            format=EventFormat.CLOUDSTACK,
            exchange="cloudstack-events",
            bindings=("*.*.*.VirtualMachine.*",),
            **reached,
        ),
    }


def test_the_digest_does_not_depend_on_buses_and_their_passwords_are_known_secrets() -> None:
    heard, without = _parsed(_CLOUDS), _parsed("clouds: {nova: {openstack: {cloud: c}}}")
    changed = _parsed("clouds: {nova: {openstack: {cloud: c, events: {REACHED}}}}")

    assert changed.digest == without.digest
    assert [site.line for ref, site in secret_places(heard) if ref == SecretRef(env="BUS")] == [3, 4, 5]
