from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.grafana import ROOM

_FILES = sorted(ROOM.rglob("*.yaml"))
_COMPOSE = YAML(typ="safe").load(ROOM / "compose.yaml")
_every_service = pytest.mark.parametrize("service", _COMPOSE["services"].values(), ids=_COMPOSE["services"])


@pytest.mark.parametrize("file", _FILES, ids=[path.name for path in _FILES])
def test_every_file_is_yaml(file: Path) -> None:
    assert isinstance(YAML(typ="safe").load(file), dict)


@_every_service
def test_an_image_is_pinned_by_its_version(service: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z]+/[a-z]+:v?\d+\.\d+\.\d+", service["image"])


@_every_service
def test_what_is_mounted_is_there_and_only_read(service: dict[str, Any]) -> None:
    for volume in service["volumes"]:
        source, target, *mode = volume.split(":")
        if source.startswith("./"):
            assert (ROOM / source).exists()
            assert mode == ["ro"]
        else:
            assert source in _COMPOSE["volumes"]
            assert target.startswith("/")


def test_both_listen_on_loopback_only_as_trimtab_does() -> None:
    prometheus, grafana = _COMPOSE["services"]["prometheus"], _COMPOSE["services"]["grafana"]

    assert prometheus["network_mode"] == grafana["network_mode"] == "host"
    assert "--web.listen-address=127.0.0.1:9090" in prometheus["command"]
    assert grafana["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    assert YAML(typ="safe").load(ROOM / "prometheus.yaml")["scrape_configs"][0]["static_configs"] == [
        {"targets": ["127.0.0.1:8460"]}
    ]


def test_grafana_finds_prometheus_and_the_dashboards_where_they_are_put() -> None:
    (source,) = YAML(typ="safe").load(ROOM / "provisioning/datasources/prometheus.yaml")["datasources"]
    (provider,) = YAML(typ="safe").load(ROOM / "provisioning/dashboards/trimtab.yaml")["providers"]
    grafana = _COMPOSE["services"]["grafana"]

    assert source["url"] == "http://127.0.0.1:9090"
    assert source["type"] == "prometheus"
    assert f"./dashboards:{provider['options']['path']}:ro" in grafana["volumes"]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert (ROOM / "dashboards" / Path(home).name).exists()
    assert Path(home).parent == Path(provider["options"]["path"])


def test_rates_are_taken_over_the_interval_at_which_prometheus_scrapes() -> None:
    (source,) = YAML(typ="safe").load(ROOM / "provisioning/datasources/prometheus.yaml")["datasources"]

    scraped = YAML(typ="safe").load(ROOM / "prometheus.yaml")["global"]["scrape_interval"]

    assert source["jsonData"]["timeInterval"] == scraped
