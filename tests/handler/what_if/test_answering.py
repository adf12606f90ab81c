"""Questions about other settings are answered by replays over a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from config.document.places import read_places
from config.errors import Refused
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant
from handler.replay.events import Course, ReplayEvent
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.running import no_progress
from handler.replay.scrapes import ticks_by_group
from handler.tuning.preparing import Recording
from handler.what_if.answering import Answerer
from handler.what_if.question import Answer, Question
from tests.support.replay import START, WEB, Row, flat, happened, written
from tests.support.tuning import SHARED

ABOVE = "conditions.busy.above"
NOTHING: Mapping[str, str] = {}


def a_question(values: Mapping[str, str] = NOTHING, *, text: str = SHARED, span: float = 1800.0) -> Question:
    return Question(
        state=Path("/nowhere"),
        reading=replace(read_places(text, "web.yaml"), keys={}, values={}),
        digest=parse(text, "web.yaml").digest,
        group=WEB,
        since=Instant(START),
        until=Instant(START + span),
        values=values,
    )


def an_answerer(series: Path, events: Iterable[ReplayEvent] = ()) -> tuple[Answerer, list[Question]]:
    """What was read stands in the list."""
    reads: list[Question] = []
    courses = {WEB: Course(events)} if events else dict[GroupId, Course]()

    def read(question: Question, catalogue: Catalogue) -> tuple[Recording, tuple[str, ...]]:
        reads.append(question)
        samples, caveats = read_series(series, catalogue, (WEB,), ReplaySpan())
        return Recording(ticks=ticks_by_group(catalogue, samples), courses=courses), caveats

    return Answerer(read), reads


def answered(rows: Iterable[Row], folder: Path, question: Question) -> Answer:
    answerer, _ = an_answerer(written(folder / "series.csv", rows))
    return answerer.answer(question, no_progress)


def test_a_lower_threshold_shows_when_and_why_the_fleet_would_have_grown(tmp_path: Path) -> None:
    # 2 members at 70 % for twenty minutes: above 80 nothing happens, above 60 the fleet grows.
    answer = answered(flat(70, 40), tmp_path, a_question({ABOVE: "60"}))

    (difference,) = answer.differences
    assert (difference.was, difference.would_be) == (2, 3)
    assert difference.cause is not None
    assert (difference.cause.policy, difference.cause.desired_to) == ("out", 3)
    assert (answer.real, answer.declared.changes, answer.asked.changes) == (answer.declared, 0, 1)
    assert answer.asked.hours > answer.declared.hours
    assert answer.would_be.sizes[0] == 2
    assert answer.would_be.sizes[-1] == 3


def test_the_declared_setting_comes_to_what_it_came_to(tmp_path: Path) -> None:
    answer = answered(flat(70, 40), tmp_path, a_question())

    assert answer.differences == ()
    assert answer.asked == answer.declared
    assert {each.name: each.asked for each in answer.tunables}[ABOVE] == "80"


def test_a_recording_is_read_once_for_many_questions(tmp_path: Path) -> None:
    answerer, reads = an_answerer(written(tmp_path / "series.csv", flat(70, 40)))
    for above in ("60", "65", "70"):
        answerer.answer(a_question({ABOVE: above}), no_progress)
    answerer.answer(a_question(text=SHARED.replace("above: 80", "above: 85")), no_progress)
    assert len(reads) == 1

    answerer.answer(a_question(span=900.0), no_progress)
    assert len(reads) == 2


def test_conditions_are_measured_as_the_recorded_fleet_had_them(tmp_path: Path) -> None:
    answer = answered(flat(70, 40), tmp_path, a_question({ABOVE: "60"}))

    busy = next(each for each in answer.conditions if each.parameter == ABOVE)
    assert (busy.threshold, busy.unit) == (60.0, "percent")
    assert {value for value in busy.high if value is not None} == {70.0}
    assert len(busy.at) == 40


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({ABOVE: "much"}, "conditions.busy.above: 'much'; expected a value such as 80"),
        ({ABOVE: "nan"}, "is no number"),
        ({"conditions.lazy.above": "1"}, "conditions.lazy.above is not written"),
        ({"policies.out.duration": "10s"}, "duration"),
    ],
    ids=["no number", "not a number", "unknown", "against the rules of the file"],
)
def test_a_value_that_the_file_could_not_have_is_refused_in_words(
    values: dict[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=reason):
        answered(flat(70, 40), tmp_path, a_question(values))


def test_what_the_recording_lacks_is_said(tmp_path: Path) -> None:
    rows = [row for row in flat(70, 40) if not 300 <= row[0] < 600]
    answer = answered(rows, tmp_path, a_question(span=86_400.0))
    short = answered(
        [(at + 43_200.0, name, value) for at, name, value in flat(70, 40)], tmp_path, a_question(span=86_400.0)
    )

    assert any(caveat.startswith("samples are missing for 5m in 1 places") for caveat in answer.caveats)
    assert any("the recording has 20m of the 1d that were asked for" in caveat for caveat in short.caveats)
    assert None in answer.was.sizes


def test_changes_of_the_recorded_fleet_are_those_of_its_events(tmp_path: Path) -> None:
    events = [
        happened(0, desired_from=None, desired_to=2),
        happened(300, desired_from=2, desired_to=4),
        happened(600, desired_from=4, desired_to=3),
    ]
    answerer, _ = an_answerer(written(tmp_path / "series.csv", flat(50, 40)), events)
    answer = answerer.answer(a_question(), no_progress)

    assert (answer.real.changes, answer.real.reversals) == (2, 1)
    assert [size for size in answer.was.sizes if size is not None][:3] == [2, 4, 3]


def test_work_that_no_one_waits_for_ends(tmp_path: Path) -> None:
    answerer, _ = an_answerer(written(tmp_path / "series.csv", flat(70, 40)))

    def stop(done: int, of: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        answerer.answer(a_question(), stop)
    assert answerer.answer(a_question(), no_progress).differences == ()
