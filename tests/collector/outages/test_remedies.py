from __future__ import annotations

from dataclasses import replace

import pytest

from collector.outages.misses import Miss
from collector.outages.remedies import remedy, say, say_all
from collector.samples import Reply
from config.model.counters import SOURCE_WORDS
from config.units import CounterId, MemberName

FAILURES = [reply for reply in Reply if reply is not Reply.OK]


@pytest.mark.parametrize("source", [*SOURCE_WORDS.values(), "a plugin of another owner"])
@pytest.mark.parametrize("reply", FAILURES)
def test_every_failure_of_every_source_has_something_to_do_about_it(source: str, reply: Reply) -> None:
    assert len(remedy(source, reply)) > 20
    assert not remedy(source, reply).endswith(".")


@pytest.mark.parametrize(
    ("count", "member", "whose"),
    [
        (1, None, "cpu: "),
        (1, "a", "cpu of a: "),
        (2, "a", "cpu of a and 1 other: "),
        (9, "a", "cpu of a and 8 others: "),
    ],
)
def test_a_miss_says_whose_it_is(count: int, member: str | None, whose: str) -> None:
    miss = Miss(
        counter=CounterId("cpu"),
        reply=Reply.NO_SUCH_COUNTER,
        count=count,
        member=None if member is None else MemberName(member),
        detail="noSuchObject",
    )

    line = say(miss, "snmp")

    assert line.startswith(f"{whose}no such counter (noSuchObject); ")
    assert line.endswith(remedy("snmp", Reply.NO_SUCH_COUNTER))


def test_counters_that_one_silence_took_share_a_line() -> None:
    cpu, depth, load, gone = map(CounterId, ("cpu", "depth", "load", "gone"))
    silent = Miss(counter=cpu, reply=Reply.TIMEOUT, count=2, member=MemberName("a"), detail="no answer")
    misses = [silent, replace(silent, counter=depth), replace(silent, counter=load), replace(silent, counter=gone)]

    lines = say_all(misses, {cpu: "snmp", depth: "http", load: "snmp"})

    assert [line.partition(":")[0] for line in lines] == ["cpu, load of a and 1 other", "depth of a and 1 other"]


def test_what_differs_in_members_or_words_keeps_a_line_of_its_own() -> None:
    cpu, load = CounterId("cpu"), CounterId("load")
    one = Miss(counter=cpu, reply=Reply.TIMEOUT, count=1, member=MemberName("a"), detail="no answer")
    others = [replace(one, counter=load, **{key: value}) for key, value in (("count", 2), ("detail", "else"))]

    assert all(len(say_all([one, other], {cpu: "snmp", load: "snmp"})) == 2 for other in others)
