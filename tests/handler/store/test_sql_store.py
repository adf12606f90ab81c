from __future__ import annotations

import contextlib
import math
from dataclasses import fields, replace

import pytest

from config.errors import Refused, StoreError
from config.units import BalancerId, CloudId, GroupId, MemberName
from handler.planning.attachments import Attachment
from handler.planning.desired import Builds, Definition
from handler.planning.garbage import Abandoned
from handler.planning.provisioning import BalancerProvision
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Leaving, Phase
from handler.ports.held_clock import ClockDifference
from handler.ports.identity import StoredCall
from handler.ports.store import Store
from handler.ports.stored import Creates, Event, EventKind, MemberSpans
from handler.store.sqlite import SqliteStore
from tests.support.store import (
    EDGE,
    INSTALLATION,
    LOCAL,
    NOW,
    WEB,
    a_definition,
    a_delivery,
    a_hook,
    a_quiet,
    a_record,
    a_signal,
    a_state,
    a_tick,
    an_answer,
    an_explanation,
    at,
    full_record,
    full_state,
    opened,
)
from trigger.reasons import Reason
from trigger.requests import Ceiling, GroupState, Observed, OlderStore, Pause, RequestCause, Shrunk, SignalKind

WORKER = GroupId("worker")


def group_of(store: Store, group: GroupId = WEB):
    return next(stored for stored in store.groups() if stored.id == group)


def acts(store: Store, group: GroupId = WEB) -> list[str]:
    return [event.name for event in reversed(store.history(group, before=None, limit=100))]


# Opening and closing


def test_another_installation_is_refused(file):
    with pytest.raises(Refused, match="belongs to installation k3f9ab, not zzzzzz: write k3f9ab into"):
        SqliteStore.open(file, installation="zzzzzz")
    opened(file).close()


def test_everything_is_there_after_closing_and_opening(file):
    store = opened(file)
    store.declare((a_definition(),), NOW)
    store.record((a_tick(state=full_state()),))
    store.save((full_record(),), LOCAL)
    store.close()
    again = opened(file)
    assert (group_of(again).state, again.members(WEB)) == (full_state(), (full_record(),))
    again.close()


CALLS = {
    "groups": lambda store: store.groups(),
    "declare": lambda store: store.declare((), NOW),
    "open_steps": lambda store: store.open_steps(WEB),
    "save_builds": lambda store: store.save_builds(WEB, Builds()),
    "mark_deleting": lambda store: store.mark_deleting(WEB),
    "drop_group": lambda store: store.drop_group(WEB),
    "record": lambda store: store.record((a_tick(),)),
    "flush": lambda store: store.flush(),
    "answered": lambda store: store.answered(WEB, "r"),
    "hooks": lambda store: store.hooks(),
    "save_hook": lambda store: store.save_hook(a_hook()),
    "use_hooks": lambda store: store.use_hooks({}),
    "deliver": lambda store: store.deliver((a_delivery(),)),
    "delivered": lambda store: store.delivered(WEB, a_delivery().alert, "f1"),
    "members": lambda store: store.members(WEB),
    "intend": lambda store: store.intend(WEB, LOCAL, 1, (), NOW),
    "save": lambda store: store.save((a_record(),), LOCAL),
    "creates": lambda store: store.creates(WEB, LOCAL, NOW),
    "begin_step": lambda store: store.begin_step(WEB, "create", None, NOW, (), LOCAL),
    "end_step": lambda store: store.end_step(1, StepResult.DONE, "", NOW, (), LOCAL),
    "note_steps": lambda store: store.note_steps((), (a_record(),), LOCAL),
    "note": lambda store: store.note(WEB, "pause", "ada", "", NOW),
    "history": lambda store: store.history(WEB, before=None, limit=1),
    "span_at": lambda store: store.span_at(WEB, NOW),
    "served": lambda store: store.served(WEB, NOW, NOW),
    "member_spans": lambda store: store.member_spans(WEB, 9),
    "prune": lambda store: store.prune(before=NOW, bytes_at_most=1),
}


def test_what_it_takes_on_the_disk_grows_with_what_is_written(file):
    with contextlib.closing(opened(file)) as store:
        before = store.bytes_on_disk()
        store.declare([a_definition(f"g{number}") for number in range(100)], NOW)

        assert store.bytes_on_disk() > before >= file.stat().st_size


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_closed_store_answers_nothing(store, call):
    store.record((a_tick(),))  # so that the call below would only extend a span in memory
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        call(store)


