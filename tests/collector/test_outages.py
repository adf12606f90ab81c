from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.outages import Began, Ended, Silence, observe, unheard
from collector.samples import Reply
from config.units import GroupId, Instant, MemberName
from tests.support.collector import WEB, a_moment, a_scrape

OK, TIMEOUT, REFUSED = Reply.OK, Reply.TIMEOUT, Reply.REFUSED
A = MemberName("a")


def test_a_member_that_answers_nothing_is_told_once() -> None:
    silent = a_scrape({("web", "a", "cpu"): TIMEOUT, ("web", "b", "cpu"): OK})

    silence, first = observe(Silence(), silent)
    _, second = observe(silence, silent)

    assert first == (Began(group=WEB, member=A, reply=TIMEOUT),)
    assert second == ()


def test_one_answer_is_enough_to_be_heard() -> None:
    silence, changes = observe(Silence(), a_scrape({("web", "a", "cpu"): TIMEOUT, ("web", "a", "load"): OK}))

    assert changes == ()
    assert not silence.since


def test_the_end_of_a_silence_is_told_once() -> None:
    silence, _ = observe(Silence(), a_scrape({("web", "a", "cpu"): TIMEOUT}))
    heard = a_scrape({("web", "a", "cpu"): OK})

    silence, first = observe(silence, heard)
    silence, second = observe(silence, heard)

    assert first == (Ended(group=WEB, member=A),)
    assert second == ()
    assert not silence.since


def test_a_silence_counts_from_the_first_poll_without_an_answer() -> None:
    silence = Silence()
    for wall in (1000.0, 1030.0, 1060.0):
        silence, _ = observe(silence, a_scrape({("web", "a", "cpu"): TIMEOUT}, at=a_moment(0.0, wall=wall)))

    assert unheard(silence, WEB, Instant(1060.0), longer_than=60.0) == ()
    assert unheard(silence, WEB, Instant(1060.5), longer_than=60.0) == (A,)


def test_a_member_that_left_is_forgotten_and_not_told() -> None:
    silence, _ = observe(Silence(), a_scrape({("web", "a", "cpu"): TIMEOUT, ("web", "b", "cpu"): OK}))

    silence, changes = observe(silence, a_scrape({("web", "b", "cpu"): OK}))

    assert changes == ()
    assert not silence.since


def test_one_group_of_a_scrape_can_be_looked_at_by_itself() -> None:
    scrape = a_scrape({("api", "a", "cpu"): TIMEOUT, ("web", "a", "cpu"): TIMEOUT, ("zoo", "a", "cpu"): TIMEOUT})

    _, changes = observe(Silence(), scrape, WEB)

    assert [change.group for change in changes] == ["web"]


def test_looking_at_one_group_leaves_the_silence_of_others_alone() -> None:
    silence, _ = observe(Silence(), a_scrape({("api", "a", "cpu"): TIMEOUT, ("web", "a", "cpu"): TIMEOUT}))

    silence, _ = observe(silence, a_scrape({("web", "a", "cpu"): OK}), WEB)

    assert list(silence.since) == [(GroupId("api"), A)]


@pytest.mark.parametrize(
    ("replies", "dominant"),
    [
        ((TIMEOUT, TIMEOUT, REFUSED), TIMEOUT),
        ((TIMEOUT, REFUSED), REFUSED),
        ((Reply.UNREACHABLE, Reply.NO_SUCH_COUNTER, Reply.NO_SUCH_COUNTER), Reply.NO_SUCH_COUNTER),
    ],
    ids=["the most frequent", "silence says least", "whatever the order"],
)
def test_the_reply_that_most_questions_had_is_told(replies: tuple[Reply, ...], dominant: Reply) -> None:
    scrape = a_scrape({("web", "a", f"counter-{place}"): reply for place, reply in enumerate(replies)})

    _, (change,) = observe(Silence(), scrape)

    assert isinstance(change, Began)
    assert change.reply is dominant


_replies = st.dictionaries(
    st.tuples(st.sampled_from(["api", "web"]), st.sampled_from("abc"), st.sampled_from(["cpu", "load"])),
    st.sampled_from(Reply),
)


@given(st.lists(_replies, max_size=8))
def test_beginnings_and_ends_alternate_and_agree_with_the_silence(
    polls: list[Mapping[tuple[str, str, str], Reply]],
) -> None:
    silence, told = Silence(), set()
    for replies in polls:
        silence, changes = observe(silence, a_scrape(replies))
        for change in changes:
            key = (change.group, change.member)
            assert (key in told) is isinstance(change, Ended)
            told ^= {key}
        told &= {(GroupId(group), MemberName(member)) for group, member, _ in replies}  # the others have left
        assert told == set(silence.since)


def test_ten_thousand_series_take_no_time_worth_mentioning() -> None:
    replies = {("web", f"m{place:05}", "cpu"): OK if place % 2 else TIMEOUT for place in range(10_000)}
    scrape = a_scrape(replies)
    silence, _ = observe(Silence(), scrape)

    began = time.process_time()
    observe(silence, scrape)

    assert time.process_time() - began < 0.1  # about 6 ms; the rest is for a busy machine
