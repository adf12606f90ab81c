"""A sender of alerts asks a standby while holders are killed: each alert is carried out, and none of them twice."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.support.hooks import alertmanager, an_alert
from tests.support.nightly import nightly
from tests.support.waiting import until
from tests.support.workers import Worker, WorkersBed, a_bed, give_key

pytestmark = [pytest.mark.real("postgres"), nightly]
_ROUNDS = int(os.environ.get("TRIMTAB_NIGHTLY", "0")) // 1000 or 1
_ALERTS = "alerts: {slow: {match: {alertname: WebSlow}, groups: [web], floor: 2, ttl: 2s}}\n"
"""Few last at once: a group keeps only so many apart."""
_AT_ONCE = 4
_EVERY = 0.5
_WATCH = """
CREATE TABLE watch.signals (key text);
CREATE FUNCTION watch.signal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.signals VALUES (NEW.key); RETURN NEW; END $$;
CREATE TRIGGER signalled AFTER INSERT OR UPDATE ON signals FOR EACH ROW EXECUTE FUNCTION watch.signal();
"""


class Sender:
    """Sends alerts to one worker at a time, each of them again until it is accepted, as Alertmanager does."""

    def __init__(self, token: str, target: Worker) -> None:
        self.target = target
        self.accepted: set[str] = set()
        self.stored: set[str] = set()
        """Of the accepted ones, those that were answered before a holder had carried them out."""
        self.repeated: set[str] = set()
        self._path = f"/hooks/alerts/{token}"
        self._numbers = itertools.count()
        self._ends = threading.Event()

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Send while the block runs."""
        threads = [threading.Thread(target=self._send) for _ in range(_AT_ONCE)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ends.set()
            for thread in threads:
                thread.join()

    def accepts(self, more: int) -> None:
        """Wait until so many more were accepted."""
        wanted = len(self.accepted) + more
        until(lambda: len(self.accepted) >= wanted, every=0.05)

    def _send(self) -> None:
        while not self._ends.wait(_EVERY):
            fingerprint = f"{next(self._numbers):016x}"
            while not self._is_accepted(fingerprint) and not self._ends.wait(0.5):
                self.repeated.add(fingerprint)

    def _is_accepted(self, fingerprint: str) -> bool:
        try:
            answer = self.target.ask("POST", self._path, alertmanager(an_alert(fingerprint=fingerprint)))
        except OSError:
            return False
        if answer.status != 202:
            return False
        self.accepted.add(fingerprint)
        if answer.json.get("stored"):
            self.stored.add(fingerprint)
        return True


def test_no_alert_that_reaches_a_standby_while_holders_are_killed_is_lost_or_carried_out_twice() -> None:
    with a_bed() as bed:
        for name in "abc":
            worker = bed.worker(name)
            worker.declare(bed.model + _ALERTS)
            give_key(worker)
            worker.start()
        holder = bed.holder()
        bed.watch()
        bed.rows(_WATCH)
        sender = Sender(holder.json("hook", "new", "alertmanager")["token"], a_standby(bed, holder))
        with sender.sending():
            for _ in range(_ROUNDS):
                holder = bed.holder()
                sender.target = a_standby(bed, holder)
                sender.accepts(5)
                holder.signal(signal.SIGKILL)
                until(lambda killed=holder: not killed.runs)
                bed.other(holder)
                sender.accepts(5)
                holder.start()
        until(lambda: bed.rows("SELECT count(*) FROM relayed WHERE taken_up IS NULL") == [(0,)], every=0.1)
        until(lambda: sender.accepted <= set(carried_out(bed)), every=0.1)
        assert sender.stored, "no alert came while no worker held the lease"
        assert [key for key, times in carried_out(bed).items() if times > 1 and key not in sender.repeated] == []
        assert bed.stale_marks() == []


def a_standby(bed: WorkersBed, holder: Worker) -> Worker:
    return next(worker for worker in bed.workers.values() if worker is not holder and worker.runs)


def carried_out(bed: WorkersBed) -> dict[str, int]:
    """How often each alert began."""
    rows = bed.rows("SELECT key, count(*) FROM watch.signals GROUP BY key")
    return {str(key): int(times) for key, times in rows}