def test_closing_twice_is_closing_once(store):
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.groups()


# Groups


def test_a_new_group_has_no_desired_size(store):
    assert [(stored.id, stored.state) for stored in store.groups()] == [
        (WEB, GroupState(fresh=True)),
        (WORKER, GroupState(fresh=True)),
    ]


def test_a_definition_is_kept_whole(store):
    assert group_of(store).definition == a_definition("web")


def test_a_declared_group_keeps_its_state_and_takes_its_new_definition(store):
    store.record((a_tick(state=full_state()),))
    store.declare((a_definition("web", maximum=20), a_definition("worker")), at(1))
    assert (group_of(store).state, group_of(store).definition.group.maximum) == (full_state(), 20)


def test_a_group_that_leaves_is_orphaned_and_keeps_state_and_definition(store):
    store.record((a_tick(state=full_state()),))
    store.declare((a_definition("worker"),), at(1))
    assert group_of(store).state == replace(full_state(), orphaned=True)
    assert group_of(store).definition == a_definition("web")


def test_a_group_that_returns_is_no_longer_orphaned(store):
    store.declare((), at(1))
    store.declare((a_definition("web"),), at(2))
    assert [stored.state.orphaned for stored in store.groups()] == [False, True]


def test_a_member_that_comes_goes_and_returns_is_history_once(store):
    for seconds, declared in enumerate([(), (), (a_definition("web"),), (a_definition("web"),)]):
        store.declare(declared, at(seconds))
    assert acts(store) == ["declared", "orphaned", "declared_again"]


def test_how_builds_go_is_kept(store):
    store.save_builds(WEB, Builds(failed=3, back_off_until=at(60), of="abc"))
    kept = group_of(store)
    assert (kept.failed_builds, kept.back_off_until, kept.builds_of) == (3, at(60), "abc")
    store.save_builds(WEB, Builds())
    assert (group_of(store).failed_builds, group_of(store).back_off_until) == (0, None)


def test_a_group_to_be_deleted_is_marked(store):
    store.mark_deleting(WEB)
    assert [stored.deleting for stored in store.groups()] == [True, False]


def test_a_dropped_group_leaves_nothing_but_its_history(store):
    store.record((a_tick(state=a_state(quiets=(a_quiet(),), signals=(a_signal(),))),))
    store.save((a_record(),), LOCAL)
    store.note(WEB, "delete", "ada", "", at(1))
    store.drop_group(WEB)
    assert [stored.id for stored in store.groups()] == [WORKER]
    assert store.members(WEB) == ()
    assert acts(store) == ["declared", "delete"]
    assert store.span_at(WEB, NOW) is not None


def test_a_group_that_comes_back_after_it_was_dropped_never_reuses_a_launch_id(store):
    store.intend(WEB, LOCAL, 2, (), NOW)
    store.drop_group(WEB)
    store.declare((a_definition("web"),), at(1))
    assert [record.name for record in store.intend(WEB, LOCAL, 1, (), at(2))] == ["web-k3f9ab-3"]


@pytest.mark.parametrize(
    "write",
    [
        lambda store, group: store.save_builds(group, Builds(failed=1)),
        lambda store, group: store.mark_deleting(group),
        lambda store, group: store.intend(group, LOCAL, 1, (), NOW),
        lambda store, group: store.save((a_record(group=group),), LOCAL),
        lambda store, group: store.begin_step(group, "create", None, NOW, (a_record(group=group),), LOCAL),
        lambda store, group: store.note(group, "pause", "ada", "", NOW, a_state()),
        lambda store, group: store.record((a_tick(an_explanation(group=group), state=a_state()),)),
    ],
    ids=["builds", "deleting", "intend", "save", "step", "note", "record"],
)
def test_state_of_a_group_that_is_not_there_is_refused_as_a_whole(store, write):
    with pytest.raises(StoreError, match="group unknown is not in the store"):
        write(store, GroupId("unknown"))
    assert store.history(GroupId("unknown"), before=None, limit=10) == ()


# Decisions


