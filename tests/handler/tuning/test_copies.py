"""Copies of a group are declared whatever else its file declares."""

from __future__ import annotations

import pytest

from config.units import parse_span
from handler.tuning.copies import TunedGroup, allowed, copies, name_of, with_forecast
from handler.tuning.parameters import parameters_of, today_of
from tests.support.replay import WEB
from tests.support.tuning import SHARED, file_of

VAULT = 'vault: {url: "https://vault.example.org:8200", token: {env: VAULT_TOKEN}}\n'
ALERTS = "alerts:\n  depth: {match: {alertname: Depth}, groups: [web], value: depth, ttl: 15m}\n"
PLAYED = SHARED.replace("process: {}", "simulated: {}").replace(", command: [serve]", "")
ONEFLOW = (
    "oneflow: {endpoint: 'http://one.example.org:2474', rpc: 'http://one.example.org:2633/RPC2', user: fleet, "
    "password: {env: ONE}}"
)


def tuned(text: str) -> TunedGroup:
    file = file_of(text)
    found = parameters_of(file.reading.data, file.catalogue, WEB)
    return TunedGroup(reading=file.reading, catalogue=file.catalogue, group=WEB, parameters=found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            SHARED.replace("[serve]", "[serve], snmp: {community: {vault: secret/snmp, field: community}}") + VAULT,
            id="a secret in a vault",
        ),
        pytest.param(
            SHARED.replace("  backlog:", "  depth: {alert: depth, unit: jobs}\n  backlog:") + ALERTS,
            id="a counter of an alert",
        ),
        pytest.param(SHARED.replace("[out, in]}", "[out, in], observe: [cpu]}"), id="counters that are observed"),
        pytest.param(
            PLAYED.replace("[out, in]}", "[out, in], balancers: [{use: edge, port: 80}]}")
            + "balancers: {edge: {managed: {cloud: box, vip: {subnet: web}}}}\n",
            id="a balancer of its own",
        ),
        pytest.param(
            SHARED.replace("process: {}", ONEFLOW).replace("command: [serve]", "service: shop, role: web"),
            id="a role of OneFlow",
        ),
    ],
)
def test_several_settings_are_tried_beside_whatever_the_file_declares(text: str) -> None:
    group = tuned(text)
    today = today_of(group.parameters)

    assert [*copies(group, (today, today)).groups] == [name_of(0), name_of(1)]
    assert [*with_forecast(group, 80.0, 60.0).groups] == [name_of(0)]


def test_durations_with_parts_of_a_second_are_tried_as_they_are_written() -> None:
    group = tuned(
        SHARED.replace("interval: 30s", "interval: 1.5s")
        .replace("duration: 60s", "duration: 4.5s")
        .replace("above: 80", "window: 4.5s, above: 80")
    )
    texts = {each.name: each.text(each.today) for each in group.parameters}

    assert allowed(group, today_of(group.parameters))
    assert parse_span(texts["policies.out.duration"]) == parse_span(texts["conditions.busy.window"]) == 4.5
