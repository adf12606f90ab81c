from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.load import parse
from config.model.catalogue import Group
from config.model.observability import Severity
from handler.observability.notice_bodies import body, signature
from handler.planning.status import GroupCondition
from handler.ports.notices import Notice, StateTurn, Watch, failed, look, watch_after
from tests.support.notices import NOW, a_filed, a_notice, a_watched_group, at

C = GroupCondition
INTERVAL = 30.0

Sequel = Sequence[tuple[float, GroupCondition]]


def notices_of(sequel: Sequel, group: Group | None = None, *, restarts: frozenset[int] = frozenset()) -> list[Notice]:
    """Look at a group at these instants; before the looks in ``restarts`` only the sent notices are still known."""
    watch, notices = Watch(), list[Notice]()
    for number, (seconds, condition) in enumerate(sequel):
        if number in restarts:
            watch = watch_after(notices[-1] if notices else None)
        watch, notice = look(watch, group or a_watched_group(), condition, ("why",), at(seconds))
        if notice is not None:
            notices.append(notice)
    return notices


def words(notices: Sequence[Notice]) -> list[tuple[str, str, float]]:
    return [(notice.turn.value, notice.severity.value, notice.at - NOW) for notice in notices]


@pytest.mark.parametrize(
    ("sequel", "expected"),
    [
        ([(0, C.ERROR)], [("entered", "error", 0)]),
        ([(0, C.WARNING)], []),
        ([(0, C.WARNING), (29, C.WARNING)], []),
        ([(0, C.WARNING), (30, C.WARNING), (60, C.WARNING)], [("entered", "warning", 30)]),
        ([(0, C.WARNING), (10, C.RUNNING), (30, C.WARNING), (50, C.WARNING)], []),
        ([(0, C.WARNING), (10, C.SCALING), (30, C.WARNING)], [("entered", "warning", 30)]),
        ([(0, C.WARNING), (5, C.ERROR)], [("entered", "error", 5)]),
        (
            [(0, C.WARNING), (30, C.WARNING), (31, C.ERROR), (32, C.WARNING), (33, C.ERROR)],
            [("entered", "warning", 30), ("entered", "error", 31)],
        ),
        ([(0, C.ERROR), (5, C.WARNING), (90, C.WARNING), (95, C.ERROR)], [("entered", "error", 0)]),
        ([(0, C.ERROR), (30, C.RUNNING)], [("entered", "error", 0)]),
        ([(0, C.ERROR), (30, C.RUNNING), (59, C.RUNNING), (60, C.ERROR)], [("entered", "error", 0)]),
        ([(0, C.ERROR), (30, C.RUNNING), (60, C.COOLDOWN)], [("entered", "error", 0), ("left", "error", 60)]),
        ([(0, C.ERROR), (30, C.SCALING), (900, C.SCALING), (930, C.ERROR)], [("entered", "error", 0)]),
        ([(0, C.ERROR), (30, C.PAUSED), (900, C.PAUSED), (930, C.STARTING)], [("entered", "error", 0)]),
        ([(0, C.ERROR), (30, C.ORPHANED), (60, C.ORPHANED)], [("entered", "error", 0), ("left", "error", 30)]),
        ([(0, C.ERROR), (1, C.DELETING)], [("entered", "error", 0), ("left", "error", 1)]),
        ([(0, C.ORPHANED), (30, C.DELETING), (60, C.STARTING), (90, C.RUNNING)], []),
        (
            [(0, C.ERROR), (30, C.RUNNING), (60, C.RUNNING), (90, C.ERROR)],
            [("entered", "error", 0), ("left", "error", 60), ("entered", "error", 90)],
        ),
    ],
    ids=[
        "an-error-at-once",
        "a-warning-not-at-once",
        "a-warning-not-before-an-interval",
        "a-warning-after-an-interval-and-once",
        "a-warning-that-went-is-counted-anew",
        "scaling-does-not-end-a-warning",
        "an-error-out-of-an-untold-warning",
        "an-error-out-of-a-told-warning-once",
        "an-error-that-eases-is-not-told-again",
        "an-end-not-at-once",
        "an-end-that-did-not-last",
        "an-end-after-an-interval",
        "between-two-attempts-nothing-has-ended",
        "a-pause-cures-nothing",
        "an-orphan-is-left-at-once",
        "a-deleted-group-is-left-at-once",
        "no-trouble-no-notice",
        "a-second-outage-is-told-again",
    ],
)
def test_trouble_gives_one_notice_when_it_begins_and_one_when_it_is_over(
    sequel: Sequel, expected: list[tuple[str, str, float]]
) -> None:
    assert words(notices_of(sequel)) == expected


def test_a_target_for_errors_only_gets_no_warnings() -> None:
    sequel = [(0, C.WARNING), (30, C.WARNING), (60, C.ERROR), (90, C.WARNING), (120, C.WARNING)]
    only = a_watched_group(on=(Severity.ERROR,))
    assert words(notices_of(sequel, only)) == [("entered", "error", 60), ("left", "error", 120)]
    assert notices_of(sequel, a_watched_group(on=())) == []


def test_without_notify_no_notice_is_sent_or_stored() -> None:
    group = Group(id=a_watched_group().id, profile=a_watched_group().profile, minimum=1, maximum=2)
    assert look(Watch(turned_at=NOW), group, C.ERROR, (), NOW) == (Watch(), None)