def test_the_first_answer_to_a_request_is_the_answer(store):
    grown = an_answer(Reason.SCALED_OUT, cause=RequestCause.ALARM, request="a1")
    refused = an_answer(Reason.QUIET, cause=RequestCause.ALARM, request="a1")
    store.record((a_tick(an_explanation(at(1), reason=Reason.SCALED_OUT, sizes=(3, 5), answers=(grown,))),))
    store.record((a_tick(an_explanation(at(2), sizes=(5, 5), answers=(refused,))),))
    answer = store.answered(WEB, "a1")
    assert (answer.at, answer.reason, answer.desired_from, answer.desired_to) == (at(1), Reason.SCALED_OUT, 3, 5)


def test_a_request_is_known_by_its_group_and_id(store):
    store.record((a_tick(an_explanation(answers=(an_answer(cause=RequestCause.PERSON, request="a1"),))),))
    assert store.answered(WORKER, "a1") is None
    assert store.answered(WEB, "a2") is None


def test_quiet_times_are_kept_in_their_order_and_replaced_as_a_whole(store):
    quiets = (a_quiet(at(9)), a_quiet(at(3), policy=None), a_quiet(at(6), policy="in"))
    store.record((a_tick(state=a_state(quiets=quiets)),))
    assert group_of(store).state.quiets == quiets
    store.record((a_tick(state=a_state(quiets=quiets[1:])),))
    assert group_of(store).state.quiets == quiets[1:]


def test_signals_are_kept_and_replaced_as_a_whole(store):
    signals = (a_signal(SignalKind.FLOOR, 8), a_signal(key="f2"))
    store.record((a_tick(state=a_state(signals=signals)),))
    assert group_of(store).state.signals == signals
    store.record((a_tick(state=a_state(signals=signals[1:])),))
    assert group_of(store).state.signals == signals[1:]
    assert group_of(store, WORKER).state.signals == ()


# Members


def test_intents_are_on_disk_under_minted_names(store):
    minted = store.intend(WEB, LOCAL, 2, (EDGE,), at(5))
    assert minted == tuple(replace(a_record(n, phase=Phase.INTENDED), intended_at=at(5)) for n in (1, 2))
    assert store.members(WEB) == minted


def test_sequences_go_on_and_are_each_groups_own(store):
    store.intend(WEB, LOCAL, 2, (), NOW)
    assert [record.sequence for record in store.intend(WEB, LOCAL, 2, (), NOW)] == [3, 4]
    assert [record.sequence for record in store.intend(WORKER, LOCAL, 1, (), NOW)] == [1]


def test_intending_nothing_writes_nothing(store):
    assert store.intend(WEB, LOCAL, 0, (), NOW) == ()
    assert store.intend(WEB, LOCAL, 1, (), NOW)[0].sequence == 1


def test_a_saved_record_raises_the_sequence_and_an_older_one_does_not_lower_it(store):
    store.save((a_record(9), a_record(4)), LOCAL)
    store.save((a_record(2),), LOCAL)
    assert store.intend(WEB, LOCAL, 1, (), NOW)[0].sequence == 10


def test_a_record_is_replaced_whole(store):
    store.save((full_record(),), LOCAL)
    plain = a_record(7)
    store.save((plain,), LOCAL)
    assert store.members(WEB) == (plain,)


def test_two_records_cannot_share_a_sequence(store):
    store.save((a_record(1),), LOCAL)
    with pytest.raises(StoreError, match=r"UNIQUE|unique"):
        store.save((replace(a_record(1), name="web-other0-1"),), LOCAL)


def test_members_come_by_sequence_and_without_those_that_are_gone(store):
    store.save((a_record(11), a_record(2), a_record(3, phase=Phase.GONE)), LOCAL)
    assert [record.sequence for record in store.members(WEB)] == [2, 11]


def test_budgets_count_what_is_outstanding_and_what_was_made_in_the_past_hour(store):
    other = CloudId("other")
    store.save(
        (
            a_record(1, phase=Phase.INTENDED, since=at(-7200)),
            a_record(2, phase=Phase.MADE, since=at(-10)),
            a_record(3, phase=Phase.IN_SERVICE, since=at(-20)),
            a_record(4, phase=Phase.GONE, since=at(-30)),
            a_record(5, phase=Phase.GONE, since=at(-3600)),
        ),
        LOCAL,
    )
    store.save((a_record(1, group="worker", phase=Phase.INTENDED, since=at(-5)),), LOCAL)
    store.save((a_record(2, group="worker", phase=Phase.INTENDED, since=at(-5)),), other)
    assert store.creates(WEB, LOCAL, NOW) == Creates(
        group_outstanding=2, group_past_hour=3, cloud_outstanding=3, cloud_past_hour=4
    )


