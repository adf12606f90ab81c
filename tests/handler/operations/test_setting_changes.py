"""What it takes to declare another setting: a patch of the file, values of the API; and the last tick's decision."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from config.document.entities import Entity
from config.document.places import read_places
from config.errors import Refused
from config.merge import merge
from config.model.sections import Section
from config.units import Monotonic, PolicyId
from handler.engine.declared import Declaration
from handler.identity.grants import EVERYTHING, Grants
from handler.identity.rights import VERBS, UserRole
from handler.operations.setting_changes import FirstDecision, SettingChange, require_own, setting_draft, wanted_of
from handler.operations.tuning_admin import whole
from handler.tuning.parameters import parameters_of
from tests.support.replay import MODEL, WEB
from tests.support.trigger import a_fleet, at, measured
from trigger.explain.basis import Basis
from trigger.requests import GroupState
from trigger.verdicts import Hold

TEXT = MODEL.replace("{counter: cpu, above: 80}", "{counter: cpu, above: 80}  # as agreed in May")
LOWER = {"conditions.busy.above": "70"}
EAGER = Entity(
    section=Section.POLICIES,
    id="eager-bcdfg",
    name="eager",
    text=json.dumps({"when": ["busy"], "duration": "60s", "add": 2}),
    revision=1,
)


def declared(text: str = TEXT, *entities: Entity) -> Declaration:
    file, known = read_places(text, "web.yaml"), {entity.key: entity for entity in entities}
    return Declaration(file=file, entities=known, revision=len(known), merged=merge(file, known.values()))


def changed(
    there: Declaration, values: Mapping[str, str], *, basis: Basis | None = None, text: str = TEXT
) -> SettingChange:
    wanted = wanted_of(parameters_of(whole(there).data, there.catalogue, WEB), values)
    return setting_draft(there, WEB, wanted, text, basis).change


def a_basis(cpu: float) -> Basis:
    """Two members at so many percent, for longer than any duration."""
    hold = Hold(true_since=Monotonic(0.0), last_true=at(590.0).steady)
    return Basis(
        at=at(600.0),
        cells=(measured(cpu), measured(cpu)),
        holds={PolicyId("out"): hold, PolicyId("in"): hold},
        size=2,
        requests=(),
        fleet=a_fleet(in_service=2),
        state=GroupState(desired=2),
    )


def test_a_value_of_the_file_is_changed_by_one_line_that_keeps_its_comment() -> None:
    change = changed(declared(), LOWER)

    assert change.patch[-2:] == (
        "-  busy: {counter: cpu, above: 80}  # as agreed in May",
        "+  busy: {counter: cpu, above: 70}  # as agreed in May",
    )
    assert (change.over_api, change.groups, change.first) == ((), (WEB,), None)


def test_other_groups_that_use_the_same_condition_are_named() -> None:
    text = f"{TEXT}  shop: {{profile: web, min: 0, max: 1, policies: [out]}}\n"

    assert changed(declared(text), LOWER, text=text).groups == ("shop", WEB)


def test_a_value_of_the_api_is_named_and_the_file_stays() -> None:
    group = Entity(
        section=Section.GROUPS,
        id="web",
        name="web",
        text=json.dumps({"profile": "web", "min": 2, "max": 6, "interval": "30s", "policies": ["eager-bcdfg"]}),
        revision=1,
    )
    text = TEXT[: TEXT.index("groups:")]
    change = changed(declared(text, EAGER, group), {"policies.eager-bcdfg.add": "3"}, text=text)

    assert (change.patch, change.over_api) == ((), ("policies.eager-bcdfg.add: 2 → 3",))


@pytest.mark.parametrize(
    ("values", "text", "reason"),
    [
        ({"policies.out.duration": "10s"}, TEXT, "duration"),
        (LOWER, TEXT.replace("max: 6", "max: 7"), "was edited since it was taken"),
        ({"conditions.lazy.above": "70"}, TEXT, "conditions.lazy.above is not written"),
    ],
    ids=["against the rules", "edited", "unknown"],
)
def test_what_cannot_be_declared_is_refused(values: dict[str, str], text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        changed(declared(), values, text=text)


def test_the_last_tick_is_decided_by_both_settings() -> None:
    change = changed(declared(), LOWER, basis=a_basis(75.0))

    assert change.first is not None
    assert change.first.declared.endswith("the size stays 2")
    assert change.first.changed.endswith("2 → 3")
    assert isinstance(change.first, FirstDecision)


def test_what_the_last_tick_would_have_been_with_another_window_is_not_known() -> None:
    text = TEXT.replace("above: 80}", "window: 60s, above: 80}")

    assert changed(declared(text), {"conditions.busy.window": "90s"}, basis=a_basis(75.0), text=text).first is None


def test_a_person_who_has_some_groups_only_is_shown_no_line_of_the_file() -> None:
    there = declared()
    wanted = wanted_of(parameters_of(there.file.data, there.catalogue, WEB), LOWER)
    own = Grants(VERBS[UserRole.TUNER], frozenset({WEB}))

    require_own(there, wanted, EVERYTHING)
    with pytest.raises(Refused, match=r"conditions\.busy belongs to the account root"):
        require_own(there, wanted, own)


def test_a_declared_value_changes_nothing() -> None:
    there = declared()
    parameters = parameters_of(there.file.data, there.catalogue, WEB)

    assert wanted_of(parameters, {"conditions.busy.above": "80", "policies.out.duration": "1m"}) == {}
