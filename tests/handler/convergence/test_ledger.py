"""What is remembered of losses, group by group."""

from __future__ import annotations

from collections.abc import Callable, Collection

from config.units import CloudId, GroupId, Instant, MemberName
from handler.convergence.ledger import LossLedger, Noted

WEB, API, BATCH = GroupId("web"), GroupId("api"), GroupId("batch")
PROD, TEST = CloudId("prod"), CloudId("test")
ONE, TWO = MemberName("one"), MemberName("two")


def everywhere(_: MemberName) -> bool:
    return True


def nowhere(_: MemberName) -> bool:
    return False


def noted(
    ledger: LossLedger,
    group: GroupId,
    cloud: CloudId,
    lost: Collection[MemberName],
    at: Instant,
    in_service: Callable[[MemberName], bool] = everywhere,
) -> Noted:
    found = ledger.note(group, cloud, lost, in_service, at)
    assert found is not None
    return found


def test_a_loss_keeps_the_instant_at_which_it_was_first_seen() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    assert noted(ledger, WEB, PROD, [ONE, TWO], Instant(20)).since == {ONE: 10, TWO: 20}


def test_a_member_that_is_back_is_lost_anew_the_next_time() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    assert ledger.note(WEB, PROD, [], everywhere, Instant(20)) is None
    again = noted(ledger, WEB, PROD, [ONE], Instant(30))
    assert (again.since, again.elsewhere) == ({ONE: 30}, ())


def test_a_loss_that_was_acted_upon_counts_with_those_that_follow_soon() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    assert noted(ledger, WEB, PROD, [TWO], Instant(20), nowhere).elsewhere == (10,)
    assert noted(ledger, WEB, PROD, [TWO], Instant(2000), nowhere).elsewhere == ()


def test_losses_are_counted_for_a_cloud_and_not_for_another() -> None:
    ledger = LossLedger()
    ledger.note(WEB, PROD, [ONE], everywhere, Instant(10))
    ledger.note(BATCH, TEST, [ONE], everywhere, Instant(12))
    both = noted(ledger, API, PROD, [TWO], Instant(20))
    assert (both.elsewhere, both.others_seen) == ((10,), 10)
    assert noted(ledger, BATCH, TEST, [ONE], Instant(30)).others_seen is None


def test_a_group_that_was_not_looked_at_yet_is_known_to_be_there() -> None:
    ledger = LossLedger()
    ledger.expect({WEB: PROD, API: PROD})
    assert noted(ledger, WEB, PROD, [ONE], Instant(10)).others_seen == float("-inf")
    ledger.expect({WEB: PROD})
    assert noted(ledger, WEB, PROD, [ONE], Instant(20)).others_seen is None
    assert noted(ledger, WEB, PROD, [ONE], Instant(30)).since == {ONE: 10}
