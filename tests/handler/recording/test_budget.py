from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from config.model.observability import Recording
from config.units import Instant
from handler.recording.budget import Remove, Thin, next_step
from handler.recording.files import HOUR, Form, Segment
from tests.support.recording import NINE

SETTINGS = Recording(budget=1000, whole=24 * 3600.0)
NOW = Instant(NINE + 10 * HOUR + 60)


def whole(hours_ago: int, number: int, *, run: int = 0) -> Segment:
    return Segment(run=run, first=int(NOW) - hours_ago * HOUR, number=number, form=Form.WHOLE)


def thin(hours_ago: int, number: int) -> Segment:
    first = (int(NOW) - hours_ago * HOUR) // HOUR * HOUR
    return Segment(run=0, first=first, number=number, form=Form.THIN, resolution=300.0)


def a_log(number: int) -> Segment:
    return Segment(run=0, first=int(NOW), number=number, form=Form.LOG)


def test_within_the_budget_nothing_is_done() -> None:
    assert next_step({whole(1, 0): 400, a_log(1): 100}, SETTINGS, 100, NOW) is None


def test_hours_are_thinned_when_they_are_old_enough_even_with_room() -> None:
    old, young = whole(26, 0), whole(3, 1)

    assert next_step({old: 1, young: 1}, SETTINGS, 0, NOW) == Thin(segments=(old,))


def test_all_files_of_an_hour_are_thinned_together() -> None:
    files = [whole(2, number) for number in (3, 1, 2)]

    step = next_step(dict.fromkeys(files, 400), SETTINGS, 0, NOW)

    assert step == Thin(segments=tuple(sorted(files, key=lambda each: each.number)))


def test_the_oldest_hour_is_thinned_before_anything_is_removed() -> None:
    assert next_step({thin(9, 0): 100, whole(5, 1): 500, whole(4, 2): 500}, SETTINGS, 0, NOW) == Thin(
        segments=(whole(5, 1),)
    )


def test_the_oldest_thinned_hour_goes_when_they_take_half_of_the_budget() -> None:
    sizes = {thin(9, 0): 300, thin(8, 1): 300, whole(5, 2): 500}

    assert next_step(sizes, SETTINGS, 0, NOW) == Remove(segment=thin(9, 0))


def test_the_hour_that_is_being_written_is_removed_last() -> None:
    current, log = whole(0, 1), a_log(2)

    assert next_step({thin(1, 0): 10, current: 900, log: 200}, SETTINGS, 0, NOW) == Remove(segment=thin(1, 0))
    assert next_step({current: 900, log: 200}, SETTINGS, 0, NOW) == Remove(segment=current)
    assert next_step({log: 2000}, SETTINGS, 0, NOW) is None


def test_an_hour_with_a_log_waits_until_that_is_closed() -> None:
    waiting = Segment(run=0, first=int(NOW) - 2 * HOUR, number=1, form=Form.LOG)

    assert next_step({whole(2, 0): 900, waiting: 200}, SETTINGS, 0, NOW) == Remove(segment=whole(2, 0))


def test_hours_that_a_wrong_clock_put_into_the_future_are_over_too() -> None:
    future, present = whole(-50, 0), whole(5, 1, run=1)

    assert next_step({future: 600, present: 600}, SETTINGS, 0, NOW) == Thin(segments=(future,))


def test_such_hours_do_not_keep_others_from_being_thinned_for_their_age() -> None:
    future, old = whole(-50, 0), whole(30, 1, run=1)

    assert next_step({future: 1, old: 1}, SETTINGS, 0, NOW) == Thin(segments=(old,))


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(Form), st.integers(1, 300)), max_size=30))
def test_step_by_step_everything_but_logs_comes_within_the_budget(files: list[tuple[int, Form, int]]) -> None:
    sizes = {
        Segment(
            run=0,
            first=int(NOW) - ago * HOUR,
            number=number,
            form=form,
            resolution=300.0 if form is Form.THIN else 0.0,
        ): size
        for number, (ago, form, size) in enumerate(files)
    }
    for _ in range(200):
        match next_step(sizes, SETTINGS, 50, NOW):
            case Thin(segments=segments):
                size = sum(sizes.pop(each) for each in segments)
                last = segments[-1]
                made = Segment(run=0, first=last.hour * HOUR, number=last.number, form=Form.THIN, resolution=300.0)
                sizes[made] = max(size // 10, 1)
            case Remove(segment=segment):
                del sizes[segment]
            case None:
                break
    logs = {segment: size for segment, size in sizes.items() if segment.form is Form.LOG}
    assert sum(sizes.values()) + 50 <= max(SETTINGS.budget, sum(logs.values()) + 50)
    assert all(
        each.form is not Form.WHOLE or each.until + SETTINGS.whole > NOW or _has_log(each, logs) for each in sizes
    )


def _has_log(segment: Segment, logs: dict[Segment, int]) -> bool:
    return any((log.run, log.hour) == (segment.run, segment.hour) for log in logs)
