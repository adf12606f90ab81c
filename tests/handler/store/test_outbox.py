from __future__ import annotations

from operator import itemgetter

import pytest
from sqlalchemy import select

from config.errors import StoreError
from config.model.access import SecretRef
from config.model.observability import NotifyCommand, NotifyUrl, Severity
from config.units import GroupId
from handler.ports.notices import StateTurn, Tried, delivered
from handler.ports.stored import EventKind
from handler.store.schema import notices
from tests.support.notices import PAGER, a_decision, a_filed, a_notice, at
from tests.support.store import WEB, a_definition

DAY = 86400.0
HOOK = NotifyUrl(url="https://pager.example.org/t", secret=SecretRef(env="KEY"))
FIRST = a_filed(a_notice(since=0))
OVER = a_filed(a_notice(turn=StateTurn.LEFT, since=0, sent=60))
OTHER = a_filed(a_notice("worker", since=5), target=HOOK)


def again_at(seconds: float) -> Tried:
    return Tried(at=at(0), delivered=False, next_at=at(seconds), because="no answer")


def kept(store) -> set[str]:
    return {row.id for row in store._writer.do(lambda connection: connection.execute(select(notices.c.id)).all())}


def test_a_notice_to_send_survives_with_its_target(store, reopened):
    for filed in (FIRST, OTHER, OVER):
        store.file_notices((filed,))
    again = reopened()
    assert again.due_notices(at(60), 10) == (FIRST, OTHER, OVER)
    assert again.last_notices() == (OVER.notice, OTHER.notice)


def test_the_same_news_is_filed_once(store):
    store.file_notices((FIRST,))
    store.notice_tried(FIRST.notice.id, delivered(at(1)))
    store.file_notices((FIRST,))
    assert store.due_notices(at(99), 10) == ()


def test_nothing_is_due_before_it_happened_nor_beyond_the_limit(store):
    for filed in (FIRST, OTHER):
        store.file_notices((filed,))
    assert store.due_notices(at(-1), 10) == ()
    assert store.due_notices(at(60), 1) == (FIRST,)


def test_a_busy_target_is_left_out(store):
    for filed in (FIRST, OTHER):
        store.file_notices((filed,))
    assert store.due_notices(at(60), 10, besides=(PAGER,)) == (OTHER,)
    assert store.due_notices(at(60), 10, besides=(HOOK,)) == (FIRST,)
    assert store.due_notices(at(60), 10, besides=(HOOK, PAGER)) == ()
    assert store.due_notices(at(60), 10, besides=(NotifyCommand(command=()),)) == (FIRST, OTHER)


def test_of_a_group_that_waits_for_another_attempt_nothing_overtakes(store):
    for filed in (FIRST, OTHER, OVER):
        store.file_notices((filed,))
    store.notice_tried(FIRST.notice.id, again_at(100))
    assert store.due_notices(at(99), 10) == (OTHER,)
    due = store.due_notices(at(100), 10)
    assert [filed.notice for filed in due] == [FIRST.notice, OTHER.notice, OVER.notice]
    assert [filed.attempts for filed in due] == [1, 0, 0]


def test_notices_that_wait_follow_their_group_to_another_target(store):
    sent = a_filed(a_notice(since=9))
    for filed in (FIRST, OTHER, OVER, sent):
        store.file_notices((filed,))
    store.notice_tried(sent.notice.id, delivered(at(10)))
    assert sorted(store.waiting_targets(), key=itemgetter(0)) == [(WEB, PAGER), ("worker", HOOK)]
    store.redirect_notices({WEB: HOOK})
    assert store.due_notices(at(60), 10, besides=(HOOK,)) == ()
    assert [filed.target for filed in store.due_notices(at(60), 10)] == [HOOK] * 3


def test_filing_decides_the_order_though_the_clock_went_back(store):
    store.file_notices((FIRST,))
    earlier = a_filed(a_notice(turn=StateTurn.LEFT, since=0, sent=-50))
    store.file_notices((earlier,))
    assert store.due_notices(at(0), 10) == (FIRST, earlier)
    assert store.last_notices() == (earlier.notice,)


