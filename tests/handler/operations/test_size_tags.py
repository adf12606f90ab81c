from __future__ import annotations

import pytest

from handler.operations.size_tags import NEVER, expected_revision, size_tag


@pytest.mark.parametrize(
    ("header", "revision"),
    [
        pytest.param(None, None, id="no header"),
        pytest.param("*", None, id="any"),
        pytest.param('"7.4"', 7, id="the size's"),
        pytest.param('"7.4.digest_-"', 7, id="the group's"),
        pytest.param('"6.4" , "7.4"', 7, id="one of several"),
        pytest.param('"6.4"', NEVER, id="an older revision"),
        pytest.param('"7.5"', NEVER, id="the same revision of a group that was declared anew"),
        pytest.param('W/"7.4"', NEVER, id="weak"),
        pytest.param("7.4", NEVER, id="no tag"),
        pytest.param('"7.40"', NEVER, id="longer"),
        pytest.param('"٧.4"', NEVER, id="other digits"),
        pytest.param("", NEVER, id="empty"),
    ],
)
def test_a_header_expects_the_present_revision_or_one_that_no_group_has(header: str, revision: int | None) -> None:
    assert expected_revision(header, 7, 4) == revision


def test_the_tag_of_a_size_is_the_one_that_is_expected() -> None:
    for desired in (None, 0, 12):
        assert expected_revision(size_tag(3, desired), 3, desired) == 3
