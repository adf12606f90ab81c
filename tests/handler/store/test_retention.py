from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from config.document.statement import Statement
from config.model.edits import Act, Edit
from config.units import GroupId
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Phase
from handler.ports.store import FileChange
from handler.store.schema import METADATA
from tests.support.store import (
    LOCAL,
    WEB,
    a_delivery,
    a_record,
    a_state,
    a_tick,
    an_answer,
    an_explanation,
    at,
    full_hook,
)
from trigger.reasons import Reason
from trigger.requests import RequestCause

PLENTY = 1 << 30
DAY = 86400.0


def counts(store) -> dict[str, int]:
    def count(connection):
        return {
            n: connection.execute(select(func.count()).select_from(t)).scalar_one() for n, t in METADATA.tables.items()
        }

    return store._writer.do(count)


def tell(store, seconds: float, reason: Reason = Reason.SCALED_OUT, note: str = "") -> None:
    """A decision with its answer and span, a step and a note, all at one instant."""
    answer = an_answer(reason, cause=RequestCause.ALARM, request=f"a{seconds}")
    store.record((a_tick(an_explanation(at(seconds), reason=reason, sizes=(1, 2), answers=(answer,))),))
    step = store.begin_step(WEB, "create", None, at(seconds), (), LOCAL)
    store.end_step(step, StepResult.DONE, note, at(seconds), (), LOCAL)
    store.note(WEB, "observe", "ada", note, at(seconds))


@pytest.fixture
def old(store):
    """History ten days old and of today, spans with it."""
    tell(store, -10 * DAY)
    tell(store, 0, Reason.SCALED_IN)
    return store


def test_history_older_than_asked_goes_and_the_rest_stays(old):
    assert old.prune(before=at(-DAY), bytes_at_most=PLENTY) == 5
    left = counts(old)
    assert [left[name] for name in ("spans", "decisions", "steps", "answers")] == [1, 1, 1, 1]
    assert {event.at for event in old.history(WEB, before=None, limit=100)} == {at(0)}


def test_nothing_old_nothing_deleted(old):
    assert old.prune(before=at(-11 * DAY), bytes_at_most=PLENTY) == 0


def test_state_and_members_stay_whatever_their_age_and_the_budget(store):
    store.record((a_tick(an_explanation(at(-10 * DAY)), state=a_state()),))
    store.save((replace(a_record(), intended_at=at(-10 * DAY)),), LOCAL)
    before = store.groups(), store.members(WEB)
    store.prune(before=at(DAY), bytes_at_most=0)
    assert (store.groups(), store.members(WEB)) == before


@pytest.mark.parametrize(("age", "left"), [(3599.0, 1), (3601.0, 0)], ids=["younger", "older"])
def test_a_gone_member_stays_for_an_hour_more_since_budgets_count_it(store, age, left):
    store.save((replace(a_record(phase=Phase.GONE), intended_at=at(-age), gone_at=at(-age)),), LOCAL)
    store.prune(before=at(0), bytes_at_most=0)
    assert counts(store)["members"] == left


def test_a_member_that_went_lately_stays_however_long_it_lived(store):
    store.save((replace(a_record(phase=Phase.GONE), intended_at=at(-DAY), gone_at=at(-1)),), LOCAL)
    store.prune(before=at(0), bytes_at_most=PLENTY)
    assert counts(store)["members"] == 1


def test_the_last_span_of_a_group_stays_and_can_still_be_extended(store):
    store.record((a_tick(an_explanation(at(-10 * DAY))),))
    store.prune(before=at(0), bytes_at_most=0)
    store.record((a_tick(an_explanation(at(0))),))
    store.flush()
    assert counts(store)["spans"] == 1
    assert store.span_at(WEB, at(0)).ticks == 2


def test_spans_of_a_dropped_group_go(store):
    store.record((a_tick(an_explanation(at(-10 * DAY))),))
    store.drop_group(WEB)
    store.prune(before=at(0), bytes_at_most=PLENTY)
    assert counts(store)["spans"] == 0


def test_beyond_the_budget_the_oldest_goes_first_and_the_file_shrinks(file_store, file):
    def fill(connection):
        notes = METADATA.tables["notes"]
        rows = [{"group": WEB, "at": at(n), "name": str(n), "by": "ada", "message": "x" * 500} for n in range(8_000)]
        connection.execute(notes.insert(), rows)

    file_store._writer.do(fill)
    file_store.prune(before=at(-DAY), bytes_at_most=PLENTY)
    budget = 2_500_000
    assert file_store.prune(before=at(-DAY), bytes_at_most=budget) > 0
    assert file.stat().st_size <= budget
    assert file.with_name(f"{file.name}-wal").stat().st_size == 0
    left = file_store.history(WEB, before=None, limit=20_000)
    assert left[0].name == "7999"
    assert left[-1].at > at(1000)
    assert len(left) > 2000


def test_a_delivery_goes_once_it_has_not_been_repeated_for_long(store):
    store.deliver((a_delivery(at(-9 * DAY)), a_delivery(at(-9 * DAY), fingerprint="f2")))
    store.deliver((a_delivery(at(0), fingerprint="f2", decision="d2"),))
    assert store.prune(before=at(-DAY), bytes_at_most=PLENTY) == 1
    assert [delivery.decision for delivery in store.delivered(WEB, a_delivery().alert, "f2")] == ["d1"]
    assert store.delivered(WEB, a_delivery().alert, "f1") == ()


def test_an_alert_that_is_repeated_for_longer_than_history_is_kept_has_its_answer_still(store):
    for name in ("still", "over"):
        answer = an_answer(Reason.SCALED_OUT, cause=RequestCause.ALARM, request=name)
        store.record((a_tick(an_explanation(at(-9 * DAY), sizes=(1, 2), answers=(answer,))),))
        store.deliver((a_delivery(at(-9 * DAY), fingerprint=name, decision=name),))
    store.deliver((a_delivery(at(0), fingerprint="still", decision="still"),))
    store.prune(before=at(-DAY), bytes_at_most=PLENTY)
    assert store.answers_to({(WEB, "still"), (WEB, "over")}).keys() == {(WEB, "still")}


def test_a_flood_of_alerts_goes_by_the_budget_and_webhooks_stay(store):
    store.save_hook(full_hook())
    store.deliver(tuple(a_delivery(at(0), fingerprint=str(number)) for number in range(3000)))
    store.prune(before=at(-DAY), bytes_at_most=0)
    assert (counts(store)["deliveries"], store.hooks()) == (0, (full_hook(),))


def test_the_budget_spares_answers_and_steps_under_way(store):
    tell(store, 0)
    store.begin_step(GroupId("worker"), "create", None, at(-5), (), LOCAL)
    store.prune(before=at(-DAY), bytes_at_most=0)
    left = counts(store)
    assert [left[name] for name in ("decisions", "notes", "steps", "answers", "spans")] == [0, 0, 1, 1, 1]
    assert store.history(GroupId("worker"), before=None, limit=5)[0].result is None


def test_the_last_edit_of_the_file_that_touched_a_group_stays(store):
    edit = Edit(key="groups.web.max", act=Act.CHANGED, before="8", after="9", file="f", line=1, groups=(WEB,))
    definitions = [stored.definition for stored in store.groups()]
    for days in (10, 9):
        edited = FileChange(by="ada", statement=Statement(values={}, used={}), edits=(edit,))
        store.declare(definitions, at(-days * DAY), edited)
    store.prune(before=at(0), bytes_at_most=0)
    assert [(edits.at, edits.edits) for edits in store.edits(WEB, 10)] == [(at(-9 * DAY), (replace(edit, groups=()),))]