def test_the_end_of_the_matter_is_history(store):
    store.file_notices((FIRST,))
    store.notice_tried(FIRST.notice.id, again_at(5))
    assert [event.name for event in store.history(WEB, before=None, limit=9)] == ["declared"]
    store.notice_tried(FIRST.notice.id, delivered(at(6)))
    store.file_notices((OTHER,))
    store.notice_tried(OTHER.notice.id, Tried(at=at(DAY), delivered=False, because="no answer"))
    notes = [
        (event.kind, event.at, event.name, event.by, event.message)
        for group in (WEB, GroupId("worker"))
        for event in store.history(group, before=None, limit=1)
    ]
    assert notes == [
        (EventKind.NOTE, at(6), "notified", "command", "entered error"),
        (EventKind.NOTE, at(DAY), "notice_given_up", "url", "entered error: no answer"),
    ]
    assert store.due_notices(at(2 * DAY), 10) == ()


def test_an_attempt_at_what_retention_took_changes_nothing(store):
    store.notice_tried("gone", delivered(at(0)))
    assert [event.name for event in store.history(WEB, before=None, limit=9)] == ["declared"]


def test_retention_keeps_the_last_sent_notice_and_those_to_send(store):
    warning = a_filed(a_notice(severity=Severity.WARNING, since=0))
    for filed in (warning, FIRST, OTHER):
        store.file_notices((filed,))
    store.notice_tried(warning.notice.id, delivered(at(1)))
    store.notice_tried(FIRST.notice.id, delivered(at(2)))
    assert store.prune(before=at(30 * DAY), bytes_at_most=1 << 30) >= 1
    assert kept(store) == {FIRST.notice.id, OTHER.notice.id}
    store.prune(before=at(0), bytes_at_most=0)
    assert kept(store) == {FIRST.notice.id, OTHER.notice.id}
    assert store.last_notices() == (FIRST.notice, OTHER.notice)


def test_a_dropped_group_is_forgotten_but_its_notices_to_send_go_out(store):
    for filed in (FIRST, OVER):
        store.file_notices((filed,))
    store.notice_tried(FIRST.notice.id, delivered(at(1)))
    store.drop_group(WEB)
    assert store.last_notices() == ()
    assert store.due_notices(at(60), 10) == (OVER,)
    store.notice_tried(OVER.notice.id, delivered(at(61)))
    store.prune(before=at(DAY), bytes_at_most=1 << 30)
    assert kept(store) == set()


def test_a_group_that_comes_back_under_an_old_name_begins_anew(store):
    store.file_notices((FIRST,))
    store.notice_tried(FIRST.notice.id, delivered(at(1)))
    store.drop_group(WEB)
    store.declare((a_definition("web"), a_definition("worker")), at(2))
    assert store.last_notices() == ()


def test_a_closed_store_files_nothing(store):
    store.close()
    with pytest.raises(StoreError):
        store.file_notices((FIRST,))


# Decisions


def test_decisions_are_kept_apart_from_trouble(store):
    decided, later = a_filed(a_decision(sent=5)), a_filed(a_decision("worker", sent=7))
    for filed in (FIRST, decided, later):
        store.file_notices((filed,))
    assert store.last_notices() == (FIRST.notice,)
    assert store.last_decision_notices() == {"web": at(5), "worker": at(7)}
    assert store.due_notices(at(60), 10) == (FIRST, decided, later)


def test_a_decision_that_is_delivered_is_no_second_line_of_history_and_one_that_is_not_is(store):
    first, second = a_filed(a_decision(sent=5)), a_filed(a_decision(sent=6, to=7))
    store.file_notices((first, second))
    store.notice_tried(first.notice.id, delivered(at(8)))
    store.notice_tried(second.notice.id, Tried(at=at(9), delivered=False, because="no answer"))
    notes = store.history(WEB, before=None, limit=10, kinds={EventKind.NOTE})
    assert [event.message for event in notes if event.name != "declared"] == ["decided 4 → 7: no answer"]


def test_decisions_of_a_group_that_sends_them_no_longer_are_still_due_but_are_not_its_last(store):
    sent, waiting = a_filed(a_decision(sent=5)), a_filed(a_decision(sent=6, to=7))
    store.file_notices((sent, waiting, a_filed(a_decision("worker", sent=7))))
    store.notice_tried(sent.notice.id, delivered(at(8)))
    store.end_decision_notices((WEB,))
    assert store.last_decision_notices() == {"worker": at(7)}
    assert waiting in store.due_notices(at(60), 10)
    store.prune(before=at(30 * DAY), bytes_at_most=1 << 30)
    assert store.last_decision_notices() == {"worker": at(7)}
