from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, NewType, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.errors import StoreError
from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import BalancerUse, Group
from config.model.counters import Counter
from config.units import BalancerId
from handler.planning.desired import Definition
from handler.store.codec import from_text, to_text
from handler.store.tags import TAGS
from tests.support.store import a_definition, a_record
from trigger.explain.explanation import Explanation
from trigger.reasons import Reason
from trigger.requests import Clamp


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Anything that a type allows, with every field drawn, also those that have a default."""
    if kind is float:
        return st.floats(allow_nan=False)
    if isinstance(kind, type) and is_dataclass(kind):
        drawn = {name: values_of(hint) for name, hint in get_type_hints(kind).items()}
        return st.builds(kind, **drawn)
    if get_args(kind):
        return _composites_of(get_origin(kind), get_args(kind))
    return values_of(kind.__supertype__) if isinstance(kind, NewType) else st.from_type(kind)


def _composites_of(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is Mapping:
        return st.dictionaries(*map(values_of, arguments), max_size=2)
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if {str, float} <= {*arguments}:  # the document has none that is infinite there, since it would become a text
        arguments = tuple(each for each in arguments if each is not float)
        return st.one_of(st.floats(allow_nan=False, allow_infinity=False), *map(values_of, arguments))
    return st.tuples(*map(values_of, arguments)) if origin is tuple else st.one_of(*map(values_of, arguments))


STORED = [
    Definition,
    Explanation,
    Counter,
    tuple[Clamp, ...],
    tuple[float | None, ...],
    tuple[tuple[BalancerId, int], ...],
]


@pytest.mark.parametrize("kind", STORED, ids=str)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_written_is_read_back(kind, data):
    value = data.draw(values_of(kind))
    assert from_text(to_text(value, kind), kind) == value


@pytest.mark.parametrize("number", [math.inf, -math.inf, 0.1, -0.0, 5e-324], ids=str)
def test_a_float_keeps_its_value_and_none_is_not_infinity(number):
    assert from_text(to_text((number, None), tuple[float | None, ...]), tuple[float | None, ...]) == (number, None)


def test_not_a_number_survives():
    (number,) = from_text(to_text((math.nan,), tuple[float, ...]), tuple[float, ...])
    assert math.isnan(number)


def test_an_infinite_number_is_refused_where_a_text_may_stand():
    with pytest.raises(ValueError, match="not JSON"):
        to_text((math.inf,), tuple[str | float | bool, ...])


def test_what_is_wrong_in_a_mapping_is_reported_with_its_key():
    with pytest.raises(StoreError, match=r"cannot be read: edge\.1: expected a whole number, found '2'"):
        from_text('{"edge":[1,"2"]}', Mapping[str, tuple[int, ...]])


@pytest.mark.parametrize("stored", ['["word", 1.5, true, null]', '[["word"], null]'])
def test_what_json_tells_apart_is_read_as_it_is(stored):
    kind = tuple[str | float | bool | tuple[str, ...] | None, ...]
    assert json.loads(to_text(from_text(stored, kind), kind)) == json.loads(stored)


def test_a_secret_is_stored_as_where_it_is_kept(monkeypatch):
    monkeypatch.setenv("SNMP_COMMUNITY", "s3cret")
    text = to_text(a_definition(), Definition)
    assert "SNMP_COMMUNITY" in text
    assert "s3cret" not in text


def test_fields_that_an_older_release_did_not_write_take_their_defaults():
    stored = json.loads(to_text(a_definition().group, Group))
    defaults = {f.name for f in fields(Group) if f.default is not MISSING or f.default_factory is not MISSING}
    older = json.dumps({name: value for name, value in stored.items() if name not in defaults})
    least = Group(id=a_definition().group.id, profile=a_definition().group.profile, minimum=2, maximum=10)
    assert from_text(older, Group) == least


def test_a_field_that_this_release_does_not_know_is_skipped():
    stored = json.loads(to_text(a_definition().group, Group))
    assert from_text(json.dumps(stored | {"colour": "red"}), Group) == a_definition().group


def test_a_union_tells_its_members_apart():
    either = Mapping[str, SharedListener | HaproxyBalancer | None]
    balancers = {
        "haproxy": HaproxyBalancer(id=BalancerId("edge"), socket="/s", backend="web"),
        "listener": SharedListener(id=BalancerId("edge"), address="::1", port=80),
        "none": None,
    }
    assert from_text(to_text(balancers, either), either) == balancers


def test_a_plain_field_that_becomes_a_union_reads_what_was_stored_before():
    before = to_text({"b": SharedListener(id=BalancerId("b"), address="::1", port=80)}, Mapping[str, SharedListener])
    now = from_text(before, Mapping[str, SharedListener | HaproxyBalancer])
    assert now == {"b": SharedListener(id=BalancerId("b"), address="::1", port=80)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"minimum": "2"}, "minimum: expected a whole number, found '2'"),
        ({"minimum": True}, "minimum: expected a whole number, found True"),
        ({"minimum": 2.0}, "minimum: expected a whole number, found 2.0"),
        ({"interval": "30s"}, "interval: expected a number, found '30s'"),
        ({"mode": "maybe"}, "mode: expected one of off, advise, act, found 'maybe'"),
        ({"balancers": [{"type": "BalancerUse", "balancer": "edge"}]}, "balancers.0.port: is missing"),
        ({"balancers": {}}, "balancers: expected an array, found dict"),
        ({"budget": None}, "budget: expected an object, found None"),
        ({"type": "Profile"}, "the top level: expected Group, found 'Profile'"),
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(change, message):
    stored = json.loads(to_text(a_definition().group, Group))
    with pytest.raises(StoreError, match="a stored Group cannot be read") as refused:
        from_text(json.dumps(stored | change), Group)
    assert str(refused.value).endswith(message)


def test_a_union_refuses_a_type_that_it_does_not_have():
    stored = json.dumps({"b": {"type": "NetscalerBalancer", "id": "b"}})
    with pytest.raises(StoreError, match="b: expected one of SharedListener, HaproxyBalancer"):
        from_text(stored, Mapping[str, SharedListener | HaproxyBalancer])


def test_pairs_of_another_length_are_refused():
    with pytest.raises(StoreError, match=r"0: expected 2 items, found list"):
        from_text('[["edge", 80, 1]]', tuple[tuple[BalancerId, int], ...])


def test_text_that_is_not_json_is_refused():
    with pytest.raises(StoreError, match="a stored Group is not JSON"):
        from_text("{", Group)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (a_record(), Group),
        ((1.5,), tuple[int, ...]),
        (("1",), tuple[float, ...]),
        ((1,), tuple[str, ...]),
        ((BalancerUse(balancer=BalancerId("b"), port=1),), tuple[SharedListener | HaproxyBalancer, ...]),
        ((1,), tuple[int | str, ...]),
        ((b"",), tuple[bytes, ...]),
        ([], list[int]),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_not_written(value, kind):
    with pytest.raises(TypeError):
        to_text(value, kind)


@dataclass(frozen=True)
class Cut:
    """A clamp, had it and its fields been renamed."""

    limit: Reason = field(metadata={"wire": "guard"})
    wanted: int = field(metadata={"wire": "before"})
    after: int


def test_a_class_and_fields_that_were_renamed_are_written_as_before_and_read(monkeypatch):
    monkeypatch.setitem(TAGS, Cut, "Clamp")
    before = to_text(Clamp(guard=Reason.AT_MAX, before=9, after=8), Clamp)
    assert from_text(before, Cut) == Cut(limit=Reason.AT_MAX, wanted=9, after=8)
    assert to_text(from_text(before, Cut), Cut) == before


def test_a_class_without_a_tag_is_not_stored():
    @dataclass(frozen=True)
    class Untold:
        size: int

    with pytest.raises(TypeError, match=r"only what has a tag in handler/store/tags\.py can"):
        to_text(Untold(3), Untold)


def test_text_and_lists_are_told_apart():
    kind = tuple[tuple[str, str | tuple[tuple[str, str], ...]], ...]
    value = (("memory", "512"), ("disk", (("size", "20"), ("image", "web"))))
    assert from_text(to_text(value, kind), kind) == value
