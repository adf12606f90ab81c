from __future__ import annotations

import pytest

from config.units import AlertId, Instant
from handler.ingest.alerts.episodes import LATE, Episodes
from handler.ingest.alerts.notifications import ReceivedAlert
from handler.ports.alerts import AlertStatus
from tests.support.hooks import firing, resolved
from tests.support.trigger import NOON

SLOW = AlertId("slow")


def at(seconds: float) -> Instant:
    return Instant(NOON + seconds)


def counts(*notifications: tuple[float, ReceivedAlert]) -> list[bool]:
    """Which of these count, each received so many seconds after noon."""
    episodes = Episodes()
    return [
        episodes.fires(SLOW, alert, at(when))
        if alert.status is AlertStatus.FIRING
        else episodes.resolves(SLOW, alert, at(when))
        for when, alert in notifications
    ]


def test_an_alert_that_fires_and_resolves_and_fires_again_counts_each_time() -> None:
    first, again = firing(starts=0.0), firing(starts=100.0)
    assert counts((1.0, first), (61.0, resolved(starts=0.0, ends=60.0)), (101.0, again)) == [True, True, True]


def test_a_firing_that_comes_after_its_own_end_is_late() -> None:
    assert counts((61.0, resolved(starts=0.0, ends=60.0)), (62.0, firing(starts=0.0))) == [True, False]


def test_a_firing_that_began_after_the_end_is_not_late() -> None:
    assert counts((61.0, resolved(starts=0.0, ends=60.0)), (62.0, firing(starts=61.0))) == [True, True]


def test_long_after_an_end_the_same_start_counts_again() -> None:
    """Alertmanager resolves what it no longer hears of, and goes back to the old start when it does."""
    end = resolved(starts=0.0, ends=60.0)
    assert counts((61.0, end), (61.0 + LATE, firing(starts=0.0))) == [True, True]


def test_an_end_of_an_earlier_episode_is_late() -> None:
    again, end = firing(starts=100.0), resolved(starts=0.0, ends=60.0)
    assert counts((1.0, firing(starts=0.0)), (101.0, again), (102.0, end)) == [True, True, False]
    assert counts((101.0, again), (102.0, end), (160.0, resolved(starts=100.0, ends=150.0))) == [True, False, True]


def test_repetitions_count_every_time() -> None:
    end = resolved(starts=0.0, ends=60.0)
    assert counts((1.0, firing()), (2.0, firing()), (61.0, end), (62.0, end)) == [True] * 4


def test_what_says_nothing_of_time_counts() -> None:
    assert counts((1.0, resolved(starts=None, ends=None)), (2.0, firing(starts=None))) == [True, True]


def test_an_end_without_an_instant_ends_what_began_by_its_start() -> None:
    end = resolved(starts=0.0, ends=None)
    assert counts((1.0, firing(starts=0.0)), (2.0, end), (3.0, firing(starts=0.0))) == [True, True, False]


@pytest.mark.parametrize("other", [AlertId("else"), SLOW])
def test_alerts_differ_by_what_is_declared_and_by_fingerprint(other: AlertId) -> None:
    episodes = Episodes()
    assert episodes.resolves(SLOW, resolved(), at(61.0))
    assert episodes.fires(other, firing(fingerprint="ab" if other == SLOW else "5ef77f1f8a3ecf8d"), at(62.0))


def test_the_alert_that_was_received_longest_ago_is_forgotten_first() -> None:
    episodes = Episodes(kept=2)
    for fingerprint in ("a", "b", "a", "c"):
        episodes.resolves(SLOW, resolved(fingerprint=fingerprint), at(61.0))
    late = [not episodes.fires(SLOW, firing(fingerprint=fingerprint), at(62.0)) for fingerprint in ("a", "c", "b")]
    assert late == [True, True, False]


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_an_end_was_received_as_long_ago_as_before_once_our_clock_was_set(step: float) -> None:
    episodes = Episodes()
    episodes.resolves(SLOW, resolved(starts=0.0, ends=60.0), at(61.0))
    episodes.follow(step)
    assert not episodes.fires(SLOW, firing(starts=0.0), at(60.0 + LATE + step))
    assert episodes.fires(SLOW, firing(starts=0.0), at(61.0 + LATE + step))
