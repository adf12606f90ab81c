from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from config.errors import StoreError
from config.model.access import SecretRef
from config.model.observability import NotifySlack, NotifyTarget, NotifyUrl
from config.units import GroupId, Instant, Moment, Monotonic
from handler.observability import notifying
from handler.observability.notification_sender import NotificationSender, UndeliveredNotice
from handler.observability.notifying import Notifier
from handler.planning.status import GroupCondition
from handler.planning.steps import Plan
from handler.ports.notices import News, StateTurn
from handler.runtime.group_runtime import GroupRuntime, LastPass
from handler.store.sqlite import SqliteStore
from tests.support.fake_cloud import FakeClock
from tests.support.notices import NOW, PAGER, Receiver, a_filed, a_notice, a_watched_group, silent_server
from tests.support.store import a_definition, a_tick, an_answer, an_explanation, full_state, opened
from tests.support.waiting import PATIENT
from tests.support.worlds import a_world
from trigger.reasons import Reason
from trigger.requests import Decision, Fleet, GroupState

DOWN = UndeliveredNotice(because="Connection refused", befalls_all=True)
REFUSED = UndeliveredNotice(because="answered 422", befalls_all=False)
WEB = GroupId("web")
OTHER = NotifyUrl(url="https://pager.example.org/", secret=SecretRef(env="KEY"))
SLACK = NotifySlack(url=SecretRef(env="SLACK"))


@dataclass
class ScriptedSender:
    """Answers in turn, then always takes the notice; writes down every attempt."""

    answers: list[UndeliveredNotice | None] = field(default_factory=list)
    tried: list[tuple[NotifyTarget, str]] = field(default_factory=list)
    hold: asyncio.Event | None = None
    """While it is clear, attempts at OTHER hang."""

    async def send(self, target: NotifyTarget, notice: News) -> UndeliveredNotice | None:
        self.tried.append((target, notice.id))
        if self.hold is not None and target == OTHER:
            await self.hold.wait()
        return self.answers.pop(0) if self.answers else None

    @property
    def ids(self) -> list[str]:
        return [notice for _, notice in self.tried]


@dataclass
class Daemon:
    """The notifier of one daemon on a real store, with groups in states that a test sets."""

    path: Path
    clock: FakeClock = field(default_factory=FakeClock)
    notification_sender: ScriptedSender | NotificationSender = field(default_factory=ScriptedSender)
    runtimes: dict[GroupId, GroupRuntime] = field(default_factory=dict)
    counts: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock.now = NOW
        self.store: SqliteStore = opened(self.path)
        if not self.store.groups():
            self.store.declare((a_definition("web"), a_definition("worker")), NOW)
        for name in ("web", "worker"):
            self.runtimes.setdefault(GroupId(name), a_runtime(name))
        self.notifier = Notifier(
            store=self.store,
            runtimes=self.runtimes,
            notification_sender=self.notification_sender,
            clock=self.clock,
            count=lambda kind, result: self.counts.append((kind, result)),
        )

    def restarted(self) -> Daemon:
        """The daemon was killed, and runs again on the same store."""
        self.store.close()
        again = Daemon(self.path, notification_sender=self.notification_sender, runtimes=self.runtimes)
        again.clock.now = self.clock.now
        return again

    def saw(self, condition: GroupCondition, group: str = "web", *, later: float = 0.0) -> None:
        self.clock.advance(later)
        runtime = self.runtimes[GroupId(group)]
        becomes(runtime, condition)
        self.notifier.saw(runtime)

    async def rounds(self, number: int = 3) -> None:
        for _ in range(number):
            await self.notifier.round()
            await self.notifier.idle()

    def notes(self, group: str = "web") -> list[str]:
        events = self.store.history(GroupId(group), before=None, limit=100)
        return [f"{event.name} {event.message}" for event in reversed(events) if event.name not in {"declared"}]