def test_an_empty_store_has_used_no_budget(store):
    assert store.creates(WEB, LOCAL, NOW) == Creates(
        group_outstanding=0, group_past_hour=0, cloud_outstanding=0, cloud_past_hour=0
    )


# History


def test_a_step_is_under_way_until_it_is_ended(store):
    member = a_record().name
    step = store.begin_step(WEB, "drain", member, at(1), (), LOCAL)
    (begun, _) = store.history(WEB, before=None, limit=2)
    assert begun == Event(at=at(1), group=WEB, kind=EventKind.STEP, name="drain", by=member)
    store.end_step(step, StepResult.RETRY, "timed out", at(3.5), (), LOCAL)
    (ended, _) = store.history(WEB, before=None, limit=2)
    assert ended == replace(begun, result=StepResult.RETRY, message="timed out", took=2.5)


def test_records_go_with_the_steps_beginning_and_end(store):
    intended, made = a_record(phase=Phase.INTENDED), a_record(phase=Phase.MADE)
    step = store.begin_step(WEB, "create", None, at(1), (intended,), LOCAL)
    assert store.members(WEB) == (intended,)
    store.end_step(step, StepResult.DONE, "", at(2), (made,), LOCAL)
    assert store.members(WEB) == (made,)


def a_line(member: str, seconds: float, name: str = "confirm") -> Event:
    return Event(
        at=at(seconds),
        group=WEB,
        kind=EventKind.STEP,
        name=name,
        by=member,
        result=StepResult.DONE,
        took=0.0,
        message="m",
    )


def test_steps_without_a_call_are_written_whole_with_their_records(store):
    records = (a_record(1, phase=Phase.MADE), a_record(2, phase=Phase.MADE))
    lines = [a_line(record.name, seconds) for seconds, record in enumerate(records, start=1)]
    store.note_steps(lines, records, LOCAL)
    assert store.members(WEB) == records
    assert store.history(WEB, before=None, limit=2) == tuple(reversed(lines))


def test_steps_without_a_call_are_written_all_or_none(store):
    before = store.history(WEB, before=None, limit=9)
    with pytest.raises(StoreError):
        store.note_steps([a_line("web-k3f9ab-1", 1)], (a_record(1), a_record(2, group=GroupId("unknown"))), LOCAL)
    assert (store.members(WEB), store.history(WEB, before=None, limit=9)) == ((), before)


def test_members_are_read_anew_after_every_kind_of_write(store):
    seen = [store.members(WEB)]
    (record,) = store.intend(WEB, LOCAL, 1, (), at(0))
    writes = [
        lambda: store.save((replace(record, phase=Phase.MADE),), LOCAL),
        lambda: store.begin_step(WEB, "drain", None, at(1), (replace(record, drained_at=at(1)),), LOCAL),
        lambda: store.end_step(1, StepResult.DONE, "", at(2), (replace(record, destroy_attempts=1),), LOCAL),
        lambda: store.note_steps((), (replace(record, absent_listings=1),), LOCAL),
        lambda: store.drop_group(WEB),
    ]
    for write in writes:
        seen.append(store.members(WEB))
        write()
    seen.append(store.members(WEB))
    assert len(set(seen)) == len(seen) - 1, "each write shows; before the first and after the last there is no member"
    assert seen[0] == seen[-1] == ()


def test_a_step_whose_line_was_pruned_still_saves_its_records(store):
    step = store.begin_step(WEB, "create", None, at(1), (), LOCAL)
    store.prune(before=at(100), bytes_at_most=1 << 30)
    store.end_step(step, StepResult.DONE, "", at(200), (a_record(),), LOCAL)
    assert store.members(WEB) == (a_record(),)


def test_a_note_is_written_with_the_state_that_it_leads_to(store):
    paused = replace(GroupState(), pause=Pause.ALL)
    store.note(WEB, "pause", "ada", "maintenance", at(1), paused)
    assert group_of(store).state == paused
    assert store.history(WEB, before=None, limit=1) == (
        Event(at=at(1), group=WEB, kind=EventKind.NOTE, name="pause", by="ada", message="maintenance"),
    )


def test_a_note_that_changes_the_size_says_from_what_to_what(store):
    store.note(WEB, "found", "convergence", "", at(1), a_state(4))
    store.note(WEB, "vanished", "convergence", "1 gone", at(2), a_state(3))
    (vanished, found, _) = store.history(WEB, before=None, limit=3)
    assert [(e.desired_from, e.desired_to) for e in (found, vanished)] == [(None, 4), (4, 3)]


