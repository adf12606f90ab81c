from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from config.units import GroupId, Instant, MemberName
from handler.ingest.pushes.judging import PushListener, PushReading, PushRefusal, PushResult, PushScope, judged
from handler.ingest.pushes.pushed_values import PushedEntry
from tests.support.pushes import API, ONE, OTHER, TWO, WEB, a_listener, application, member, sent

NOON = Instant(1_767_268_800.0)
GONE, COMING = MemberName("web-k3f9ab-3"), MemberName("web-k3f9ab-13")
BOTH = {WEB: a_listener(), API: a_listener(members={OTHER: "41"})}


def judge(
    scope: PushScope, *entries: PushedEntry, listeners: Mapping[GroupId, PushListener] | None = None
) -> tuple[PushReading, ...] | PushRefusal:
    return judged(scope, entries, {WEB: a_listener()} if listeners is None else listeners, NOON)


def reading(
    name: str = "CPU", value: float | None = 42.0, *, of: MemberName | None = ONE, group: GroupId = WEB
) -> PushReading:
    return PushReading(group=group, member=of, name=name, value=value)


@pytest.mark.parametrize(
    ("scope", "entry", "expected"),
    [
        pytest.param(member(), sent(), reading(), id="a-member-of-itself"),
        pytest.param(member(), sent(member=ONE, group="web"), reading(), id="a-member-that-names-itself"),
        pytest.param(member(), sent(member="41"), reading(), id="a-member-by-its-clouds-id"),
        pytest.param(member(), sent(value=None), reading(value=None), id="a-member-takes-back"),
        pytest.param(application(), sent("ORDERS"), reading("ORDERS", of=None), id="an-application-of-its-group"),
        pytest.param(application(), sent(member=TWO), reading(of=TWO), id="an-application-of-a-member"),
        pytest.param(application(), sent(member="42"), reading(of=TWO), id="of-a-member-by-its-clouds-id"),
        pytest.param(
            application(WEB, API), sent("ORDERS", group="api"), reading("ORDERS", of=None, group=API), id="one-of-two"
        ),
        pytest.param(application(WEB, API), sent(member=OTHER), reading(of=OTHER, group=API), id="the-members-group"),
        pytest.param(application(WEB, API), sent(member="42"), reading(of=TWO), id="the-group-of-a-clouds-id"),
    ],
)
def test_an_accepted_value_is_a_reading_of_its_member_or_group(
    scope: PushScope, entry: PushedEntry, expected: PushReading
) -> None:
    assert judge(scope, entry, listeners=BOTH) == (expected,)


def test_one_name_may_be_read_of_members_and_of_the_group() -> None:
    listeners = {WEB: a_listener(per_member=("CPU",), whole=("CPU",))}
    assert judge(application(), sent(), sent(member=ONE), listeners=listeners) == (reading(of=None), reading())


