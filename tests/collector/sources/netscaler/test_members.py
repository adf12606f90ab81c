"""Which of what is bound is which member: one of them, none, or unknown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from collector.clients.http.failures import HttpFailure
from collector.samples import Reply
from collector.sources.netscaler.members import Bindings, only
from collector.sources.netscaler.parsing import Thing
from collector.targets import MemberTarget
from config.units import MemberName
from tests.support.netscaler import a_group_member, a_service


def a_member(name: str = "web-1", address: str = "10.0.0.1") -> MemberTarget:
    return MemberTarget(name=MemberName(name), address=address, counted=True)


def found(bound: Sequence[Thing], member: MemberTarget, doubt: str = "") -> Thing | Reply:
    thing = Bindings.of(bound).of_member(member, doubt)
    return thing.reply if isinstance(thing, HttpFailure) else thing


OTHER = a_group_member("10.0.0.9", "10.0.0.9")


@pytest.mark.parametrize(
    "ours",
    [
        a_group_member("10.0.0.1", "10.0.0.1"),
        a_group_member("server-of-web", "10.0.0.1"),
        a_group_member("web-1", "0.0.0.0"),
        a_group_member("web-1", "10.0.0.1"),
        a_group_member("10.0.0.1", ""),
        a_service("svc-1", "10.0.0.1"),
        a_service("web-1", ""),
    ],
    ids=["address as name", "address", "name only", "both", "name is the address", "a service", "a service by name"],
)
def test_a_member_is_found_by_address_or_name(ours: Thing) -> None:
    assert found([OTHER, ours], a_member()) is ours


def test_an_address_may_be_written_in_several_ways() -> None:
    ours = a_group_member("v6", "2001:DB8:0::1")

    assert found([OTHER, ours], a_member(address="2001:db8::1")) is ours


@pytest.mark.parametrize(
    "bound",
    [
        [a_group_member("10.0.0.1", "10.0.0.1", port=80), a_group_member("10.0.0.1", "10.0.0.1", port=8080)],
        [a_group_member("web-1", "10.0.0.7"), a_group_member("other", "10.0.0.1")],
        [a_service("svc-a", "10.0.0.1"), a_group_member("10.0.0.1", "10.0.0.1")],
    ],
    ids=["two ports", "name and address differ", "a service and a group member"],
)
def test_a_member_that_several_could_be_is_ambiguous(bound: Sequence[Thing]) -> None:
    assert found(bound, a_member()) is Reply.AMBIGUOUS


def test_a_member_that_is_not_bound_is_refused_or_incomplete() -> None:
    assert found([OTHER], a_member()) is Reply.REFUSED
    assert found([OTHER], a_member(), doubt="Bulk operation failed") is Reply.INCOMPLETE


def test_a_member_without_an_address_is_no_other_one() -> None:
    assert found([a_group_member("x", ""), a_service("", "")], a_member(address="")) is Reply.REFUSED


def test_virtual_servers_are_told_apart_by_name_in_any_case() -> None:
    web, api = {"name": "Web-VIP"}, {"name": "api"}

    assert only([web, api], "lbvserver", "web-vip") is web
    assert only([{"tothits": "1"}], "lbvserver", "web-vip") == {"tothits": "1"}
    assert [_reply(only(found, "lbvserver", "web-vip")) for found in ([api], [web, web])] == [
        Reply.REFUSED,
        Reply.AMBIGUOUS,
    ]


def _reply(found: Thing | HttpFailure) -> Reply | None:
    return found.reply if isinstance(found, HttpFailure) else None
