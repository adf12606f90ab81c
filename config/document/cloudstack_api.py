"""The section ``cloudstack_api``, as it is written."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

from pydantic import Strict

from config.document.declared import Declared, key, must
from config.document.scalars import Given, Identifier, Name, Port, Text
from config.model.cloudstack_api import ApiRule, ApiZone, CloudstackApi, StateCase
from config.units import BalancerId, CloudId


class ApiZoneDocument(Declared):
    """A zone that clients may name."""

    cloud: Name = must("The cloud where members of this zone are made; of kind cloudstack.", "stack")
    networks: list[Text] = key(
        "The networks of members whose profile names none in otherdeployparams.",
        ["web-tier"],
        default=[],
        left_out="those of the cloud's account",
    )
    acts_as: dict[Identifier, Name] = key(
        "Users whose own keys make the calls for their profiles (autoscaleuserid): the user, and the cloud that is "
        "declared with their keys.",
        {"ada": "stack"},
        default={},
        left_out="cloud makes them for everyone",
    )
    name: Annotated[Text | None, Given] = key("Its name, for clients to look it up by.", "Paris", left_out="its id")
    templates: dict[Identifier, Text] = key(
        "Templates that clients may look up: id, and name. Those of profiles are known without it.",
        {"1c0a5a1e-4f5e-4c8b-9a43-2f4b7f0d2c11": "web-2026-03"},
        default={},
    )
    offerings: dict[Identifier, Text] = key(
        "Service offerings that clients may look up: id, and name. Those of profiles are known without it.",
        {"2c0a5a1e-4f5e-4c8b-9a43-2f4b7f0d2c11": "small"},
        default={},
    )


class ApiRuleDocument(Declared):
    """A load-balancer rule that clients may name: any balancer of the file."""

    name: Text = must("Its name. The group's id and the names of its members begin with it.", "web-https")
    use: Name = must("The balancer.", "edge")
    port: Port = must("The port at which members serve.", 8080)
    public_ip: Annotated[Text | None, Given] = key(
        "The address of the rule, for clients to show.", "203.0.113.7", left_out="none is shown"
    )
    public_port: Annotated[Port | None, Given] = key(
        "The port of the rule, for clients to show.", 443, left_out="none is shown"
    )


class CloudstackApiDocument(Declared):
    """CloudStack's query API at /client/api, for clients of its autoscale."""

    zones: dict[Identifier, ApiZoneDocument] = key(
        "Zones by their ids in CloudStack.", {"7c0a5a1e-4f5e-4c8b-9a43-2f4b7f0d2c11": {"cloud": "stack"}}, default={}
    )
    rules: dict[Identifier, ApiRuleDocument] = key(
        "Load-balancer rules by their ids in CloudStack.",
        {"1d1b4f6e-0a52-4c0e-8c4b-6a2b9f5d7e33": {"name": "web-https", "use": "edge", "port": 8080}},
        default={},
    )
    require_expiry: bool = key("Whether requests that do not say when they expire are refused.", True, default=False)
    states: Annotated[StateCase, Strict(False)] = key(
        "How states of groups are written: upper as CloudStack does since 4.18, lower as Terraform reads them.",
        "lower",
        default="upper",
    )

    @property
    def settings(self) -> CloudstackApi:
        """As the daemon sees it."""
        zones = {
            zone: ApiZone(
                cloud=CloudId(entry.cloud),
                networks=tuple(entry.networks),
                acts_as=MappingProxyType({user: CloudId(cloud) for user, cloud in entry.acts_as.items()}),
                name=entry.name or "",
                templates=MappingProxyType(dict(entry.templates)),
                offerings=MappingProxyType(dict(entry.offerings)),
            )
            for zone, entry in self.zones.items()
        }
        rules = {
            rule: ApiRule(
                name=entry.name,
                balancer=BalancerId(entry.use),
                port=entry.port,
                public_ip=entry.public_ip,
                public_port=entry.public_port,
            )
            for rule, entry in self.rules.items()
        }
        return CloudstackApi(
            zones=MappingProxyType(zones),
            rules=MappingProxyType(rules),
            require_expiry=self.require_expiry,
            states=self.states,
        )