def test_members_that_leave_are_written_with_the_size_that_follows_or_not_at_all(store):
    (record,) = store.intend(WEB, LOCAL, 1, (), at(0))
    store.note(WEB, "found", "convergence", "", at(1), a_state(4))
    left = replace(record, phase=Phase.LEAVING, leaving=Leaving.VANISHED, leaving_at=at(2))
    act = Event(at=at(2), group=WEB, kind=EventKind.NOTE, name="vanished", by="convergence", message="1 gone")
    with pytest.raises(StoreError):
        store.lower(act, a_state(3), (left, replace(left, group=GroupId("unknown"))), LOCAL)
    assert (store.members(WEB), group_of(store).state.desired) == ((record,), 4)
    store.lower(act, a_state(3), (left,), LOCAL)
    assert (store.members(WEB), group_of(store).state.desired) == ((left,), 3)
    assert store.history(WEB, before=None, limit=1) == (replace(act, desired_from=4, desired_to=3),)


def test_behind_what_members_are_is_one_write_with_behind_what_they_will_be(store):
    (record,) = store.intend(WEB, LOCAL, 1, (), at(0))
    there = replace(record, balancers=(EDGE,))
    attachment = Attachment(balancer=EDGE[0], port=EDGE[1], by="ada", at=at(2))
    act = Event(at=at(2), group=WEB, kind=EventKind.NOTE, name="attach", by="ada", message="edge")
    before, foreign_member = group_of(store).definition, replace(there, group=GroupId("unknown"))
    with pytest.raises(StoreError):
        store.attach(act, before, (attachment,), (there, foreign_member))
    assert (store.members(WEB), group_of(store).attachments) == ((record,), ())
    definition = replace(before, group=replace(before.group, balancers=()))
    store.attach(act, definition, (attachment,), (there,))
    assert (store.members(WEB), store.history(WEB, before=None, limit=1)) == ((there,), (act,))
    assert (group_of(store).attachments, group_of(store).definition) == ((attachment,), definition)
    store.attach(act, definition, (), ())
    assert group_of(store).attachments == ()


def test_what_was_made_for_a_group_is_kept_until_it_is_gone_or_the_group_is(store):
    bare, whole = (
        BalancerProvision(balancer=BalancerId("lb")),
        BalancerProvision(balancer=BalancerId("lb"), parts={"loadbalancer": "7", "pool": "8"}, pending_since=at(3)),
    )
    store.bind(WEB, bare)
    store.bind(WEB, whole)
    store.bind(WORKER, bare)
    store.bind(WEB, replace(bare, balancer=BalancerId("api")))
    assert store.bindings(WEB) == (replace(bare, balancer=BalancerId("api")), whole)
    store.unbind(WEB, BalancerId("api"))
    assert store.bindings(WEB) == (whole,)
    store.drop_group(WEB)
    assert (store.bindings(WEB), store.bindings(WORKER)) == ((), (bare,))
    with pytest.raises(StoreError, match="declare it first"):
        store.bind(WEB, bare)


def test_members_that_leave_by_a_decision_are_written_with_it(store):
    (record,) = store.intend(WEB, LOCAL, 1, (), at(0))
    left = replace(record, phase=Phase.LEAVING, leaving=Leaving.CHOSEN, leaving_at=at(2))
    store.record((replace(a_tick(state=full_state()), members=(left,), cloud=LOCAL),))
    assert (store.members(WEB), group_of(store).state) == ((left,), full_state())


def test_what_is_abandoned_is_written_with_the_end_of_its_record_and_outlives_its_group(store):
    (record,) = store.intend(WEB, LOCAL, 1, (), at(0))
    what = Abandoned(name=record.name, group=WEB, cloud=LOCAL, server_id="4711", at=at(2), by="ada")
    act = Event(at=at(2), group=WEB, kind=EventKind.NOTE, name="abandon", by="ada", message=record.name)
    store.abandon(act, what, (replace(record, phase=Phase.GONE, gone_at=at(2)),))
    store.abandon(replace(act, at=at(3)), replace(what, by="bob"), ())
    assert (store.members(WEB), store.gone(WEB, {record.name}).keys()) == ((), {record.name})
    assert (store.abandoned(), store.abandoned_of(WEB)) == ((what,), {record.name})
    assert store.abandoned_of(GroupId("worker")) == frozenset()
    assert [event.by for event in store.history(WEB, before=None, limit=2)] == ["ada", "ada"]
    store.drop_group(WEB)
    store.prune(before=at(1e6), bytes_at_most=1 << 30)
    assert (store.abandoned(), store.abandoned_of(WEB)) == ((what,), {record.name})
    assert store.last_sequence(WEB) == 1