def a_runtime(name: str, target: NotifyTarget = PAGER) -> GroupRuntime:
    definition = a_definition(name)
    watched = a_watched_group(name, target=target)
    return GroupRuntime(
        id=GroupId(name),
        definition=replace(definition, group=replace(definition.group, notify=watched.notify)),
        state=GroupState(desired=0),
    )


def becomes(runtime: GroupRuntime, condition: GroupCondition) -> None:
    """Put a group runtime into this state."""
    assert condition in {GroupCondition.ERROR, GroupCondition.WARNING, GroupCondition.RUNNING}
    runtime.seen = LastPass(
        at=NOW,
        world=a_world(),
        plan=Plan(group=runtime.id, revision=0, steps=(), waits=()),
        states={},
        fleet=Fleet(listed=True, marked=0, in_service=0, creates_left=1, back_off_until=None),
        failures=("create: no such image",) if condition is GroupCondition.ERROR else (),
        retries=("the listing is partial",) if condition is GroupCondition.WARNING else (),
    )


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    running = Daemon(tmp_path / "trimtab.sqlite")
    yield running
    running.store.close()


ENTERED = "web.1700000000000.error.entered"
LEFT = "web.1700000000000.error.left"


def test_trouble_gives_one_notice_and_its_end_another(daemon: Daemon) -> None:
    async def run() -> None:
        for _ in range(3):
            daemon.saw(GroupCondition.ERROR)
            await daemon.rounds()
        for _ in range(4):
            daemon.saw(GroupCondition.RUNNING, later=30)
            await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED, LEFT]
    assert daemon.notes() == ["notified entered error", "notified left error"]
    assert daemon.counts == [("command", "delivered")] * 2


def test_killed_before_it_is_sent_it_is_sent_after(daemon: Daemon) -> None:
    async def killed() -> None:
        daemon.notification_sender.answers = [DOWN]
        daemon.saw(GroupCondition.ERROR)
        await daemon.rounds(1)

    async def again(restarted: Daemon) -> None:
        await restarted.notifier.recall()
        restarted.saw(GroupCondition.ERROR, later=5)
        await restarted.rounds()
        restarted.store.close()

    asyncio.run(killed())
    asyncio.run(again(daemon.restarted()))
    assert daemon.notification_sender.ids == [ENTERED, ENTERED]  # the second attempt arrived; there is no third


def test_killed_before_the_news_is_filed_it_is_news_after(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.saw(GroupCondition.ERROR)
        restarted = daemon.restarted()
        await restarted.notifier.recall()
        restarted.saw(GroupCondition.ERROR)
        await restarted.rounds()
        restarted.store.close()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED]


def test_killed_after_it_was_sent_and_before_that_is_written_it_is_sent_again_with_its_id(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(daemon.store, "notice_tried", full)
            daemon.saw(GroupCondition.ERROR)
            await daemon.rounds(1)
        restarted = daemon.restarted()
        await restarted.notifier.recall()
        await restarted.rounds()
        restarted.store.close()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED, ENTERED]


def full(*_: object, **__: object) -> None:
    raise StoreError("the disk is full")


def test_while_the_disk_is_full_nothing_is_sent_twice(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(daemon.store, "notice_tried", full)
            daemon.saw(GroupCondition.ERROR)
            for _ in range(5):
                await daemon.rounds(1)
                daemon.clock.advance(10)
        await daemon.rounds(1)

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED]
    assert daemon.notes() == ["notified entered error"]


def test_news_that_cannot_be_filed_is_kept(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(daemon.store, "file_notices", full)
            daemon.saw(GroupCondition.ERROR)
            with pytest.raises(StoreError):
                await daemon.notifier.round()
            daemon.saw(GroupCondition.RUNNING, later=60)
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED]