@pytest.mark.parametrize(
    ("scope", "entry", "result", "message"),
    [
        pytest.param(
            member(), sent("CPUX"), PushResult.UNKNOWN_NAME,
            'no counter of group web reads "CPUX"; its counters read "CPU", "JOBS", "ORDERS"', id="unknown-name",
        ),
        pytest.param(
            member(), sent(member=TWO), PushResult.NOT_PERMITTED,
            f'this token may push for {ONE} only, not for "{TWO}"', id="a-member-for-another",
        ),
        pytest.param(
            member(), sent(member="42"), PushResult.NOT_PERMITTED,
            f'this token may push for {ONE} only, not for "42"', id="a-member-for-anothers-id",
        ),
        pytest.param(
            member(), sent(group="api"), PushResult.NOT_PERMITTED,
            'this token may not push for group "api"', id="a-member-for-another-group",
        ),
        pytest.param(
            member(), sent("ORDERS"), PushResult.NOT_PERMITTED,
            '"ORDERS" is read for group web, not per member: a member\'s token may not push it', id="a-member-for-all",
        ),
        pytest.param(
            member(GONE), sent(), PushResult.NOT_PERMITTED, f"{GONE} is no member of group web any more",
            id="no-member-now",
        ),
        pytest.param(
            member(COMING), sent(), PushResult.NOT_READY,
            f"{COMING} is not listed as a member of group web yet", id="no-member-yet",
        ),
        pytest.param(
            application(), sent(group="api"), PushResult.NOT_PERMITTED,
            'this token may not push for group "api"', id="another-group",
        ),
        pytest.param(
            application(), sent(member=OTHER), PushResult.NOT_PERMITTED,
            f"this token may not push for group api of {OTHER}", id="a-member-of-another-group",
        ),
        pytest.param(
            application(WEB, GroupId("db")), sent(member=OTHER), PushResult.NOT_PERMITTED,
            f"this token may not push for group api of {OTHER}", id="a-member-of-none-of-these-groups",
        ),
        pytest.param(
            application(), sent(member="nobody"), PushResult.UNKNOWN_MEMBER,
            'there is no member "nobody" in web', id="unknown-member",
        ),
        pytest.param(
            application(), sent(member=GONE), PushResult.UNKNOWN_MEMBER,
            f'there is no member "{GONE}" in web', id="a-member-that-left",
        ),
        pytest.param(
            application(WEB, API), sent(member="nobody"), PushResult.UNKNOWN_MEMBER,
            'there is no member "nobody" in api, web', id="unknown-in-both",
        ),
        pytest.param(
            application(WEB, API), sent("ORDERS"), PushResult.UNCLEAR, '"ORDERS": name the group: api, web',
            id="whose",
        ),
        pytest.param(
            application(WEB, API), sent(member="41"), PushResult.UNCLEAR,
            'name the group of "41": api, web', id="an-id-in-two-groups",
        ),
        pytest.param(
            application(), sent("CPU"), PushResult.UNCLEAR,
            '"CPU" is read for each member of group web: name the member', id="of-which-member",
        ),
        pytest.param(
            application(), sent("ORDERS", member=ONE), PushResult.UNCLEAR,
            '"ORDERS" is read for group web, not per member: name no member', id="of-no-member",
        ),
        pytest.param(
            application(GroupId("db")), sent("ORDERS"), PushResult.NOT_PERMITTED,
            "group db is not declared any more", id="a-group-that-left-the-file",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_refused_with_what_would_help(
    scope: PushScope, entry: PushedEntry, result: PushResult, message: str
) -> None:
    assert judge(scope, entry, listeners=BOTH) == PushRefusal(result=result, message=message)


@pytest.mark.parametrize("scope", [member(), application()], ids=["a-member", "an-application"])
def test_until_members_are_listed_their_senders_have_to_try_again_later(scope: PushScope) -> None:
    listeners = {WEB: PushListener(reads=a_listener().reads, members=None, fresh=90.0)}
    result = judge(scope, sent(member=ONE), listeners=listeners)
    assert result == PushRefusal(result=PushResult.NOT_READY, message="the members of group web are not listed yet")
    assert judge(application(), sent("ORDERS"), listeners=listeners) == (reading("ORDERS", of=None),)


def test_a_foreign_member_may_be_of_the_group_that_is_not_listed_yet() -> None:
    listeners = {WEB: a_listener(), API: PushListener(reads={}, members=None, fresh=90.0)}
    result = judge(application(WEB, API), sent(member="77"), listeners=listeners)
    assert result == PushRefusal(result=PushResult.NOT_READY, message="the members of group api are not listed yet")


def test_a_group_without_pushed_counters_says_so() -> None:
    result = judge(member(), sent("CPU"), listeners={WEB: a_listener(per_member=(), whole=())})
    assert result == PushRefusal(
        result=PushResult.UNKNOWN_NAME, message='no counter of group web reads "CPU"; none of its counters is pushed'
    )


def test_an_id_that_two_members_have_means_neither() -> None:
    listeners = {WEB: a_listener(members={ONE: "7", TWO: "7"})}
    result = judge(application(), sent(member="7"), listeners=listeners)
    assert result == PushRefusal(result=PushResult.UNKNOWN_MEMBER, message='there is no member "7" in web')


@pytest.mark.parametrize(
    ("before_noon", "message"),
    [
        (0.0, None),
        (90.0, None),
        (-60.0, None),
        (91.0, '"CPU" is stale: it was measured 1m31s ago, and counts for 1m30s; or the sender\'s clock is behind'),
        (3600.0, '"CPU" is stale: it was measured 1h ago, and counts for 1m30s; or the sender\'s clock is behind'),
        (-61.0, '"CPU": the sender\'s clock is 1m1s ahead of ours'),
        (NOON - 1e300, '"CPU": the sender\'s clock is '),
    ],
)
def test_a_senders_clock_can_only_show_that_a_value_is_old(before_noon: float, message: str | None) -> None:
    result = judge(member(), sent(at=NOON - before_noon))
    if message is None:
        assert result == (reading(),)
    else:
        assert isinstance(result, PushRefusal)
        assert (result.result, result.message[: len(message)]) == (PushResult.STALE, message)


def test_if_one_value_cannot_be_taken_none_is() -> None:
    assert isinstance(judge(member(), sent(), sent("JOBS"), sent("CPUX")), PushRefusal)
    assert judge(member(), sent(), sent("JOBS")) == (reading(), reading("JOBS"))


@pytest.mark.parametrize(
    ("scope", "entries"),
    [
        (application(), (sent(value=1.0, member=ONE), sent(value=2.0, member="41"))),
        (application(), (sent("ORDERS", 1.0), sent("ORDERS", 2.0, group="web"))),
        (member(), (sent(value=1.0), sent(value=2.0, member=ONE))),
    ],
    ids=["by-name-and-by-id", "with-its-group-and-without", "itself-with-its-name-and-without"],
)
def test_one_value_that_is_there_twice_under_two_names_is_refused(
    scope: PushScope, entries: tuple[PushedEntry, ...]
) -> None:
    refusal = judge(scope, *entries)
    assert isinstance(refusal, PushRefusal)
    assert refusal.result is PushResult.UNCLEAR
    assert "is there twice: it is not clear which is meant" in refusal.message


def test_a_value_that_always_arrives_late_may_be_as_old_as_that() -> None:
    listeners = {WEB: replace(a_listener(), lags={"CPU": 600.0})}
    assert judge(member(), sent(at=NOON - 689.0), listeners=listeners) == (reading(),)
    for late in (
        judge(member(), sent(at=NOON - 691.0), listeners=listeners),
        judge(member(), sent("JOBS", at=NOON - 91.0), listeners=listeners),
    ):
        assert isinstance(late, PushRefusal)
        assert late.result is PushResult.STALE