def test_members_served_from_when_they_came_into_service_until_they_left_vanished_or_were_gone(store):
    records = store.intend(WEB, LOCAL, 5, (), at(0))
    ends = ({}, {"leaving_at": at(60), "gone_at": at(90)}, {"lost_at": at(70)}, {"gone_at": at(40)})
    served = [replace(record, in_service_at=at(10), **end) for record, end in zip(records, ends, strict=False)]
    store.save(tuple(served), LOCAL)
    found = store.served(WEB, at(50), at(100))
    assert {(each.begin, each.end) for each in found} == {(at(10), math.inf), (at(10), at(60)), (at(10), at(70))}
    assert store.served(WEB, at(-9), at(10)) == ()
    assert store.served(WORKER, at(0), at(100)) == ()


def test_the_spans_of_members_are_of_those_made_here_that_came_into_service(store):
    first, second, taken_up, given, waiting = store.intend(WEB, LOCAL, 5, (), at(0))
    drained = {"drained_at": at(200), "gone_at": at(245)}
    store.save(
        (
            replace(first, profile="old", made_at=at(20), in_service_at=at(90), **drained),
            replace(second, profile="new", made_at=at(20), in_service_at=at(100)),
            replace(taken_up, made_at=at(110), in_service_at=at(110)),
            replace(given, made_at=at(20), in_service_at=at(120), given=True),
            replace(waiting, made_at=at(20)),
        ),
        LOCAL,
    )
    newest, oldest = (
        MemberSpans(profile="new", boot=100.0, drain=None),
        MemberSpans(profile="old", boot=90.0, drain=45.0),
    )
    assert store.member_spans(WEB, 9) == (newest, oldest)
    assert store.member_spans(WEB, 1) == (newest,)
    assert store.member_spans(WORKER, 9) == ()


def test_names_are_known_as_gone_until_retention_forgets_them(store):
    first, second = store.intend(WEB, LOCAL, 2, (), at(0))
    store.save((replace(first, phase=Phase.GONE, gone_at=at(1)),), LOCAL)
    asked = {first.name, second.name, MemberName("web-k3f9ab-9"), *(MemberName(f"x{n}") for n in range(2500))}
    assert store.gone(WEB, asked) == {first.name: replace(first, phase=Phase.GONE, gone_at=at(1))}
    assert store.gone(GroupId("worker"), asked) == {}
    assert store.gone(WEB, ()) == {}
    store.prune(before=at(1e6), bytes_at_most=1 << 30)
    assert store.gone(WEB, asked) == {}


def test_what_is_needed_when_lost_members_come_back_is_remembered(store):
    (record,) = store.intend(WEB, LOCAL, 1, (), at(0))
    store.save((replace(record, phase=Phase.GONE, gone_at=at(3), lost_at=at(2)),), LOCAL)
    assert store.gone(WEB, [record.name])[record.name].lost_at == at(2)
    shrunk = Shrunk(size=9, revision=4)
    store.note(WEB, "vanished", "convergence", "1 gone", at(2), replace(a_state(3), shrunk=shrunk))
    (kept,) = [group for group in store.groups() if group.id == WEB]
    assert kept.state.shrunk == shrunk


def test_a_note_without_a_state_leaves_the_state(store):
    store.record((a_tick(state=full_state()),))
    store.note(WEB, "protect", "ada", "web-k3f9ab-1", at(1))
    assert group_of(store).state == full_state()


def test_balancers_with_which_a_member_was_made_are_kept_in_order(store):
    record = replace(a_record(), balancers=((BalancerId("b"), 2), (BalancerId("a"), 1)))
    store.save((record,), LOCAL)
    assert store.members(WEB)[0].balancers == record.balancers


def test_definitions_are_compared_as_values(store):
    stored = group_of(store).definition
    assert isinstance(stored, Definition)
    assert stored == a_definition("web")
    assert stored != a_definition("web", maximum=11)
    assert INSTALLATION not in str(stored)


