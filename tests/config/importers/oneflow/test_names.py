from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from config.importers.oneflow.names import group_names

roles = st.from_regex(r"[A-Za-z0-9_]{1,80}", fullmatch=True) | st.sampled_from(
    ["_", "a" * 41, "A" * 41, "a" * 42, "a_b"]
)


@given(st.lists(roles, max_size=12, unique=True))
def test_every_role_has_a_groups_name_of_its_own(roles: list[str]) -> None:
    names = group_names(roles)

    assert [*names] == roles
    assert len(set(names.values())) == len(roles)
    assert all(re.fullmatch("[a-z][a-z0-9-]{0,39}", name) for name in names.values())


def test_a_name_that_is_cut_and_taken_is_numbered_within_its_length() -> None:
    names = group_names(["a" * 40, "A" * 40, "a" * 50])

    assert [name[-3:] for name in names.values()] == ["aaa", "a-2", "a-3"]
