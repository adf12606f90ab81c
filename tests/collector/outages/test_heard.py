"""When members last answered, from poll to poll."""

from __future__ import annotations

import pytest

from collector.outages.heard import PolledChannels, Unanswered, all_heard, asked_directly, heard
from collector.outages.outages import Channel, hearing_of
from collector.samples import Reply
from config.units import CounterId, Instant, MemberName
from tests.support.collector import WEB, a_moment, a_scrape

OK = Reply.OK
A, B = MemberName("a"), MemberName("b")
WORDS = {CounterId("cpu"): "snmp", CounterId("load"): "snmp", CounterId("scur"): "haproxy"}
SNMP = Channel(WEB, "snmp", A)


def polled(
    before: PolledChannels, at: float, *, a: Reply = OK, load: Reply | None = None, b: Reply | None = OK
) -> PolledChannels:
    rows = {("web", "a", "cpu"): a, ("web", "a", "scur"): OK}
    if load is not None:
        rows["web", "a", "load"] = load
    if b is not None:
        rows["web", "b", "cpu"] = b
    scrape = a_scrape(rows, at=a_moment(at))
    hearing = hearing_of(scrape.layout, WORDS)
    return heard(before, scrape, hearing, WEB, asked_directly(hearing, {"snmp"})[WEB])


def test_members_that_answer_cost_nothing_to_keep() -> None:
    first = polled(PolledChannels(), 10.0)
    assert (first.at, first.asked, first.unanswered) == (10.0, {"snmp": {A, B}}, {})


def test_where_every_question_was_answered_the_replies_need_no_second_look() -> None:
    scrape = a_scrape({("web", "a", "cpu"): OK, ("web", "b", "cpu"): OK}, at=a_moment(10.0))
    hearing = hearing_of(scrape.layout, WORDS)
    own = asked_directly(hearing, {"snmp"})[WEB]
    assert all_heard(scrape.at.wall, own) == heard(PolledChannels(), scrape, hearing, WEB, own)


def test_a_member_that_falls_silent_was_heard_at_the_poll_before() -> None:
    now = PolledChannels()
    for at, reply in ((10.0, OK), (20.0, Reply.TIMEOUT), (30.0, Reply.REFUSED)):
        now = polled(now, at, a=reply)
    assert now.unanswered == {SNMP: Unanswered(heard_at=Instant(10.0), silent_since=Instant(20.0))}
    assert polled(now, 40.0).unanswered == {}


def test_a_member_that_never_answered_was_never_heard() -> None:
    now = polled(polled(PolledChannels(), 10.0, a=Reply.TIMEOUT), 20.0, a=Reply.TIMEOUT)
    assert now.unanswered == {SNMP: Unanswered(heard_at=None, silent_since=Instant(10.0))}


def test_a_number_outside_its_range_comes_from_a_member_that_is_there() -> None:
    assert polled(PolledChannels(), 10.0, a=Reply.OUTSIDE_RANGE).unanswered == {}


def test_one_counter_of_several_is_enough() -> None:
    assert polled(PolledChannels(), 10.0, a=Reply.TIMEOUT, load=OK).unanswered == {}


@pytest.mark.parametrize("reply", [Reply.NO_SUCH_COUNTER, Reply.MALFORMED, Reply.AUTH, Reply.AMBIGUOUS])
def test_an_answer_that_is_no_value_is_no_silence(reply: Reply) -> None:
    now = polled(polled(PolledChannels(), 10.0), 20.0, a=reply)
    assert now.unanswered == {SNMP: Unanswered(heard_at=Instant(10.0), silent_since=None)}
    again = polled(now, 30.0, a=Reply.TIMEOUT)
    assert again.unanswered == {SNMP: Unanswered(heard_at=Instant(10.0), silent_since=Instant(30.0))}


def test_a_balancer_s_word_for_a_member_is_not_the_member_s() -> None:
    now = polled(polled(PolledChannels(), 10.0), 20.0, a=Reply.TIMEOUT)
    assert SNMP in now.unanswered
    assert "haproxy" not in now.asked


def test_a_member_that_is_asked_no_more_is_forgotten() -> None:
    now = polled(polled(PolledChannels(), 10.0), 20.0, b=None)
    assert now.asked == {"snmp": {A}}
    assert polled(now, 30.0, b=Reply.TIMEOUT).unanswered[Channel(WEB, "snmp", B)].heard_at is None
