"""Worlds written by hand: what is left out, what is refused and where, and what no file may do."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.build.wire import name_of
from config.errors import DeclarationError
from handler.operations.plan_text import plan_lines
from handler.planning.desired import DesiredState, Limits, Rolling
from handler.planning.evidence import Loss, LossEvidence, Testimony
from handler.planning.steps import Create, Wait
from handler.planning.world import Attempts, BalancerView, Leaving, Member, Record, Registration, Server, World
from handler.snapshots.parts import MOST_PROBLEMS
from handler.snapshots.reading import read_snapshot
from handler.snapshots.text import LONGEST
from handler.web.render import planned
from tests.support.snapshots import a_snapshot, read, text_of
from tests.support.worlds import a_fleet

PAGE = (Path(__file__).parents[3] / "docs" / "worlds.md").read_text()


def a_world_of(*members: object, **more: Any) -> dict[str, Any]:
    return {"at": 1000, "desired": 1, "world": {"members": list(members), **more}}


def refused(document: object) -> list[str]:
    with pytest.raises(DeclarationError) as refusal:
        read(document)
    return str(refusal.value).splitlines()


def test_the_example_of_the_document_plans_to_what_the_document_says() -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (output,) = re.findall(r"^```console\n\$ .*?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [*plan_lines(planned(read(example).plan()))] == output.splitlines()


def test_the_document_names_every_field() -> None:
    elsewhere = {"group", "member", "claim"}  # by what holds them; planning reads no claim
    kinds = (
        DesiredState,
        Limits,
        World,
        Member,
        Record,
        Attempts,
        Server,
        BalancerView,
        Registration,
        LossEvidence,
        Loss,
        Testimony,
    )
    names = {name_of(field) for kind in kinds for field in fields(kind)} - elsewhere
    assert {name for name in names if f"`{name}`" not in PAGE} == set()


def test_the_smallest_world_has_no_member() -> None:
    answer = read({"desired": 2, "world": {}}).plan()
    assert (answer.steps, answer.waits) == ((Create(member=None), Create(member=None)), ())


def test_one_word_stands_for_an_object() -> None:
    member = {"name": "web-7", "record": "leaving", "server": "running"}
    snapshot = read(a_world_of(member, seatings={"edge": {"seats": {"web-7": "serving"}}}))
    (found,) = snapshot.world.members
    assert found.record is not None
    assert (found.record.sequence, found.record.leaving, found.record.leaving_at) == (7, Leaving.SURPLUS, 1000.0)
    assert (found.record.made_at, found.record.in_service_at, found.record.balancers) == (1000, 1000, (("edge", 0),))
    assert found.server is not None
    assert found.server.address is not None
    assert found == read(text_of(snapshot)).world.members[0]


def test_moments_may_be_given_as_spans_before_the_moment_of_planning() -> None:
    member = {"name": "a", "record": {"phase": "made", "intended_at": "1h30m ago", "made_at": 3}}
    snapshot = read({**a_world_of(member), "limits": {"back_off_until": "in 30s", "absent_for": "1m"}})
    record = snapshot.world.members[0].record
    assert record is not None
    assert (record.intended_at, record.made_at) == (1000 - 5400, 3)
    assert (snapshot.limits.back_off_until, snapshot.limits.absent_for) == (1030, 60)


def test_a_paused_world_is_planned_as_a_paused_group_is() -> None:
    answer = read({"desired": {"size": 3, "paused": True}, "world": {}}).plan()
    assert (answer.steps, dict(answer.waits)) == ((), {Wait.PAUSED: 0})


def test_every_problem_is_reported_with_its_line_its_field_and_what_was_expected() -> None:
    assert refused(
        """{
          "desired": -1,
          "definition": {"drian": "1m", "victims": "richest", "drain": "60"},
          "world": {
            "members": [
              {"name": "a"},
              {"name": "b", "record": {"phase": "mad"}},
              {"name": "b", "server": {}},
              {"record": "made"},
              {"name": "c", "server": "running", "record": {"phase": "made", "made_at": NaN, "protect": true}}
            ],
            "seatings": {
              "edge": {"seats": {"nobody": "serving",
                                 "a": {"state": "asleep"}}},
              "back": null
            }
          },
          "limits": {"creates": 1e3, "creates": 5, "accept_vanished": 1}
        }"""
    ) == [
        "world.json:2: desired: -1 is not 0 to 1000000 members",
        "world.json:3: definition.drian: unknown key; the nearest is drain",
        (
            "world.json:3: definition.victims: 'richest' is not one of oldest, newest, oldest_profile, "
            "least_connections, zone_balance, random"
        ),
        "world.json:3: definition.drain: '60' is not a duration: seconds, or one with a unit, such as 30s",
        "world.json:6: world.members[1].name: needs a record, a server, or both",
        "world.json:7: world.members[2].record.phase: 'mad' is not one of intended, made, in_service, leaving, gone",
        "world.json:8: world.members[3].name: is given twice",
        "world.json:8: world.members[3].server: state is missing: write, for example, running",
        "world.json:9: world.members[4]: name is missing: write, for example, web-k3f9ab-1",
        "world.json:10: world.members[5].record.made_at: NaN is not a moment or duration within thirty thousand years",
        "world.json:10: world.members[5].record.protect: unknown key; the nearest is protected",
        "world.json:13: world.seatings.edge.seats.nobody: no member has this name",
        "world.json:14: world.seatings.edge.seats.a.state: 'asleep' is not one of parked, serving, draining, partly",
        'world.json:15: world.seatings.back: is empty: write {"seats": {}}, or {"seats": null} if it could not be read',
        "world.json:18: limits.creates: is given twice",
        "world.json:18: limits.accept_vanished: 1 is not true or false",
    ]  # fmt: skip


def test_a_name_is_reported_once_by_what_holds_it() -> None:
    (message,) = refused(a_world_of({"name": "a", "record": {"phase": "made", "name": "b"}}))
    assert message.startswith("world.json:1: world.members[1].record.name: unknown key")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "w:1: column 1: not JSON: Expecting value", id="empty"),
        pytest.param(
            b'{"desired": 1,\n "world" {}}', "w:2: column 10: not JSON: Expecting ':' delimiter", id="no JSON"
        ),
        pytest.param(b"[]", "w:1: expected an object: { … }", id="no object"),
        pytest.param(b"\n\xff", "w:2: byte 0xff is not UTF-8", id="no text"),
        pytest.param(b"[" * 500_000, "w:1: nested too deeply", id="deep"),
        pytest.param(b'{"at": ' + b"9" * 5000 + b"}", "w:1: a number of thousands of digits", id="long number"),
        pytest.param(b" " * (LONGEST + 1), "w:1: longer than 64 MiB: too long to read", id="long"),
        pytest.param(
            b'{"desired": 1000001, "world": {}}', "w:1: desired: 1000001 is not 0 to 1000000 members", id="many"
        ),
        pytest.param(
            b'{"desired": 1, "world": {"seatings": {"\\ud800": {}}}}',
            "w:1: world.seatings.'\\ud800': '\\ud800' is not a name: up to 255 printable characters",
            id="half a character",
        ),
        pytest.param(
            b'{"desired": 1, "at": 1e400, "world": {}}',
            "w:1: at: Infinity is not a moment or duration within thirty thousand years",
            id="endless",
        ),
        pytest.param(
            b'{"desired": 1, "world": {}, "at": 1' + b"0" * 400 + b"}",
            f"w:1: at: 1{'0' * 59}… is not a moment or duration within thirty thousand years",
            id="of hundreds of digits",
        ),
        pytest.param(
            b'{"desired": 1, "world": {}, "limits": {"headroom": {"members": 1, "' + b"9" * 5000 + b'": 1}}}',
            f"w:1: limits.headroom.{'9' * 5000}: unknown key; known are by, members",
            id="a key of thousands of digits",
        ),
        pytest.param(
            b'{"desired": 1, "format": 2, "world": {}}',
            "w:1: format: 2 is not 1, the format that this version reads",
            id="a later format",
        ),
    ],
)
def test_a_text_that_is_no_world_is_refused_in_one_sentence(content: bytes, message: str) -> None:
    with pytest.raises(DeclarationError) as refusal:
        read_snapshot(content, "w")
    assert str(refusal.value) == message


def test_of_a_file_that_is_wrong_all_over_only_some_is_reported() -> None:
    assert len(refused(a_world_of(*[{"name": f"m{n}", "record": "?"} for n in range(20_000)]))) == MOST_PROBLEMS


_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["made", "serving", "1s ago"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["name", "record", "server", "phase", "state", "seats", "balancers"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def planned_or_refused(content: bytes) -> None:
    """Nothing else may become of a file."""
    try:
        snapshot = read_snapshot(content, "w")
    except DeclarationError as error:
        problems = error.problems
    else:
        problems = ()
        assert snapshot.plan() == read(text_of(snapshot)).plan()
    assert all(str(problem).startswith("w:") for problem in problems)


@given(
    document=st.dictionaries(st.sampled_from(["at", "desired", "definition", "limits", "world", "x"]), _ANYTHING),
    members=st.lists(_ANYTHING, max_size=3),
    balancer_views=_ANYTHING,
)
def test_whatever_is_written_is_planned_or_refused(
    document: dict[str, Any], members: list[Any], balancer_views: Any
) -> None:
    for written in (document, {**document, "world": {"members": members, "seatings": balancer_views}, "desired": 1}):
        planned_or_refused(json.dumps(written).encode())


@given(place=st.integers(0, 5000), junk=st.binary(max_size=4))
def test_a_damaged_file_is_planned_or_refused(place: int, junk: bytes) -> None:
    whole = text_of(a_snapshot(a_fleet(2))).encode()
    cut = place % len(whole)
    planned_or_refused(whole[:cut] + junk + whole[cut + len(junk) :])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"roll": None}, None, id="null"),
        pytest.param({"roll": {"surge": 2}}, Rolling(surge=2, unavailable=0), id="one budget"),
        pytest.param({"roll": {"surge": 0, "unavailable": 3}}, Rolling(surge=0, unavailable=3), id="both"),
    ],
)
def test_a_roll_that_is_under_way_is_read(written: dict[str, Any], expected: Rolling | None) -> None:
    assert read({"desired": {"size": 1, **written}, "world": {}}).desired.roll == expected


@pytest.mark.parametrize("roll", [{}, {"surge": 0}, {"surge": -1, "unavailable": 2}, {"surge": 10**9}])
def test_a_roll_that_could_not_move_is_refused(roll: dict[str, int]) -> None:
    with pytest.raises(DeclarationError, match=r"desired\.roll: needs surge or unavailable above 0"):
        read({"desired": {"size": 1, "roll": roll}, "world": {}})
