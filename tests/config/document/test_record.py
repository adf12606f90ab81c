from __future__ import annotations

import pytest

from config.load import parse
from config.model.observability import DEFAULTS, Recording


def test_nothing_is_recorded_unless_the_file_says_so() -> None:
    assert parse("groups: {}", "a.yaml").record is None


def test_an_empty_section_records_with_the_defaults() -> None:
    assert parse("record: {}", "a.yaml").record == DEFAULTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{budget: 500MiB}", Recording(budget=500 << 20)),
        ("{budget: 1.5 GB}", Recording(budget=1_500_000_000)),
        ("{budget: 2TiB, whole: 36h, then: 1h}", Recording(budget=2 << 40, whole=129_600.0, then=3600.0)),
        ("{then: 60s}", Recording(then=60.0)),
    ],
    ids=str,
)
def test_sizes_and_spans_are_written_as_people_say_them(text: str, expected: Recording) -> None:
    assert parse(f"record: {text}", "a.yaml").record == expected


def test_recording_is_no_part_of_the_configuration_hash() -> None:
    assert parse("record: {}", "a.yaml").digest == parse("groups: {}", "b.yaml").digest
