"""Ids and documents of the API's entities."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from config.document.entities import canonical, checked_name, derived_id
from config.document.scalars import GroupName, Name
from config.errors import Refused
from config.model.sections import Section

NAMES: TypeAdapter[str] = TypeAdapter(Name)
GROUPS: TypeAdapter[str] = TypeAdapter(GroupName)


@pytest.mark.parametrize(
    ("section", "name", "slug"),
    [
        (Section.GROUPS, "Web shop", "web-shop-"),
        (Section.COUNTERS, "CPU load", "cpu_load_"),
        (Section.GROUPS, "Größe: groß", "groe-gro-"),
        (Section.POLICIES, "3 more", "policy-3-more-"),
        (Section.GROUPS, "店", "group-"),
        (Section.GROUPS, "x" * 80, "x" * 30 + "-"),
    ],
)
def test_an_id_begins_with_the_name_as_far_as_an_id_can_hold_it(section: Section, name: str, slug: str) -> None:
    found = derived_id(section, name, ())
    assert found.startswith(slug)
    assert len(found) == len(slug) + 5


def test_the_same_name_gives_the_same_id_until_that_is_taken() -> None:
    first = derived_id(Section.GROUPS, "web", ())
    assert derived_id(Section.GROUPS, "web", ()) == first
    assert derived_id(Section.GROUPS, "web", {first}) != first
    assert derived_id(Section.POLICIES, "web", ()) != first


@given(name=st.text(min_size=1, max_size=80))
def test_every_id_is_one_that_the_file_could_have(name: str) -> None:
    for section in Section:
        NAMES.validate_python(derived_id(section, name, ()))
    GROUPS.validate_python(derived_id(Section.GROUPS, name, ()))


def test_equal_documents_have_equal_texts() -> None:
    assert canonical({"b": 1, "a": [2.5, None, "é"]}) == canonical({"a": [2.5, None, "é"], "b": 1})


def _deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    return value


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": "\ud800"}, _deep(), {"a": [[[[{"b": [0] * 300_001}]]]]}])
def test_a_document_that_no_file_could_hold_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        canonical(body)


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 81, "\ud800"])
def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        checked_name(name)
