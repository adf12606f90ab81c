"""What the database saw of its workers, whatever they believe: who had the lease, wrote, judged and decided, and when.

Triggers note it by the clock of the machine, which no worker's clock is, in the transactions of the workers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from handler.store.checkpoint_codec import head_in
from trigger.conditions.timers import LONGEST_GAP

WATCH = """
CREATE SCHEMA watch;
CREATE TABLE watch.leases (epoch bigint, worker text, at double precision);
CREATE TABLE watch.marks (mark text, epoch bigint);
CREATE TABLE watch.ticks (at double precision, body bytea);
CREATE TABLE watch.firings (number serial, decided double precision, of text, by text);
CREATE FUNCTION watch.now() RETURNS double precision LANGUAGE sql AS $$
  SELECT date_part('epoch', clock_timestamp()) $$;
CREATE FUNCTION watch.lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.leases VALUES (NEW.epoch, NEW.worker, watch.now()); RETURN NEW; END $$;
CREATE FUNCTION watch.mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.marks SELECT NEW.value, epoch FROM public.lease; RETURN NEW; END $$;
CREATE FUNCTION watch.tick() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.ticks VALUES (watch.now(), NEW.body); RETURN NEW; END $$;
CREATE FUNCTION watch.fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO watch.firings (decided, of, by) VALUES (NEW.at, NEW.group_id, NEW."by"); RETURN NEW; END $$;
CREATE TRIGGER taken AFTER UPDATE ON lease FOR EACH ROW WHEN (OLD.epoch <> NEW.epoch) EXECUTE FUNCTION watch.lease();
CREATE TRIGGER marked AFTER UPDATE ON meta FOR EACH ROW WHEN (NEW.name = 'commit') EXECUTE FUNCTION watch.mark();
CREATE TRIGGER ticked AFTER INSERT OR UPDATE ON checkpoints FOR EACH ROW WHEN (NEW.ring = 0)
  EXECUTE FUNCTION watch.tick();
CREATE TRIGGER fired AFTER INSERT ON decisions FOR EACH ROW
  WHEN (NEW.desired_to <> NEW.desired_from) EXECUTE FUNCTION watch.fired();
"""


@dataclass(frozen=True, slots=True)
class Hold:
    """What a policy held after a tick, by the clock that all workers share."""

    since: float
    last: float


@dataclass(frozen=True, slots=True)
class Tick:
    """An evaluation of some groups that was written."""

    at: float
    """When it was written, by the database's clock."""
    groups: frozenset[str]
    interval: float
    holds: Mapping[tuple[str, str], Hold]
    """Of group and policy."""


@dataclass
class Ticks:
    """Every tick of one installation, in turn."""

    seen: list[Tick] = field(default_factory=list)

    def take(self, rows: Iterable[tuple[float, bytes]]) -> None:
        """Take in rows of `watch.ticks`."""
        self.seen.extend(_tick(at, bytes(body)) for at, body in rows)
        self.seen.sort(key=lambda tick: tick.at)

    def of(self, group: str, since: float = 0.0) -> list[Tick]:
        """Those of a group, from an instant on."""
        return [tick for tick in self.seen if group in tick.groups and tick.at > since]

    def longest_wait(self, group: str, since: float, interval: float) -> float:
        """The longest time without an evaluation of a group, as far as it is after an instant."""
        near = self.of(group, since - 2 * interval)
        return max(
            (after.at - max(before.at, since) for before, after in pairwise(near) if after.at > since), default=0.0
        )

    def gaps(self, group: str, since: float = 0.0) -> list[tuple[Tick, Tick]]:
        """Two ticks of a group after which it begins anew: more than 1.5 intervals lie between them."""
        return [
            (a, b) for a, b in pairwise(self.of(group, since)) if b.at - a.at > (LONGEST_GAP + _ROUGHLY) * b.interval
        ]

    def clock_errors(self, group: str, policy: str, taken: Sequence[float]) -> dict[float, float]:
        """Return how far behind the database's clock each term of the lease took it to be, by when a policy held last.

        A term of one tick does not tell: it may have been written late. None is written before its time.

        Args:
            group: of the policy.
            policy: its conditions are true at each tick, or not known.
            taken: when the lease was taken, which is what the result tells its terms by.
        """
        terms: dict[float, list[float]] = {}
        for before, after in pairwise(self.of(group)):
            held, now = before.holds.get((group, policy)), after.holds.get((group, policy))
            if now is not None and (held is None or now.last != held.last):
                term = max((begun for begun in taken if begun <= after.at), default=0.0)
                terms.setdefault(term, []).append(after.at - now.last)
        return {begun: min(late) for begun, late in terms.items() if len(late) > 1 or late[0] < 0}


_ROUGHLY = 0.1
"""In intervals: a tick is written some time after the instant that it counts by."""


def wrong_holds(ticks: Ticks, group: str, policy: str, taken: Sequence[float]) -> list[str]:
    """Where a policy whose conditions are true all the time did not go on, or went on over a gap. See `LONGEST_GAP`.

    A holder that goes on without its database evaluates all the same: only what another term of the lease takes up
    counts by what was written.

    Args:
        ticks: all that were written.
        group: of the policy.
        policy: holds longer than all of this lasts.
        taken: when the lease was taken.
    """
    found = []
    for before, after in pairwise(ticks.of(group)):
        held, now = before.holds.get((group, policy)), after.holds.get((group, policy))
        gap = (after.at - before.at) / after.interval
        goes_on = held is not None and now is not None and now.since == held.since
        was_true = held is not None and before.at - held.last < before.interval * _ROUGHLY  # else it was not known
        if was_true and gap < LONGEST_GAP - _ROUGHLY and not goes_on:
            found.append(
                f"{policy} of {group} lost its hold at {after.at:.2f}, {gap:.2f} intervals after {before.at:.2f}"
            )
        anew = any(before.at < at < after.at for at in taken)
        if anew and gap > LONGEST_GAP + _ROUGHLY and goes_on:
            found.append(f"{policy} of {group} held over a gap of {gap:.2f} intervals at {after.at:.2f}")
    return found


def _tick(at: float, body: bytes) -> Tick:
    head = head_in(body)
    assert head is not None
    holds = {
        (group, policy): Hold(since, last)
        for group, (_, kept) in head["holds"].items()
        for policy, (_, _, since, last) in kept.items()
    }
    return Tick(at, frozenset(head["groups"]), float(head["interval"]), holds)


def late_calls(
    heard: Iterable[tuple[float, str, str]], taken: Sequence[tuple[float, str]]
) -> list[tuple[float, str, str]]:
    """Return calls of workers after another one had taken the lease.

    Args:
        heard: when which worker made which call.
        taken: when which worker took the lease, in turn.
    """
    found, times = [], [at for at, _ in taken]
    for at, worker, method in heard:
        place = bisect_right(times, at)
        if place and taken[place - 1][1] != worker:
            found.append((at, worker, method))
    return found
