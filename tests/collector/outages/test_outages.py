from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.outages.outages import (
    Channel,
    OutageBegan,
    OutageEnded,
    OutageLayout,
    Silence,
    hearing_of,
    members_of,
    observe,
    silent_since,
    unheard,
)
from collector.samples import Reply, Scrape
from config.units import CounterId, GroupId, Instant, MemberName
from tests.support.collector import WEB, a_moment, a_scrape

OK, TIMEOUT, REFUSED = Reply.OK, Reply.TIMEOUT, Reply.REFUSED
A = MemberName("a")
ALL_OK = {("web", name, counter): OK for name in "ab" for counter in ("cpu", "load")}
WORDS = dict.fromkeys(map(CounterId, ("cpu", "load", "counter-0", "counter-1", "counter-2")), "snmp") | {
    CounterId("scur"): "haproxy"
}


def heard(scrape: Scrape) -> OutageLayout:
    return hearing_of(scrape.layout, WORDS)


def listen(
    silence: Silence, scrape: Scrape, group: GroupId = WEB
) -> tuple[Silence, tuple[OutageBegan | OutageEnded, ...]]:
    return observe(silence, scrape, heard(scrape), group)


def snmp_of(member: str) -> Channel:
    return Channel(WEB, "snmp", MemberName(member))


def test_a_member_that_answers_nothing_is_reported_once() -> None:
    silent = a_scrape({("web", "a", "cpu"): TIMEOUT, ("web", "b", "cpu"): OK})

    silence, first = listen(Silence(), silent)
    _, second = listen(silence, silent)

    began = OutageBegan(
        group=WEB, channel=snmp_of("a"), source="snmp", counter=CounterId("cpu"), reply=TIMEOUT, detail=""
    )
    assert first == (began,)
    assert second == ()


def test_one_answer_is_enough_for_a_source_to_be_heard() -> None:
    counters = {
        ("web", "a", "cpu"): TIMEOUT,
        ("web", "a", "load"): OK,
        ("web", "b", "cpu"): OK,
        ("web", "b", "load"): OK,
    }

    silence, changes = listen(Silence(), a_scrape(counters))

    assert changes == ()
    assert not silence.since


def test_a_dead_agent_is_an_outage_though_the_balancer_still_speaks_for_its_member() -> None:
    counters = {
        ("web", "a", "cpu"): TIMEOUT,
        ("web", "a", "scur"): OK,
        ("web", "b", "cpu"): OK,
        ("web", "b", "scur"): OK,
    }

    silence, changes = listen(Silence(), a_scrape(counters))

    assert [change.channel for change in changes] == [snmp_of("a")]
    assert silent_since(silence) == {A: Instant(0.0)}


def test_a_counter_that_no_member_has_is_reported_once_and_its_return_once() -> None:
    lacking = a_scrape({("web", name, "cpu"): OK for name in "ab"} | {("web", name, "load"): REFUSED for name in "ab"})
    whole = a_scrape({("web", name, counter): OK for name in "ab" for counter in ("cpu", "load")})

    silence, first = listen(Silence(), lacking)
    silence, second = listen(silence, lacking)
    silence, third = listen(silence, whole)

    assert [(change.channel, change.counter) for change in first] == [(None, "load")]
    assert second == ()
    assert third == (OutageEnded(group=WEB, channel=None, counter=CounterId("load")),)
    assert silence == Silence()


def test_a_counter_that_one_member_still_answers_is_not_lost() -> None:
    replies = {
        ("web", "a", "cpu"): OK,
        ("web", "a", "load"): REFUSED,
        ("web", "b", "cpu"): OK,
        ("web", "b", "load"): OK,
    }

    assert listen(Silence(), a_scrape(replies)) == (Silence(since={}, lost={}), ())


def test_a_counter_whose_agents_are_all_silent_is_not_reported_beside_them() -> None:
    _, changes = listen(Silence(), a_scrape({("web", name, "cpu"): TIMEOUT for name in "ab"}))

    assert [change.channel for change in changes] == [snmp_of("a"), snmp_of("b")]


def test_a_source_of_a_whole_group_that_falls_silent_is_reported() -> None:
    _, (change,) = listen(Silence(), a_scrape({("web", None, "cpu"): Reply.UNREACHABLE}))

    assert change.channel == Channel(WEB, "snmp", None)


