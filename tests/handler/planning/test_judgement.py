"""Which losses are believed: one table a rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.units import Instant, MemberName
from handler.planning.evidence import Loss, LossEvidence, Saying, Testimony
from handler.planning.judgement import LossKind, LossTerms, LossVerdict, judge

NOW = Instant(10_000.0)
TERMS = LossTerms(now=NOW, interval=30.0)
NAMES = [MemberName(f"web-{number}") for number in range(10)]
BELIEVED, HEARD, TOO_SOON, NO_SOURCE, OTHERS_UNSEEN = LossVerdict
HERE, SILENT, UNCLEAR = Saying


def ago(seconds: float) -> Instant:
    return Instant(NOW - seconds)


def a_testimony(
    says: Saying = SILENT,
    *,
    heard: float | None = 120,
    silent: float | None = 90,
    answers: bool = True,
    by: str = "snmp",
) -> Testimony:
    return Testimony(
        source=by,
        heard_at=None if heard is None else ago(heard),
        says=says,
        answers=answers,
        silent_since=None if silent is None or says is not SILENT else ago(silent),
    )


def verdicts(
    many: int,
    *testimonies: Testimony,
    how: LossKind = LossKind.VANISHED,
    terms: LossTerms = TERMS,
    lost: float = 100,
    **losses: object,
) -> set[LossVerdict]:
    """What is made of so many members that were all lost at once, all with the same evidence."""
    loss = Loss(since=ago(lost), testimonies=testimonies)
    known = LossEvidence(members=dict.fromkeys(NAMES[:many], loss), **losses)  # type: ignore[arg-type]
    return set(judge(dict.fromkeys(NAMES[:many], how), known, terms, NOW).values())


@pytest.mark.parametrize("how", LossKind)
@pytest.mark.parametrize("many", [1, 2])
def test_one_or_two_are_believed_without_any_source(many: int, how: LossKind) -> None:
    assert verdicts(many, how=how) == {BELIEVED}


@pytest.mark.parametrize("how", LossKind)
def test_of_many_nothing_is_believed_without_a_source(how: LossKind) -> None:
    assert verdicts(3, how=how) == {NO_SOURCE}


@pytest.mark.parametrize(
    ("testimonies", "verdict"),
    [
        pytest.param([a_testimony()], BELIEVED, id="silent for three intervals"),
        pytest.param([a_testimony(silent=89.9)], TOO_SOON, id="silent for less"),
        pytest.param([a_testimony(silent=None)], BELIEVED, id="silent since it was heard, which is long enough"),
        pytest.param([a_testimony(silent=None, heard=89)], TOO_SOON, id="heard less than three intervals ago"),
        pytest.param([a_testimony(HERE)], HEARD, id="heard"),
        pytest.param([a_testimony(HERE, by="probe"), a_testimony()], HEARD, id="heard by one source of two"),
        pytest.param(
            [a_testimony(), a_testimony(by="probe", silent=60)], TOO_SOON, id="one of two has not been silent for long"
        ),
        pytest.param(
            [a_testimony(), a_testimony(by="probe", answers=False)], BELIEVED, id="one of two does not answer itself"
        ),
        pytest.param([a_testimony(answers=False)], NO_SOURCE, id="the only source does not answer itself"),
        pytest.param([a_testimony(UNCLEAR)], NO_SOURCE, id="the only source cannot tell"),
        pytest.param([a_testimony(heard=None)], NO_SOURCE, id="never heard, as after a restart"),
        pytest.param([a_testimony(heard=400)], BELIEVED, id="heard ten intervals before it was lost"),
        pytest.param([a_testimony(heard=400.1)], NO_SOURCE, id="heard longer before"),
        pytest.param(
            [a_testimony(heard=400.1), a_testimony(by="probe")], BELIEVED, id="the source that knew it counts alone"
        ),
    ],
)
@pytest.mark.parametrize("how", LossKind)
def test_of_many_each_needs_a_source_that_knew_it_works_and_is_silent(
    testimonies: list[Testimony], verdict: LossVerdict, how: LossKind
) -> None:
    assert verdicts(3, *testimonies, how=how) == {verdict}


def test_a_member_that_answers_a_source_is_not_gone_whatever_a_person_orders() -> None:
    ordered = replace(TERMS, accept_all=True)
    assert verdicts(1, a_testimony(HERE)) == verdicts(1, a_testimony(HERE), terms=ordered) == {HEARD}
    assert verdicts(1, a_testimony(HERE), proof=True) == {BELIEVED}
    assert verdicts(1, a_testimony(HERE), terms=replace(TERMS, accepted=NAMES)) == {BELIEVED}


@pytest.mark.parametrize("how", [LossKind.BROKEN, LossKind.DELETING])
def test_one_or_two_that_the_cloud_calls_broken_or_going_may_still_be_heard(how: LossKind) -> None:
    assert verdicts(2, a_testimony(HERE), how=how) == {BELIEVED}


def test_a_person_s_word_is_enough_for_what_no_source_hears() -> None:
    assert verdicts(9, terms=replace(TERMS, accept_all=True)) == {BELIEVED}
    named = judge(dict.fromkeys(NAMES, LossKind.VANISHED), LossEvidence(), replace(TERMS, accepted=NAMES[:1]), NOW)
    assert [name for name, verdict in named.items() if verdict is BELIEVED] == NAMES[:1]


def test_a_not_found_that_is_proof_needs_no_source_and_proves_nothing_else() -> None:
    assert verdicts(9, proof=True) == {BELIEVED}
    assert verdicts(9, how=LossKind.BROKEN, proof=True) == {NO_SOURCE}


@pytest.mark.parametrize(
    ("elsewhere", "verdict"),
    [
        pytest.param((100.0,), BELIEVED, id="two in all"),
        pytest.param((100.0, 100.0), NO_SOURCE, id="three in all"),
        pytest.param((190.0, 10.0), NO_SOURCE, id="all within three intervals of it"),
        pytest.param((191.0, 100.0), BELIEVED, id="one of them was lost long before"),
    ],
)
def test_losses_of_the_cloud_s_other_groups_count_too(elsewhere: tuple[float, ...], verdict: LossVerdict) -> None:
    assert verdicts(1, elsewhere=tuple(sorted(map(ago, elsewhere)))) == {verdict}


@pytest.mark.parametrize(
    ("seen", "lost", "verdict"),
    [
        (None, 5.0, BELIEVED),
        (ago(5), 5.0, BELIEVED),
        (ago(6), 5.0, OTHERS_UNSEEN),
        (Instant(float("-inf")), 29.9, OTHERS_UNSEEN),
        (Instant(float("-inf")), 30.0, BELIEVED),
    ],
)
def test_a_single_loss_waits_for_a_look_at_the_cloud_s_other_groups_and_not_for_ever(
    seen: Instant | None, lost: float, verdict: LossVerdict
) -> None:
    assert verdicts(1, lost=lost, others_seen=seen) == {verdict}


@pytest.mark.parametrize(("apart", "last"), [(95.0, BELIEVED), (40.0, NO_SOURCE)])
def test_losses_that_were_acted_upon_count_with_the_next_one_only_if_they_were_not_long_ago(
    apart: float, last: LossVerdict
) -> None:
    lost = {NAMES[place]: Loss(since=ago(apart * place), believed=place > 0) for place in range(5)}
    assert judge(dict.fromkeys(lost, LossKind.VANISHED), LossEvidence(members=lost), TERMS, NOW)[NAMES[0]] is last


def test_losses_that_are_still_undecided_count_with_the_next_one_however_long_ago_they_were() -> None:
    lost = {NAMES[place]: Loss(since=ago(3600.0 * place)) for place in range(3)}
    assert set(judge(dict.fromkeys(lost, LossKind.VANISHED), LossEvidence(members=lost), TERMS, NOW).values()) == {
        NO_SOURCE
    }


def test_however_short_the_interval_a_minute_is_at_once() -> None:
    assert verdicts(1, terms=replace(TERMS, interval=5.0), elsewhere=(ago(160), ago(40))) == {NO_SOURCE}


def test_those_that_are_merely_missing_count_with_those_that_are_lost() -> None:
    known = LossEvidence(members={name: Loss(since=NOW) for name in NAMES[:3]})
    assert judge({NAMES[0]: LossKind.VANISHED}, known, TERMS, NOW) == {NAMES[0]: NO_SOURCE}


def test_what_was_acted_upon_stays_believed_when_more_are_lost() -> None:
    lost = {name: Loss(since=NOW, believed=name == NAMES[0]) for name in NAMES[:3]}
    answer = judge(dict.fromkeys(lost, LossKind.DELETING), LossEvidence(members=lost), TERMS, NOW)
    assert answer == {NAMES[0]: BELIEVED, NAMES[1]: NO_SOURCE, NAMES[2]: NO_SOURCE}


def test_a_world_that_says_nothing_of_its_losses_is_judged_as_lost_now() -> None:
    assert set(judge(dict.fromkeys(NAMES[:2], LossKind.VANISHED), LossEvidence(), TERMS, NOW).values()) == {BELIEVED}
    assert set(judge(dict.fromkeys(NAMES[:3], LossKind.VANISHED), LossEvidence(), TERMS, NOW).values()) == {NO_SOURCE}
