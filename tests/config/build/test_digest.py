from __future__ import annotations

import dataclasses
from typing import cast

import pytest
from hypothesis import given

from config.build.digest import digest_of
from config.build.wire import TAGS
from config.load import parse
from config.model.catalogue import Catalogue
from config.model.counters import HaproxyField
from tests.support.config import DECLARATION, EXAMPLE, catalogues, declared, digest_again


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LikeHaproxyField:
    field: str
    server: str | None = None


@given(catalogues())
def test_the_digest_of_any_catalogue_is_stable(catalogue: Catalogue) -> None:
    assert digest_again(catalogue) == catalogue.digest
    assert digest_again(catalogue, backwards=True) == catalogue.digest


@given(catalogues(), catalogues())
def test_catalogues_have_one_digest_exactly_if_they_declare_the_same(first: Catalogue, second: Catalogue) -> None:
    same = dataclasses.replace(first, digest="") == dataclasses.replace(second, digest="")
    assert (first.digest == second.digest) is same


def test_how_a_file_is_written_changes_nothing() -> None:
    head, tail = DECLARATION.split("clouds:")
    turned = f"clouds:{tail}{head}"
    noted = DECLARATION.replace("min: 2, max: 8", "max: 8, min: 2, interval: 0.5m, quiet_time: 300s") + "# a note\n"
    assert parse(turned, "b.yaml").digest == declared().digest
    assert parse(noted, "c.yaml").digest == declared().digest


def test_a_change_of_the_declaration_changes_the_digest() -> None:
    changes = [("min: 2", "min: 3"), ("above: 80", "at_least: 80"), ("{haproxy: scur}", "{haproxy: stot}")]
    digests = {declared().digest, *(declared(change).digest for change in changes)}
    assert len(digests) == 4
    assert parse(EXAMPLE.read_text(encoding="utf-8"), "web.yaml").digest not in digests


def test_the_effects_of_alerts_are_part_of_the_digest() -> None:
    alert = "alerts:\n  a: {match: {alertname: Slow}, groups: [web], ttl: 1m, EFFECT}\ngroups:\n"
    effects = ["fire: out", "fire: in", "floor: 3", "floor: 4", "shield: true", "freeze: in", "freeze: out", "value: x"]
    digests = {declared(("groups:\n", alert.replace("EFFECT", effect))).digest for effect in effects}
    assert len(digests | {declared().digest}) == 9


def tag(monkeypatch: pytest.MonkeyPatch, kind: type, name: str) -> None:
    monkeypatch.setitem(cast("dict[type, str]", TAGS), kind, name)


def test_values_of_different_types_differ_though_their_fields_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    tag(monkeypatch, LikeHaproxyField, "LikeHaproxyField")
    assert digest_of({"c": HaproxyField(field="scur")}) != digest_of({"c": LikeHaproxyField(field="scur")})


def test_a_value_of_a_class_without_a_tag_is_refused() -> None:
    with pytest.raises(TypeError, match="LikeHaproxyField, which has no tag"):
        digest_of({"c": LikeHaproxyField(field="scur")})


def test_names_of_a_class_and_its_fields_in_the_code_are_no_part_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Column:
        name: str = dataclasses.field(metadata={"wire": "field"})
        server: str | None = None

    tag(monkeypatch, Column, "HaproxyField")
    assert digest_of({"c": Column(name="scur")}) == digest_of({"c": HaproxyField(field="scur")})


def test_a_new_key_changes_the_digest_only_once_it_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Port:
        network: str

    tag(monkeypatch, Port, "Port")
    before, others = digest_of({"c": Port(network="web")}), Port

    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Port:  # type: ignore[no-redef]  # the same, as a later release has it
        network: str
        tags: tuple[str, ...] = ()
        fast: bool = False

    tag(monkeypatch, Port, "Port")
    assert others is not Port
    assert digest_of({"c": Port(network="web")}) == before
    assert digest_of({"c": Port(network="web", fast=True)}) != before  # type: ignore[call-arg]
