"""Single values of a file are replaced where they stand."""

from __future__ import annotations

import pytest

from config.document.places import read_places
from config.document.splicing import spliced
from config.errors import Refused
from config.model.where import Where

TEXT = """\
# Why 80: see the incident of last spring.
conditions:
  busy: {counter: cpu, window: 60s, above: 80}   # percent
  slow:
    counter: ttfb
    above: "250 ms"  # from the contract
policies:
  out: {when: [busy], add: 10%, quiet_time: 5m}
"""
BUSY: Where = ("conditions", "busy", "above")


@pytest.mark.parametrize(
    ("where", "value", "before", "after"),
    [
        (BUSY, "75", "above: 80}   # percent", "above: 75}   # percent"),
        (("conditions", "busy", "window"), "2m", "window: 60s,", "window: 2m,"),
        (("conditions", "slow", "above"), "300 ms", 'above: "250 ms"  # from', "above: 300 ms  # from"),
        (("policies", "out", "add"), "25%", "add: 10%,", "add: 25%,"),
    ],
    ids=["number", "duration", "quoted", "percentage"],
)
def test_a_value_is_replaced_and_all_else_stays(where: Where, value: str, before: str, after: str) -> None:
    reading = read_places(TEXT, "web.yaml")

    assert TEXT.count(before) == 1
    assert spliced(TEXT, reading, {where: value}) == TEXT.replace(before, after)


def test_several_values_are_replaced_at_once_in_any_order() -> None:
    values = {("policies", "out", "quiet_time"): "10m", BUSY: "7.5", ("conditions", "busy", "window"): "1h30m"}

    after = read_places(spliced(TEXT, read_places(TEXT, "web.yaml"), values), "web.yaml").data

    assert after["policies"] == {"out": {"when": ["busy"], "add": "10%", "quiet_time": "10m"}}
    assert after["conditions"]["busy"] == {"counter": "cpu", "window": "1h30m", "above": 7.5}  # type: ignore[index, call-overload]


SHARED = """\
conditions:
  busy: {counter: cpu, above: &most 80}
  hot: {counter: heat, above: *most}
"""


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        (TEXT, ("conditions", "busy", "below"), "web.yaml: conditions.busy.below is not written in this file"),
        (SHARED, BUSY, "web.yaml:2: conditions.busy.above cannot be replaced as it is written"),
        (
            SHARED.replace("&most 80", "90").replace("*most}", "*a}").replace("hot:", "old: &a 5\n  hot:"),
            ("conditions", "hot", "above"),
            "web.yaml:3: conditions.hot.above cannot be replaced",
        ),
        (
            "limits: &all {above: 80}\nconditions:\n  busy: {<<: *all}\n",
            BUSY,
            "web.yaml:1: conditions.busy.above is shared with limits.above",
        ),
    ],
    ids=["not written", "anchored", "alias", "merged"],
)
def test_what_cannot_be_replaced_alone_is_refused(text: str, where: Where, message: str) -> None:
    with pytest.raises(Refused) as refusal:
        spliced(text, read_places(text, "web.yaml"), {where: "75"})

    assert str(refusal.value).startswith(message)


MERGED = """\
conditions:
  busy: &busy {counter: cpu, window: 60s, above: 80}
  hot: {<<: *busy, counter: heat}
"""
HOT: Where = ("conditions", "hot", "above")


def test_a_value_that_two_places_share_is_replaced_once() -> None:
    after = spliced(MERGED, read_places(MERGED, "web.yaml"), {BUSY: "100", HOT: "100"})

    assert after == MERGED.replace("above: 80", "above: 100")


def test_two_values_for_what_two_places_share_are_refused() -> None:
    with pytest.raises(Refused, match=r"web\.yaml:2: conditions\.busy\.above is shared with conditions\.hot\.above"):
        spliced(MERGED, read_places(MERGED, "web.yaml"), {BUSY: "90", HOT: "95"})
