from __future__ import annotations

from dataclasses import replace

import numpy as np
from prometheus_client import CollectorRegistry

from collector.samples import Reply
from config.units import GroupId
from handler.observability.replies import Replies
from tests.support.collector import a_catalogue, a_column, a_moment, a_scrape, an_object

WEB = (GroupId("web"),)
BUCKETS = (0.1, 1.0)


class Counted:
    """Replies, and what a scrape of the metrics would show of them."""

    def __init__(self, *counters: str) -> None:
        self.registry = CollectorRegistry()
        self.replies = Replies(self.registry, BUCKETS)
        self.declare(*counters)

    def declare(self, *counters: str) -> None:
        declared = [a_column(name) if name == "scur" else an_object("1.3.6.1", id=name) for name in counters]
        self.replies.declare(a_catalogue(declared))

    def __call__(self, counter: str, reply: Reply = Reply.OK, *, source: str = "snmp") -> float | None:
        labels = {"source": source, "counter": counter, "reply": reply.name.lower()}
        return self.registry.get_sample_value("trimtab_poll_replies_total", labels)

    def answers(self, part: str, source: str = "snmp") -> float | None:
        return self.registry.get_sample_value(f"trimtab_poll_answer_seconds_{part}", {"source": source})


def test_every_reply_of_every_counter_begins_at_zero() -> None:
    counted = Counted("cpu", "scur")

    assert [counted("cpu", reply) for reply in Reply] == [0.0] * len(Reply)
    assert [counted("scur", reply, source="haproxy") for reply in Reply] == [0.0] * len(Reply)


def test_replies_are_counted_by_counter_and_kind() -> None:
    counted = Counted("cpu", "load")
    scrape = a_scrape(
        {
            ("web", "a", "cpu"): Reply.OK,
            ("web", "b", "cpu"): Reply.OK,
            ("web", "a", "load"): Reply.TIMEOUT,
            ("web", "b", "load"): Reply.NO_SUCH_COUNTER,
        }
    )

    counted.replies.count(WEB, scrape)
    counted.replies.count(WEB, scrape)

    assert counted("cpu") == 4
    assert counted("cpu", Reply.TIMEOUT) == 0
    assert counted("load", Reply.TIMEOUT) == counted("load", Reply.NO_SUCH_COUNTER) == 2
    assert counted("load") == 0


def test_two_slots_with_other_counters_do_not_mix() -> None:
    counted = Counted("cpu", "scur")

    counted.replies.count(WEB, a_scrape({("web", "a", "cpu"): Reply.OK}))
    counted.replies.count((GroupId("db"),), a_scrape({("db", "a", "scur"): Reply.UNREACHABLE}))

    assert counted("cpu") == 1
    assert counted("scur", Reply.UNREACHABLE, source="haproxy") == 1


def test_a_slot_with_changed_members_is_counted_by_the_new_ones() -> None:
    counted = Counted("cpu", "load")

    counted.replies.count(WEB, a_scrape({("web", "a", "load"): Reply.OK}))
    counted.replies.count(WEB, a_scrape({("web", "a", "cpu"): Reply.OK, ("web", "a", "load"): Reply.OK}))

    assert counted("cpu") == 1
    assert counted("load") == 2


def test_a_poll_without_members_counts_nothing() -> None:
    counted = Counted("cpu")

    counted.replies.count(WEB, a_scrape({}))

    assert counted("cpu") == 0
    assert counted.answers("count") == 0


def test_a_source_is_as_slow_as_its_last_answer() -> None:
    counted = Counted("cpu", "load")
    asked = dict.fromkeys((("web", "a", "cpu"), ("web", "b", "cpu"), ("web", "a", "load")), Reply.OK)
    scrape = replace(a_scrape(asked, at=a_moment(10.0)), replied_at=np.array([10.2, 10.5, 10.3]))

    counted.replies.count(WEB, scrape)

    assert counted.answers("count") == 1
    assert counted.answers("sum") == 0.5


def test_a_source_that_is_silent_is_not_fast() -> None:
    counted = Counted("cpu")

    counted.replies.count(WEB, a_scrape({("web", "a", "cpu"): Reply.TIMEOUT}, at=a_moment(10.0)))

    assert counted.answers("count") == 0


def test_a_counter_that_is_no_longer_declared_is_gone_with_its_series() -> None:
    counted = Counted("cpu", "load")
    counted.replies.count(WEB, a_scrape({("web", "a", "cpu"): Reply.OK, ("web", "a", "load"): Reply.OK}))

    counted.declare("cpu")
    counted.replies.count(WEB, a_scrape({("web", "a", "load"): Reply.OK}))

    assert counted("load") is None
    assert counted("cpu") == 1
