"""What is remembered of losses, group by group."""

from __future__ import annotations

from config.units import CloudId, GroupId, Instant, MemberName
from handler.convergence.ledger import LossLedger

WEB, API, BATCH = GroupId("web"), GroupId("api"), GroupId("batch")
PROD, TEST = CloudId("prod"), CloudId("test")
ONE, TWO = MemberName("one"), MemberName("two")


def everywhere(_: MemberName) -> bool:
    return True


def nowhere(_: MemberName) -> bool:
    return False


def test_a_loss_keeps_the_instant_at_which_it_was_first_seen() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    assert ledger.note(WEB, PROD, [ONE, TWO], everywhere, Instant(20)).since == {ONE: 10, TWO: 20}


def test_a_member_that_is_back_is_lost_anew_the_next_time() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    assert ledger.note(WEB, PROD, [], everywhere, Instant(20)).elsewhere == ()
    assert ledger.note(WEB, PROD, [ONE], everywhere, Instant(30)).since == {ONE: 30}


def test_a_loss_that_was_acted_upon_counts_with_those_that_follow_soon() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    assert ledger.note(WEB, PROD, [TWO], nowhere, Instant(20)).elsewhere == (10,)
    assert ledger.note(WEB, PROD, [TWO], nowhere, Instant(2000)).elsewhere == ()


def test_losses_are_counted_for_a_cloud_and_not_for_another() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    ledger.note(BATCH, TEST, [ONE], everywhere, Instant(12))
    noted = ledger.note(API, PROD, [TWO], everywhere, Instant(20))
    assert (noted.elsewhere, noted.others_seen) == ((10,), 10)
    assert ledger.note(BATCH, TEST, [ONE], everywhere, Instant(30)).others_seen is None


def test_a_group_that_was_not_looked_at_yet_is_known_to_be_there() -> None:
    ledger = LossLedger()
    ledger.expect({WEB: PROD, API: PROD})
    assert ledger.note(WEB, PROD, [ONE], everywhere, Instant(10)).others_seen == float("-inf")
    ledger.expect({WEB: PROD})
    assert ledger.note(WEB, PROD, [ONE], everywhere, Instant(20)).others_seen is None
    assert ledger.note(WEB, PROD, [ONE], everywhere, Instant(30)).since == {ONE: 10}