def test_of_signals_only_what_changed_is_written_where_it_is_known_what_is_there(store):
    first, other, third = a_signal(), a_signal(key="f2"), a_signal(key="f3")
    renewed = replace(other, until=at(5_000))
    before, after = a_state(signals=(first, other)), a_state(signals=(renewed, third))
    store.record((a_tick(state=before),))
    store.record((replace(a_tick(state=after), before=before),))
    assert group_of(store).state.signals == (renewed, third)
    store.record((replace(a_tick(state=a_state()), before=after),))
    assert group_of(store).state.signals == ()


def test_whichever_part_of_a_state_changes_is_written_where_it_is_known_what_is_there(store):
    before = a_state()
    store.record((a_tick(state=before),))
    for name in sorted({field.name for field in fields(GroupState)} - {"fleet_pause"}):
        after = replace(before, **{name: getattr(full_state(), name)})
        store.record((replace(a_tick(state=after), before=before),))
        assert group_of(store).state == after, name
        before = after


def test_answers_to_many_requests_are_looked_up_at_once(store):
    asked = tuple(an_answer(cause=RequestCause.ALARM, request=request) for request in ("r1", "r2"))
    store.record((a_tick(an_explanation(answers=asked)),))
    found = store.answers_to([(WEB, "r1"), (WEB, "r2"), (WEB, "r3"), (WORKER, "r1"), (WEB, 'r"1')])
    assert found == {(WEB, name): store.answered(WEB, name) for name in ("r1", "r2")}
    assert store.answers_to([]) == {}


def test_requests_between_two_ticks_open_no_span_unless_they_change_the_size(store):
    store.record((a_tick(an_explanation(at(0), sizes=(3, 3))),))
    store.record((replace(a_tick(an_explanation(at(1), reason=Reason.QUIET, sizes=(3, 3))), evaluated=False),))
    assert store.span_at(WEB, at(2)).first_at == at(0)
    store.record((replace(a_tick(an_explanation(at(3), sizes=(3, 5))), evaluated=False),))
    assert store.span_at(WEB, at(4)).first_at == at(3)


# What policies advised


def advising(seen: float) -> GroupState:
    return replace(a_state(), observed=Observed(ceilings=(Ceiling(since=at(0), size=2),), seen=at(seen)))


def test_what_was_advised_stands_until_the_last_tick_though_none_of_them_was_written_for_it(file):
    store = opened(file)
    store.declare((a_definition(),), NOW)
    store.record((a_tick(an_explanation(at(30)), state=advising(30)),))
    for seconds in (60, 90, 120):
        store.record((a_tick(an_explanation(at(seconds))),))
    store.close()
    again = opened(file)
    assert group_of(again).state.observed.seen == at(120)
    again.close()


def test_a_crash_loses_when_it_was_last_advised_and_not_what(file):
    store, reader = opened(file), opened(file)
    store.declare((a_definition(),), NOW)
    store.record((a_tick(an_explanation(at(30)), state=advising(30)),))
    store.record((a_tick(an_explanation(at(60))),))
    assert group_of(reader).state.observed == advising(30).observed
    assert group_of(reader).state.observed.seen == at(30)
    store.close()
    reader.close()


def test_where_nothing_is_kept_nothing_was_seen(store):
    store.record((a_tick(an_explanation(at(30)), state=a_state()),))
    assert group_of(store).state.observed.seen is None


def test_a_group_that_is_dropped_in_doubt_leaves_its_highest_known_sequence(store):
    store.intend(WEB, LOCAL, 2, (), NOW)
    doubted = replace(a_state(2), older=OlderStore(since=NOW, stored=2, sequence=9))
    store.note(WEB, "older_store", "convergence", "", NOW, doubted)
    store.drop_group(WEB)
    store.declare((a_definition("web"), a_definition("worker")), at(1))
    assert store.intend(WEB, LOCAL, 1, (), at(2))[0].sequence == 10


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_a_request_with_a_key_is_known_for_as_long_as_before_the_clock_was_set(store, step):
    call = StoredCall(caller="ada", key="k1", fingerprint="f", at=NOW)
    store.begin_call(call, 3600.0, 10)
    store.retime(step, at(60 + step), ClockDifference(boot="b1", seconds=0.0))
    assert store.begin_call(replace(call, at=at(120 + step)), 3600.0, 10) is not None
    assert store.begin_call(replace(call, at=at(3700 + step)), 3600.0, 10) is None