def test_what_fails_is_tried_again_later_and_only_the_first_failure_is_logged(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.StringIO()
    log = logging.getLogger("trimtab")
    monkeypatch.setattr(log, "handlers", [logging.StreamHandler(output)])
    monkeypatch.setattr(log, "isEnabledFor", lambda _: True)

    async def run() -> None:
        daemon.notification_sender.answers = [DOWN, DOWN]
        daemon.saw(GroupCondition.ERROR)
        await daemon.rounds()
        assert len(daemon.notification_sender.tried) == 1
        for seconds in (5, 9, 1, 60):
            daemon.clock.advance(seconds)
            await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED] * 3
    assert daemon.counts == [("command", "failed")] * 2 + [("command", "delivered")]
    assert output.getvalue().splitlines() == [
        'event=notice_failed group=web news="entered error" by=command because="Connection refused"',
        'event=notified group=web news="entered error" by=command attempts=3',
    ]


def test_after_a_day_it_is_given_up_and_history_says_why(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.notification_sender.answers = [DOWN] * 500
        daemon.saw(GroupCondition.ERROR)
        for _ in range(120):
            await daemon.rounds(1)
            daemon.clock.advance(900)

    asyncio.run(run())
    assert daemon.notes() == ["notice_given_up entered error: Connection refused"]
    assert daemon.counts[-1] == ("command", "given_up")
    assert 90 < len(daemon.notification_sender.tried) < 110


def test_to_one_target_notices_go_out_in_their_order(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.notification_sender.answers = [DOWN]
        daemon.saw(GroupCondition.ERROR)
        await daemon.rounds(1)
        daemon.saw(GroupCondition.ERROR, "worker", later=1)
        daemon.saw(GroupCondition.RUNNING, later=1)
        await daemon.rounds()
        assert len(daemon.notification_sender.tried) == 1  # the target is down: all other notices for it wait
        daemon.saw(GroupCondition.RUNNING, later=30)
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED, ENTERED, "worker.1700000001000.error.entered", LEFT]


def test_a_refused_notice_delays_its_group_and_no_other(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.notification_sender.answers = [REFUSED]
        daemon.saw(GroupCondition.ERROR)
        daemon.saw(GroupCondition.ERROR, "worker")
        await daemon.rounds()
        assert daemon.notification_sender.ids == [ENTERED, "worker.1700000000000.error.entered"]
        for _ in range(2):
            daemon.saw(GroupCondition.RUNNING, later=30)
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids[2:] == [ENTERED, LEFT]


def test_of_one_group_nothing_goes_out_before_what_was_refused(daemon: Daemon) -> None:
    async def run() -> None:
        left = a_notice(turn=StateTurn.LEFT)
        daemon.store.file_notices([a_filed(), a_filed(left), a_filed(a_notice("worker"))])
        daemon.notification_sender.answers = [REFUSED]
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED, "worker.1700000000000.error.entered"]


def test_a_target_that_hangs_delays_no_other_target(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.notification_sender.hold = asyncio.Event()
        daemon.runtimes[GroupId("web")] = a_runtime("web", OTHER)
        daemon.saw(GroupCondition.ERROR)
        daemon.saw(GroupCondition.ERROR, "worker")
        async with asyncio.timeout(PATIENT):
            await daemon.notifier.round()
            while not daemon.notes("worker"):  # noqa: ASYNC110 the other one's lane is still under way
                await asyncio.sleep(0.001)
        assert daemon.notes() == []
        daemon.notification_sender.hold.set()
        await daemon.notifier.idle()

    asyncio.run(run())
    assert daemon.notes() == ["notified entered error"]


def test_many_notices_for_a_dead_target_delay_no_other_target(daemon: Daemon) -> None:
    async def run() -> None:
        crowd = [a_filed(a_notice(f"g{number}"), target=OTHER) for number in range(500)]
        daemon.store.file_notices(crowd)
        daemon.notification_sender.answers = [DOWN]
        await daemon.rounds(1)
        daemon.saw(GroupCondition.ERROR, "worker")
        await daemon.rounds(1)

    asyncio.run(run())
    assert daemon.notes("worker") == ["notified entered error"]
    assert len(daemon.notification_sender.tried) == 2


def test_a_corrected_address_applies_to_waiting_notices(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.notification_sender.answers = [DOWN]
        daemon.saw(GroupCondition.ERROR)
        await daemon.rounds(1)
        daemon.runtimes[GroupId("web")] = a_runtime("web", OTHER)
        daemon.clock.advance(5)
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.tried == [(PAGER, ENTERED), (OTHER, ENTERED)]


def test_the_last_notice_of_a_gone_group_is_still_sent(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.saw(GroupCondition.ERROR)
        await daemon.rounds()
        daemon.runtimes[GroupId("web")].deleting = True
        daemon.notifier.saw(daemon.runtimes[GroupId("web")])
        daemon.store.drop_group(GroupId("web"))
        daemon.notifier.forget(daemon.runtimes.pop(GroupId("web")).id)
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED, LEFT]


def test_a_daemon_that_stops_leaves_what_is_under_way_to_the_next(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.notification_sender.hold = asyncio.Event()
        daemon.runtimes[GroupId("web")] = a_runtime("web", OTHER)
        daemon.notifier.start()
        daemon.saw(GroupCondition.ERROR)
        async with asyncio.timeout(PATIENT):
            while not daemon.notification_sender.tried:  # noqa: ASYNC110 the loop is at work
                await asyncio.sleep(0.001)
        await daemon.notifier.stop()
        assert all(task.done() for task in daemon.notifier.tasks())
        daemon.notification_sender.hold.set()
        restarted = daemon.restarted()
        await restarted.rounds()
        restarted.store.close()

    asyncio.run(run())
    assert daemon.notification_sender.ids == [ENTERED, ENTERED]


def test_warnings_wait_an_interval_and_errors_do_not(daemon: Daemon) -> None:
    async def run() -> None:
        daemon.saw(GroupCondition.WARNING)
        await daemon.rounds()
        assert daemon.notification_sender.tried == []
        daemon.saw(GroupCondition.WARNING, later=30)
        await daemon.rounds()
        daemon.saw(GroupCondition.ERROR)
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == ["web.1700000000000.warning.entered", ENTERED]


def test_a_server_that_fails_twice_gets_it_the_third_time_with_the_same_id(tmp_path: Path) -> None:
    async def run(receiver: Receiver) -> Daemon:
        clock = FakeClock()
        notification_sender = NotificationSender(environ={}, read_secret=lambda _: "hunter2", clock=clock)
        daemon = Daemon(tmp_path / "trimtab.sqlite", clock=clock, notification_sender=notification_sender)
        daemon.runtimes[GroupId("web")] = a_runtime("web", NotifyUrl(url=receiver.url, secret=SecretRef(env="KEY")))
        daemon.saw(GroupCondition.ERROR)
        for _ in range(4):
            await daemon.rounds(1)
            clock.advance(10)
        await notification_sender.close()
        return daemon

    with Receiver.running() as receiver:
        receiver.statuses = [503, 503]
        daemon = asyncio.run(run(receiver))
    assert [got.headers["X-Trimtab-Id"] for got in receiver.got] == [ENTERED] * 3
    assert len({got.body for got in receiver.got}) == 1
    assert len({got.headers["X-Trimtab-Signature"] for got in receiver.got}) == 3
    assert daemon.notes() == ["notified entered error"]
    daemon.store.close()


def test_a_server_that_hangs_keeps_no_other_waiting(tmp_path: Path) -> None:
    async def run(hanging: str, receiver: Receiver) -> None:
        notification_sender = NotificationSender(
            environ={}, read_secret=lambda _: "hunter2", clock=lambda: NOW, url_timeout=60.0
        )
        daemon = Daemon(tmp_path / "trimtab.sqlite", notification_sender=notification_sender)
        for name, url in (("web", hanging), ("worker", receiver.url)):
            daemon.runtimes[GroupId(name)] = a_runtime(name, NotifyUrl(url=url, secret=SecretRef(env="KEY")))
            daemon.saw(GroupCondition.ERROR, name)
        async with asyncio.timeout(PATIENT):
            await daemon.notifier.round()
            while not receiver.got:  # noqa: ASYNC110 another lane hangs meanwhile
                await asyncio.sleep(0.001)
        await daemon.notifier.stop()
        await notification_sender.close()
        daemon.store.close()

    with silent_server(None) as hanging, Receiver.running() as receiver:
        asyncio.run(run(hanging, receiver))
    assert [got.headers["X-Trimtab-Id"] for got in receiver.got] == ["worker.1700000000000.error.entered"]


def test_notices_of_a_target_that_the_file_no_longer_names_keep_no_others_waiting(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        assert isinstance(daemon.notification_sender, ScriptedSender)
        daemon.notification_sender.answers = [DOWN]
        for name, target in (("web", OTHER), ("mail", OTHER), ("worker", SLACK)):
            daemon.runtimes[GroupId(name)] = a_runtime(name, target)
        await daemon.rounds()

    monkeypatch.setattr(notifying, "_BATCH", 1)
    daemon.store.file_notices(tuple(a_filed(a_notice(name)) for name in ("web", "mail", "worker")))
    asyncio.run(run())
    assert daemon.notification_sender.tried == [(OTHER, ENTERED), (SLACK, "worker.1700000000000.error.entered")]


def test_notices_wait_for_the_target_that_the_file_names_and_not_for_the_one_before(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        assert isinstance(daemon.notification_sender, ScriptedSender)
        daemon.notification_sender.answers = [DOWN]
        await daemon.rounds(1)
        daemon.runtimes[GroupId("worker")] = a_runtime("worker", OTHER)
        await daemon.rounds(2)

    monkeypatch.setattr(notifying, "_BATCH", 1)
    daemon.store.file_notices((a_filed(a_notice()), a_filed(a_notice("worker"))))
    asyncio.run(run())
    assert daemon.notification_sender.tried == [(PAGER, ENTERED), (OTHER, "worker.1700000000000.error.entered")]


def test_a_notice_that_is_just_being_sent_is_not_sent_to_the_target_that_the_file_names_now(daemon: Daemon) -> None:
    async def run() -> None:
        assert isinstance(daemon.notification_sender, ScriptedSender)
        daemon.notification_sender.hold = asyncio.Event()
        daemon.runtimes[WEB] = a_runtime("web", OTHER)
        daemon.saw(GroupCondition.ERROR)
        await daemon.notifier.round()
        daemon.runtimes[WEB] = a_runtime("web", PAGER)
        for _ in range(3):
            await daemon.notifier.round()
        daemon.notification_sender.hold.set()
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.tried == [(OTHER, ENTERED)]


# Decisions


def sends_decisions(daemon: Daemon, *, on: bool = True) -> None:
    runtime = daemon.runtimes[WEB]
    group = runtime.definition.group
    assert group.notify is not None
    notify = replace(group.notify, decisions=on)
    runtime.definition = replace(runtime.definition, group=replace(group, notify=notify))


def decides(
    daemon: Daemon, sizes: tuple[int, int], *, later: float = 1.0, notified: bool = True, ago: float = 0.0
) -> None:
    """A decision is written down; unless the daemon is killed right then, the notifier hears of it.

    ``ago``: since the poll began on which it was made.
    """
    daemon.clock.advance(later)
    now = Instant(daemon.clock() - ago)
    answers = (an_answer(request=f"r{sizes[1]}"),)
    explanation = an_explanation(now, reason=Reason.SCALED_OUT, sizes=sizes, answers=answers)
    daemon.store.record((a_tick(explanation, state=full_state()),))
    if notified:
        daemon.notifier.decided(
            Decision(
                group=WEB, at=Moment(wall=now, steady=Monotonic(now)), reason=Reason.SCALED_OUT, desired_from=sizes[0],
                desired_to=sizes[1], answers=(), winner=None, advised_to=None, state=GroupState(desired=sizes[1]),
            )
        )  # fmt: skip


def test_changes_of_size_are_sent_in_their_order_if_the_file_says_so(daemon: Daemon) -> None:
    async def run() -> None:
        sends_decisions(daemon)
        decides(daemon, (3, 5))
        decides(daemon, (5, 6))
        await daemon.rounds()
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == ["web.1700000001000.desired.5", "web.1700000002000.desired.6"]


def test_the_decision_of_a_tick_is_sent_though_another_was_made_and_sent_while_it_polled(daemon: Daemon) -> None:
    async def run() -> None:
        sends_decisions(daemon)
        decides(daemon, (3, 4))
        await daemon.rounds()
        decides(daemon, (4, 5), later=10.0)
        await daemon.rounds()
        decides(daemon, (5, 6), ago=5.0)
        await daemon.rounds()

    asyncio.run(run())
    assert [each.rpartition(".")[2] for each in daemon.notification_sender.ids] == ["4", "5", "6"]


def test_without_the_key_no_decision_is_sent_and_none_from_before_it(daemon: Daemon) -> None:
    async def run() -> None:
        decides(daemon, (3, 5))
        await daemon.rounds()
        sends_decisions(daemon)
        decides(daemon, (5, 6))
        await daemon.rounds()

    asyncio.run(run())
    assert daemon.notification_sender.ids == ["web.1700000002000.desired.6"]


def test_a_decision_that_a_killed_daemon_made_is_sent_by_the_next_one(daemon: Daemon) -> None:
    async def run() -> None:
        sends_decisions(daemon)
        decides(daemon, (3, 5))
        await daemon.rounds()
        decides(daemon, (5, 6), notified=False)
        again = daemon.restarted()
        await again.notifier.recall()
        await again.rounds()
        again.store.close()

    asyncio.run(run())
    assert daemon.notification_sender.ids == ["web.1700000001000.desired.5", "web.1700000002000.desired.6"]


def test_decisions_are_sent_after_a_clock_that_was_set_back(daemon: Daemon) -> None:
    async def run() -> None:
        sends_decisions(daemon)
        decides(daemon, (3, 5))
        await daemon.rounds()
        daemon.clock.advance(-3600)
        daemon.notifier.follow(-3600)
        decides(daemon, (5, 6))
        await daemon.rounds()

    asyncio.run(run())
    assert len(daemon.notification_sender.ids) == 2


def test_a_decision_that_does_not_arrive_is_tried_again_before_later_ones(daemon: Daemon) -> None:
    async def run() -> None:
        sends_decisions(daemon)
        decides(daemon, (3, 5))
        decides(daemon, (5, 6))
        assert isinstance(daemon.notification_sender, ScriptedSender)
        daemon.notification_sender.answers = [DOWN]
        await daemon.rounds()
        daemon.clock.advance(10)
        await daemon.rounds()

    asyncio.run(run())
    first, second = "web.1700000001000.desired.5", "web.1700000002000.desired.6"
    assert daemon.notification_sender.ids == [first, first, second]


def test_decisions_from_while_the_file_switched_them_off_are_sent_after_no_restart(daemon: Daemon) -> None:
    async def run() -> None:
        sends_decisions(daemon)
        decides(daemon, (3, 5))
        await daemon.rounds()
        sends_decisions(daemon, on=False)
        await daemon.rounds()
        decides(daemon, (5, 6), later=1e6)
        await daemon.rounds()
        sends_decisions(daemon)
        again = daemon.restarted()
        await again.notifier.recall()
        await again.rounds()
        decides(again, (6, 7))
        await again.rounds()
        again.store.close()

    asyncio.run(run())
    assert [each.rpartition(".")[2] for each in daemon.notification_sender.ids] == ["5", "7"]