def test_what_may_be_absent_is_no_outage() -> None:
    scrape = a_scrape(ALL_OK | {("web", None, "depth"): TIMEOUT})

    assert listen(Silence(), scrape) == (Silence(), ())


def test_what_the_source_said_is_reported() -> None:
    scrape = a_scrape({("web", "a", "cpu"): REFUSED}, details={("web", "a", "cpu"): "who are you?"})

    _, (change,) = listen(Silence(), scrape)

    assert isinstance(change, OutageBegan)
    assert change.detail == "who are you?"


def test_the_end_of_a_silence_is_reported_once() -> None:
    silence, _ = listen(Silence(), a_scrape({("web", "a", "cpu"): TIMEOUT}))
    back = a_scrape({("web", "a", "cpu"): OK})

    silence, first = listen(silence, back)
    silence, second = listen(silence, back)

    assert first == (OutageEnded(group=WEB, channel=snmp_of("a"), counter=None),)
    assert second == ()
    assert not silence.since


def test_a_silence_counts_from_the_first_poll_without_an_answer() -> None:
    silence = Silence()
    for wall in (1000.0, 1030.0, 1060.0):
        silence, _ = listen(silence, a_scrape({("web", "a", "cpu"): TIMEOUT}, at=a_moment(0.0, wall=wall)))

    assert unheard(silence, Instant(1060.0), longer_than=60.0) == ()
    assert members_of(unheard(silence, Instant(1060.5), longer_than=60.0)) == (A,)


def test_a_member_that_left_is_forgotten_and_not_reported() -> None:
    silence, _ = listen(Silence(), a_scrape({("web", "a", "cpu"): TIMEOUT, ("web", "b", "cpu"): OK}))

    silence, changes = listen(silence, a_scrape({("web", "b", "cpu"): OK}))

    assert changes == ()
    assert not silence.since


def test_a_group_sees_its_own_part_of_a_scrape_only() -> None:
    scrape = a_scrape({("api", "a", "cpu"): TIMEOUT, ("web", "a", "cpu"): TIMEOUT, ("zoo", "a", "cpu"): TIMEOUT})

    _, changes = listen(Silence(), scrape)

    assert [change.group for change in changes] == ["web"]


@pytest.mark.parametrize(
    ("replies", "dominant"),
    [
        ((TIMEOUT, TIMEOUT, REFUSED), TIMEOUT),
        ((TIMEOUT, REFUSED), REFUSED),
        ((Reply.UNREACHABLE, Reply.NO_SUCH_COUNTER, Reply.NO_SUCH_COUNTER), Reply.NO_SUCH_COUNTER),
    ],
    ids=["the most frequent", "silence says least", "whatever the order"],
)
def test_the_reply_that_most_questions_had_is_reported(replies: tuple[Reply, ...], dominant: Reply) -> None:
    scrape = a_scrape({("web", "a", f"counter-{place}"): reply for place, reply in enumerate(replies)})

    _, (change,) = listen(Silence(), scrape)

    assert isinstance(change, OutageBegan)
    assert change.reply is dominant


_replies = st.dictionaries(
    st.tuples(st.just("web"), st.sampled_from("abc"), st.sampled_from(["cpu", "load", "scur"])),
    st.sampled_from(Reply),
)


@given(st.lists(_replies, max_size=8))
def test_beginnings_and_ends_alternate_and_agree_with_the_silence(
    polls: list[Mapping[tuple[str, str, str], Reply]],
) -> None:
    silence, open_outages = Silence(), set()
    for replies in polls:
        scrape = a_scrape(replies)
        silence, changes = listen(silence, scrape)
        for change in changes:
            key = change.channel or (WEB, change.counter)
            assert (key in open_outages) is isinstance(change, OutageEnded)
            open_outages ^= {key}
        open_outages &= {*heard(scrape).channels, *heard(scrape).counters}  # the others have left
        assert open_outages == {*silence.since, *silence.lost}


def test_ten_thousand_agents_that_fall_silent_at_once_take_no_time_worth_mentioning() -> None:
    scrape = a_scrape({("web", f"m{place:05}", "cpu"): OK if place % 2 else TIMEOUT for place in range(10_000)})
    hearing = heard(scrape)

    began = time.process_time()
    silence, _ = observe(Silence(), scrape, hearing, WEB)
    observe(silence, scrape, hearing, WEB)

    assert time.process_time() - began < 0.5  # about 40 ms; the rest is for a busy machine
