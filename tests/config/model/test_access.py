"""Where references to secrets are looked for in values of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from config.model.access import Basic, HttpAccess, SecretRef, SnmpAccess, secrets_in
from config.units import GroupId, Seconds

REF, OTHER = SecretRef(env="A"), SecretRef(file="/b")


@dataclass(frozen=True, slots=True)
class Plain:
    name: GroupId
    spans: tuple[Seconds, ...] = ()
    texts: Mapping[str, str | float | bool] | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    plain: Plain | str = ""
    one: SecretRef | None = None
    several: tuple[tuple[str, SecretRef], ...] = ()
    named: Mapping[str, HttpAccess | str] | None = None
    anything: object = None


@pytest.mark.parametrize(
    ("value", "found"),
    [
        pytest.param(Plain(GroupId("web"), spans=(1.0,), texts={"a": "b"}), [], id="words and numbers"),
        pytest.param(Holder(plain=Plain(GroupId("web"))), [], id="none where there may be some"),
        pytest.param(Holder(one=REF), [REF], id="an optional one"),
        pytest.param(Holder(several=(("a", REF), ("b", OTHER))), [REF, OTHER], id="in pairs"),
        pytest.param(
            Holder(named={"a": "b", "c": HttpAccess(credentials=Basic(user="ada", password=REF))}), [REF], id="by name"
        ),
        pytest.param(Holder(anything=SnmpAccess(community=REF)), [REF], id="in a field of any type"),
        pytest.param(Holder(one=REF, anything=(REF,)), [REF, REF], id="as often as it stands there"),
    ],
)
def test_every_reference_to_a_secret_is_found_wherever_a_value_holds_it(value: object, found: list[SecretRef]) -> None:
    assert list(secrets_in(value)) == found
