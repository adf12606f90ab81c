"""A value that an alert brings, from the declared file to the request of a policy."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from aggregator.aggregate import Aggregator
from collector.boards.alerts import Board, Brought
from collector.sources.poll import Poller
from collector.sources.pushed import AlertedSource
from config.load import parse
from config.units import AlertId, GroupId, Instant
from tests.support.collector import a_moment, no_secret, rosters
from tests.support.waiting import PATIENT
from trigger.policies.evaluate import evaluate, requests_from
from trigger.reasons import Reason

CATALOGUE = parse(
    """\
counters:
  depth: {alert: depth, range: [0, 1000]}
conditions:
  deep: {counter: depth, aggregate: last, above: 500}
  shallow: {counter: depth, aggregate: last, below: 100}
policies:
  out: {when: [deep], add: 1}
  in: {when: [shallow], remove: 1}
clouds:
  local: {process: {}}
profiles:
  web: {cloud: local, command: [serve]}
groups:
  web: {profile: web, min: 2, max: 8, policies: [out, in]}
alerts:
  depth: {match: {alertname: QueueDepth}, groups: [web], value: depth, ttl: 45s}
""",
    "web.yaml",
)
WEB, DEPTH = GroupId("web"), AlertId("depth")
TTL = CATALOGUE.alerts[DEPTH].ttl

TICKS = st.lists(st.none() | st.just("resolved") | st.sampled_from([0.0, 50.0, 300.0, 700.0]), min_size=1, max_size=8)
"""What is told before each tick: nothing, the end, or a value."""


@given(TICKS)
def test_a_policy_fires_on_a_value_that_stands_and_never_without_one(ticks: list[str | float | None]) -> None:
    board, now = Board(), [0.0]
    poller = Poller(clock=lambda: a_moment(now[0]), read_secret=no_secret, sources=(AlertedSource(board),))
    aggregator, holds = Aggregator(CATALOGUE, [WEB]), {}
    standing: tuple[float, float] | None = None
    for tick, tick_alert in enumerate(ticks):
        now[0] = 30.0 * tick
        if tick_alert == "resolved":
            board.drop(WEB, DEPTH, "f1")
            standing = None
        elif tick_alert is not None:
            at, until = a_moment(now[0]), Instant(now[0] + TTL)
            board.put(Brought(group=WEB, alert=DEPTH, key="f1", value=tick_alert, at=at, until=until))
            standing = tick_alert, now[0] + TTL
        scrape = asyncio.run(poller.poll(CATALOGUE, rosters({"a": "127.0.0.1"}), timeout=PATIENT))
        evaluation = evaluate(CATALOGUE, WEB, aggregator.take(scrape)[WEB], holds, scrape.at)
        holds = evaluation.holds
        asked = [request.policy for request in requests_from(CATALOGUE, evaluation)]
        if standing is None or now[0] >= standing[1]:
            assert asked == []
            assert {advice.reason for advice in evaluation.advices} == {Reason.BLIND}
        else:
            assert asked == (["out"] if standing[0] > 500 else ["in"] if standing[0] < 100 else [])
