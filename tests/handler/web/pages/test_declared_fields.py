"""Documents in forms: no key is lost by being edited, and texts become what the file would have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.document.places import Plain
from config.errors import Refused
from config.model.sections import Section
from handler.web.pages.declared_fields import FIELDS, FieldKind, FormField, KeyedField, about, document_of, texts_of

_SCALARS = st.text("abc %:{}[]#'\"é\\-1.", max_size=9) | st.integers(-9, 99) | st.booleans() | st.none()
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["use", "port", "x y"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_NAMES = ["a", "b-c"]
_LIKELY = {
    "balancers": st.lists(
        st.fixed_dictionaries({"use": st.sampled_from(_NAMES)}, optional={"port": st.just(80)}), max_size=2
    ),
    "snmp": st.fixed_dictionaries({}, optional={"port": st.just(161), "version": st.just("2c")}),
    "when": st.lists(st.sampled_from(_NAMES), unique=True),
    "policies": st.lists(st.sampled_from(_NAMES), unique=True),
    "networks": st.lists(st.sampled_from(_NAMES)),
    "range": st.lists(st.integers(0, 9), max_size=2),
}
DOCUMENTS = {
    "a counter": (Section.COUNTERS, {"snmp": "IF-MIB::ifInOctets.2", "kind": "counter", "unit": "B", "range": [0, 2]}),
    "a counter of http": (Section.COUNTERS, {"http": {"port": 9100, "path": "/m", "metric": "load"}}),
    "a condition": (Section.CONDITIONS, {"counter": "cpu", "above": "250 ms", "window": "1m", "quorum": "95%"}),
    "an expression": (Section.CONDITIONS, {"expression": "cpu > 80"}),
    "a policy": (Section.POLICIES, {"when": ["busy", "slow"], "duration": "2m", "remove": "10%", "at_least": 2}),
    "a profile": (Section.PROFILES, {"cloud": "box", "command": ["sleep", "9"], "snmp": {"port": 161, "version": "3"}}),
    "a group": (
        Section.GROUPS,
        {"profile": "web", "balancers": [{"use": "edge", "port": 80}], "min": 1, "max": 3, "policies": ["out", "in"]},
    ),
    "a group of two balancers": (
        Section.GROUPS,
        {"profile": "web", "balancers": [{"use": "edge", "port": 80}, {"use": "side", "port": 81}], "min": 1, "max": 3},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("section", "document"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_goes_through_its_form_unchanged(section: Section, document: dict[str, Plain]) -> None:
    assert document_of(section, texts_of(section, document)) == document


@st.composite
def documents(draw: st.DrawFn) -> tuple[Section, dict[str, Plain]]:
    """Any document, with keys that have fields, and others."""
    section = draw(st.sampled_from(list(Section)))
    keys = [
        key for field in FIELDS[section] for key in (field.keys if isinstance(field, KeyedField) else field.path[:1])
    ]
    chosen = draw(st.lists(st.sampled_from([*keys, "other", "x y"]), unique=True, max_size=5))
    return section, {key: draw(st.one_of(_LIKELY.get(key, _VALUES), _VALUES)) for key in chosen}


@given(documents())
def test_no_key_and_no_value_is_lost_by_being_edited(made: tuple[Section, dict[str, Plain]]) -> None:
    section, document = made

    assert document_of(section, texts_of(section, document)) == document


def test_what_is_chosen_from_a_list_has_one() -> None:
    for field in (field for fields in FIELDS.values() for field in fields if isinstance(field, FormField)):
        is_chosen = field.kind in {FieldKind.ONE, FieldKind.SOME}
        assert is_chosen == bool(field.choices or field.of in {section.value for section in Section}), field


def test_every_key_with_a_field_is_one_of_the_reference() -> None:
    for section, fields in FIELDS.items():
        for field in fields:
            for key in field.keys if isinstance(field, KeyedField) else field.path[:1]:
                assert about(section, key)


REFUSED = {
    "no YAML": ({"more": "{"}, "other keys"),
    "a list": ({"more": "[1]"}, "other keys"),
    "a key twice": ({"more": "{drain: 1s, drain: 2s}"}, "drain"),
    "a key that has a field": ({"max": "3", "more": "max: 4"}, "max has a field"),
}


@pytest.mark.parametrize(("texts", "words"), REFUSED.values(), ids=REFUSED)
def test_a_form_that_says_no_document_is_refused_in_words(texts: dict[str, str], words: str) -> None:
    with pytest.raises(Refused, match=words):
        document_of(Section.GROUPS, texts)
