from __future__ import annotations

from pathlib import Path

import pytest

from config.units import Instant
from handler.replay.samples import Unreplayable
from handler.replay.tables import read_events, read_load
from tests.support.replay import WEB

EVENTS = "timestamp,group,kind,name,cause,by,desired_from,desired_to,in_service,message"

FAULTS = {
    "load: a column is missing": ("load", "timestamp,rate\n1,2\n", r":1: column timestamp_s is missing"),
    "load: no number": ("load", "timestamp_s,rate\n1,2\n2,x\n", r":3: rate 'x'; expected a number"),
    "load: below zero": ("load", "timestamp_s,rate\n1,-2\n", r":2: rate -2; expected 0 or more"),
    "load: out of order": ("load", "timestamp_s,rate\n2,1\n1,1\n", r":3: timestamp_s 1; expected a later one"),
    "load: milliseconds": (
        "load",
        "timestamp_s,rate\n1772366400000,100\n",
        r":2: timestamp_s 1772366400000; expected epoch seconds: is 1772366400 meant\?",
    ),
    "load: beyond all": (
        "load",
        "timestamp_s,rate\n1,2\n1e30,2\n",
        r":3: timestamp_s 1e30; expected epoch seconds, up",
    ),
    "events: microseconds": (
        "events",
        f"{EVENTS}\n1772366400000000,web,note,pause,,,,,,\n",
        r":2: timestamp 1772366400000000; expected epoch seconds: is 1772366400 meant\?",
    ),
    "load: empty": ("load", "timestamp_s,rate\n", r": no rows; expected some"),
    "load: short line": ("load", "timestamp_s,rate\n1\n", r":2: expected 2 columns"),
    "events: a column is missing": ("events", "timestamp,group\n", r":1: column kind, name is missing"),
    "events: no instant": ("events", f"{EVENTS}\nnoon,web,note,pause,,,,,,\n", r":2: timestamp 'noon'; expected epoch"),
    "events: no freeze": (
        "events",
        f"{EVENTS}\n1,web,note,freeze,,,,,,for a while\n",
        r":2: message 'for a while'; expected what was frozen",
    ),
    "events: no direction": (
        "events",
        f"{EVENTS}\n1,web,note,unfreeze,,,,,,everything\n",
        r":2: message 'everything'; expected what was frozen",
    ),
    "events: no size": (
        "events",
        f"{EVENTS}\n1,web,decision,x,,,two,3,,\n",
        r":2: desired_from 'two'; expected a number",
    ),
}


@pytest.mark.parametrize(("kind", "text", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_what_cannot_be_read_is_pointed_at(kind: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)

    with pytest.raises(Unreplayable, match=r"t\.csv" + message):
        read_load(path) if kind == "load" else read_events(path, (WEB,))


def test_events_say_what_a_group_was_like(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(
        f"{EVENTS}\n30,web,decision,scaled_out,policy,out,2,3,2,\n10,web,member,in_service,,,,,2,\n5,api,note,pause,,,,,,\n"
    )

    course = read_events(path, (WEB,))[WEB]

    assert [course.size(Instant(at)) for at in (10.0, 30.0)] == [2, 3]
    assert [course.in_service(Instant(at)) for at in (5.0, 10.0)] == [None, 2]


def test_a_load_may_be_read(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("timestamp_s,rate\n10,1.5\n20,2\n")

    at, rate = read_load(path)

    assert (at.tolist(), rate.tolist()) == ([10, 20], [1.5, 2])


def test_what_a_decision_was_given_may_be_long(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(f"{EVENTS}\n1,web,note,pause,,,,,,{'x' * 200_000}\n")

    (event,) = read_events(path, (WEB,))[WEB].events

    assert len(event.message) == 200_000