def test_what_belongs_together_shares_its_outage_and_no_two_share_an_id() -> None:
    sequel = [(0, C.WARNING), (30, C.WARNING), (31, C.ERROR), (60, C.RUNNING), (90, C.RUNNING), (120, C.ERROR)]
    notices = notices_of(sequel)
    assert [notice.outage for notice in notices] == ["web.1700000000000"] * 3 + ["web.1700000120000"]
    assert [notice.id for notice in notices] == [
        "web.1700000000000.warning.entered",
        "web.1700000000000.error.entered",
        "web.1700000000000.error.left",
        "web.1700000120000.error.entered",
    ]


sequels = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(C)), max_size=40).map(
    lambda steps: [(sum(step for step, _ in steps[: n + 1]), condition) for n, (_, condition) in enumerate(steps)]
)


@given(
    sequels, st.sampled_from([(Severity.ERROR,), (Severity.WARNING, Severity.ERROR)]), st.frozensets(st.integers(0, 40))
)
def test_whatever_happens_entered_and_left_alternate_but_for_what_becomes_worse(
    sequel: Sequel, on: tuple[Severity, ...], restarts: frozenset[int]
) -> None:
    notices = notices_of(sequel, a_watched_group(on=on), restarts=restarts)
    assert len({notice.id for notice in notices}) == len(notices)
    assert not notices or notices[0].turn is StateTurn.ENTERED
    for first, second in pairwise(notices):
        worse = (first.severity, second.severity) == (Severity.WARNING, Severity.ERROR)
        match first.turn, second.turn:
            case StateTurn.ENTERED, StateTurn.ENTERED:
                assert worse
                assert first.outage == second.outage
            case StateTurn.ENTERED, StateTurn.LEFT:
                assert (first.outage, first.severity) == (second.outage, second.severity)
            case turns:
                assert turns == (StateTurn.LEFT, StateTurn.ENTERED)
                assert first.outage != second.outage


@given(sequels, st.integers(0, 40))
def test_a_restart_neither_repeats_nor_forgets_an_error(sequel: Sequel, restart: int) -> None:
    only = a_watched_group(on=(Severity.ERROR,))
    entered = [n.at for n in notices_of(sequel, only) if n.turn is StateTurn.ENTERED]
    again = [n.at for n in notices_of(sequel, only, restarts=frozenset({restart})) if n.turn is StateTurn.ENTERED]
    assert set(again) <= set(entered)  # an end may be noticed later, so two outages may become one
    assert again[:1] == entered[:1]


def test_a_notice_is_json_of_bounded_length() -> None:
    watch, notice = look(Watch(), a_watched_group(), C.ERROR, ("ü\ud800" * 1000,) * 100, at(0.5))
    assert watch.outage is not None
    assert notice is not None
    assert len(body(notice)) < 60_000
    assert json.loads(body(notice)) | {"messages": []} == {
        "id": "web.1700000000500.error.entered",
        "outage": "web.1700000000500",
        "group": "web",
        "event": "entered",
        "severity": "error",
        "condition": "error",
        "messages": [],
        "since": "2023-11-14T22:13:20.500Z",
        "at": "2023-11-14T22:13:20.500Z",
    }


def test_the_signature_covers_the_instant_and_the_body() -> None:
    made = hmac.new(b"key", b"1700000000." + body(a_notice()), hashlib.sha256).hexdigest()
    assert signature("key", at(0.9), body(a_notice())) == f"t=1700000000,v1={made}"
    assert signature("key", at(1.0), body(a_notice())).split(",")[1] != f"v1={made}"


def test_what_failed_is_tried_again_after_longer_and_longer_for_a_day() -> None:
    pauses, now, attempts = list[float](), 0.0, 0
    while (tried := failed(a_filed(attempts=attempts), "no answer", at(now))).next_at is not None:
        assert attempts < 200
        pauses.append(tried.next_at - at(now))
        now, attempts = tried.next_at - NOW, attempts + 1
    assert pauses[:9] == [5, 10, 20, 40, 80, 160, 320, 640, 900]
    assert max(pauses) == 900
    assert now == 86400.0
    assert (tried.delivered, tried.because) == (False, "no answer")


PAGE = Path("docs/notify.md").read_text(encoding="utf-8")


def example(language: str) -> str:
    return PAGE.split(f"```{language}\n")[1].split("```")[0]


@pytest.mark.parametrize(
    ("secret", "sent", "after", "genuine"),
    [
        (b"key", body(a_notice()), 10, True),
        (b"kez", body(a_notice()), 10, False),
        (b"key", body(a_notice()) + b" ", 10, False),
        (b"key", body(a_notice()), 301, False),
    ],
    ids=["genuine", "another-secret", "another-body", "replayed-later"],
)
def test_the_three_lines_of_the_manual_verify_a_signature(
    secret: bytes, sent: bytes, after: float, genuine: bool
) -> None:
    found: dict[str, object] = {
        "headers": {"X-Trimtab-Signature": signature("key", NOW, body(a_notice()))},
        "secret": secret,
        "body": sent,
        "hmac": hmac,
        "hashlib": hashlib,
        "time": SimpleNamespace(time=lambda: NOW + after),
    }
    exec(example("python"), found)  # noqa: S102 our own manual
    assert found["genuine"] is genuine


def test_the_manual_shows_what_is_sent() -> None:
    assert list(json.loads(example("json"))) == list(json.loads(body(a_notice())))


def test_the_manuals_declaration_is_understood() -> None:
    (group,) = parse(example("yaml"), "web.yaml").groups.values()
    assert group.notify is not None
    assert group.notify.on == (Severity.ERROR,)
