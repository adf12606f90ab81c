from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.model.effects import (
    Alert,
    BringValue,
    Effect,
    EffectKind,
    FirePolicy,
    Freeze,
    FrozenDirection,
    RaiseFloor,
    Shield,
)
from config.units import GroupId, Instant, PolicyId
from handler.ingest.alerts.mapping import (
    EVERYTHING,
    MEANINGS_AT_MOST,
    Act,
    Begin,
    Bring,
    EndAlert,
    Fire,
    Mapped,
    Nothing,
    Permissions,
    Why,
    mapped,
)
from handler.ingest.alerts.notifications import ReceivedAlert
from tests.support.hooks import FINGERPRINT, declared, firing, resolved, rules
from tests.support.trigger import NOON
from trigger.requests import SignalKind
from trigger.verdicts import Direction

NOW = Instant(NOON + 10.0)
OUT, IN = Direction.OUT, Direction.IN


def mean(alert: Alert, *alerts: ReceivedAlert, may: Permissions = EVERYTHING) -> Mapped:
    return mapped(rules(alert), alerts, may, NOW)


def act(effect: Effect, alert: ReceivedAlert | None = None, may: Permissions = EVERYTHING) -> Act:
    (meaning,) = mean(declared(effect), firing() if alert is None else alert, may=may).meanings
    return meaning.act


def kinds(done: Act) -> list[SignalKind]:
    assert isinstance(done, Begin)
    return [signal.kind for signal in done.signals]


def may(
    *,
    groups: tuple[str, ...] = (),
    effects: tuple[EffectKind, ...] = tuple(EffectKind),
    directions: tuple[Direction, ...] = (OUT, IN),
) -> Permissions:
    return Permissions(
        groups=frozenset(GroupId(group) for group in groups),
        effects=frozenset(effects),
        directions=frozenset(directions),
    )


# Which alerts mean something


@pytest.mark.parametrize(
    ("labels", "fits"),
    [
        ({"alertname": "WebSlow", "env": "prod"}, True),
        ({"alertname": "WebSlow", "env": "prod", "more": "x"}, True),
        ({"alertname": "WebSlow"}, False),
        ({"alertname": "WebSlow", "env": "Prod"}, False),
        ({"alertname": "WebSlow", "env": "prod "}, False),
        ({"alertname": "webslow", "env": "prod"}, False),
        ({"env": "prod"}, False),
        ({"alertname": "env", "env": "WebSlow"}, False),
    ],
)
def test_only_labels_that_are_exactly_the_declared_ones_fit(labels: dict[str, str], fits: bool) -> None:
    found = mean(declared(match={"alertname": "WebSlow", "env": "prod"}), firing(**labels))
    assert (len(found.meanings), found.unmatched) == ((1, 0) if fits else (0, 1))


def test_an_alert_may_be_declared_without_its_name() -> None:
    rule = declared(match={"team": "web", "severity": "page"})
    assert mean(rule, firing(alertname="X", team="web", severity="page")).meanings
    assert not mean(rule, firing(alertname="X", team="web")).meanings


def test_one_alert_may_mean_several_things() -> None:
    both = rules(declared(id="fire"), declared(RaiseFloor(size=8), id="floor"))
    found = mapped(both, [firing()], EVERYTHING, NOW)
    assert sorted(meaning.alert for meaning in found.meanings) == ["fire", "floor"]


@pytest.mark.parametrize(
    ("label", "affected"),
    [("web", ["web"]), ("api", ["api"]), ("db", [None]), ("", [None]), ("WEB", [None]), ("../web", [None])],
)
def test_the_group_is_one_that_is_declared_never_what_the_sender_says(label: str, affected: list[str | None]) -> None:
    rule = declared(groups=("web", "api"), group_label="service")
    found = mean(rule, firing(alertname="WebSlow", service=label))
    assert [meaning.group for meaning in found.meanings] == affected


def test_without_a_group_label_every_group_of_the_rule_is_affected() -> None:
    found = mean(declared(groups=("web", "api")), firing())
    assert [meaning.group for meaning in found.meanings] == ["web", "api"]


# What they mean


def test_a_firing_alert_fires_its_policy() -> None:
    assert act(FirePolicy(policy=PolicyId("out"))) == Fire(policy=PolicyId("out"))


def test_a_policy_is_not_fired_by_an_alert_that_does_not_say_when_it_began() -> None:
    assert act(FirePolicy(policy=PolicyId("out")), firing(starts=None)) == Nothing(why=Why.NO_START)


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (RaiseFloor(size=8), [SignalKind.FLOOR]),
        (Shield(), [SignalKind.SHIELD]),
        (Freeze(way=FrozenDirection.OUT), [SignalKind.FREEZE_OUT]),
        (Freeze(way=FrozenDirection.BOTH), [SignalKind.FREEZE_IN, SignalKind.FREEZE_OUT]),
    ],
)
def test_what_lasts_begins_with_its_alert_and_lives_for_its_time(effect: Effect, expected: list[SignalKind]) -> None:
    done = act(effect)
    assert kinds(done) == expected
    assert isinstance(done, Begin)
    for signal in done.signals:
        assert (signal.key, signal.since, signal.until) == (FINGERPRINT, NOON, NOW + 900.0)


@pytest.mark.parametrize("effect", [FirePolicy(policy=PolicyId("out")), RaiseFloor(size=2), BringValue(field="B")])
def test_a_resolved_alert_ends_what_lasts_of_it(effect: Effect) -> None:
    assert act(effect, resolved()) == EndAlert()


@pytest.mark.parametrize(
    ("alert", "value"),
    [
        (firing(values={"depth": 7.5}), 7.5),
        (firing(annotations={"depth": " 12 "}), 12.0),
        (firing(alertname="WebSlow", depth="-1.5e3"), -1500.0),
        (firing(values={"depth": 1.0}, annotations={"depth": "2"}, alertname="WebSlow", depth="3"), 1.0),
        (firing(annotations={"depth": "2"}, alertname="WebSlow", depth="3"), 2.0),
    ],
    ids=["value", "annotation", "label", "value first", "annotation before label"],
)
def test_a_value_is_read_where_there_is_one(alert: ReceivedAlert, value: float) -> None:
    assert act(BringValue(field="depth"), alert) == Bring(value=value, until=Instant(NOW + 900.0))


@pytest.mark.parametrize(
    "text", ["", "many", "12%", "nan", "inf", "1e999x", "1_000", "0x1f", "１２", "1e9999", "1e999", "9" * 400]
)
def test_what_is_no_number_brings_no_value(text: str) -> None:
    assert act(BringValue(field="depth"), firing(annotations={"depth": text})) == Nothing(why=Why.NO_NUMBER)


@given(st.text())
def test_a_value_from_outside_is_always_finite(text: str) -> None:
    done = act(BringValue(field="depth"), firing(annotations={"depth": text}))
    assert isinstance(done, Nothing) or (isinstance(done, Bring) and abs(done.value) < float("inf"))


# Missing data


_NO_DATA = {"alertname": "DatasourceNoData", "rulename": "WebSlow", "datasource_uid": "P1", "ref_id": "A"}
_FOR_WANT_OF_DATA = {"grafana_state_reason": "NoData"}


@pytest.mark.parametrize("name", ["DatasourceNoData", "DatasourceError"])
@pytest.mark.parametrize(
    "effect",
    [FirePolicy(policy=PolicyId("out")), RaiseFloor(size=8), BringValue(field="B"), Freeze(way=FrozenDirection.OUT)],
)
def test_missing_data_make_blind_and_nothing_else(effect: Effect, name: str) -> None:
    assert kinds(act(effect, firing(**{**_NO_DATA, "alertname": name}))) == [SignalKind.BLIND]


def test_missing_data_that_a_rule_of_grafana_takes_for_a_breach_make_blind() -> None:
    alert = firing(annotations=_FOR_WANT_OF_DATA)
    assert kinds(act(FirePolicy(policy=PolicyId("out")), alert)) == [SignalKind.BLIND]


def test_blindness_ends_when_it_is_resolved() -> None:
    assert act(FirePolicy(policy=PolicyId("out")), resolved(**_NO_DATA)) == EndAlert()


@pytest.mark.parametrize("reason", ["NoData", "Error"])
def test_an_alert_that_is_resolved_for_want_of_data_ends_nothing(reason: str) -> None:
    alert = resolved(annotations={"grafana_state_reason": reason})
    assert act(Shield(), alert) == Nothing(why=Why.RESOLVED_BLIND)


def test_an_alert_whose_series_went_away_is_resolved() -> None:
    assert act(Shield(), resolved(annotations={"grafana_state_reason": "MissingSeries"})) == EndAlert()


def test_missing_data_of_another_rule_mean_nothing() -> None:
    assert mean(declared(), firing(**{**_NO_DATA, "rulename": "DbSlow"})).unmatched == 1


def test_labels_that_missing_data_cannot_have_are_taken_to_fit_but_none_that_differ() -> None:
    rule = declared(match={"alertname": "WebSlow", "env": "prod"})
    assert mean(rule, firing(**_NO_DATA)).meanings
    assert not mean(rule, firing(**_NO_DATA, env="test")).meanings
    assert not mean(declared(match={"team": "web", "env": "prod"}), firing(**_NO_DATA, team="web")).meanings


def test_missing_data_that_name_no_group_blind_every_group_of_the_rule() -> None:
    rule = declared(groups=("web", "api"), group_label="service")
    assert [meaning.group for meaning in mean(rule, firing(**_NO_DATA)).meanings] == ["web", "api"]
    assert [meaning.group for meaning in mean(rule, firing(**_NO_DATA, service="api")).meanings] == ["api"]


# What a webhook may do


@pytest.mark.parametrize(
    ("effect", "allowed", "done"),
    [
        (FirePolicy(policy=PolicyId("out")), may(directions=(OUT,)), True),
        (FirePolicy(policy=PolicyId("out")), may(directions=(IN,)), False),
        (FirePolicy(policy=PolicyId("in")), may(directions=(OUT,)), False),
        (FirePolicy(policy=PolicyId("in")), may(directions=(IN,)), True),
        (FirePolicy(policy=PolicyId("exactly")), may(directions=(OUT,)), False),
        (FirePolicy(policy=PolicyId("exactly")), may(directions=(OUT, IN)), True),
        (RaiseFloor(size=8), may(directions=(IN,)), False),
        (RaiseFloor(size=8), may(directions=(OUT,)), True),
        (Shield(), may(directions=()), True),
        (Freeze(way=FrozenDirection.BOTH), may(directions=()), True),
        (BringValue(field="B"), may(directions=()), True),
        (FirePolicy(policy=PolicyId("out")), may(effects=(EffectKind.SHIELD,)), False),
        (Shield(), may(effects=(EffectKind.SHIELD,)), True),
        (Freeze(way=FrozenDirection.IN), may(effects=(EffectKind.SHIELD,)), False),
        (Shield(), may(groups=("api",)), False),
        (Shield(), may(groups=("api", "web")), True),
    ],
)
def test_a_webhook_does_only_what_it_may(effect: Effect, allowed: Permissions, done: bool) -> None:
    found = act(effect, firing(values={"B": 1.0}), may=allowed)
    assert (found == Nothing(why=Why.NOT_PERMITTED)) is not done


def test_what_a_webhook_may_not_begin_it_may_not_end() -> None:
    assert act(Shield(), resolved(), may=may(effects=(EffectKind.FIRE,))) == Nothing(why=Why.NOT_PERMITTED)


def test_every_webhook_may_say_that_it_is_blind_but_only_of_its_groups() -> None:
    assert kinds(act(Shield(), firing(**_NO_DATA), may=may(effects=(), directions=()))) == [SignalKind.BLIND]
    assert act(Shield(), firing(**_NO_DATA), may=may(groups=("api",))) == Nothing(why=Why.NOT_PERMITTED)


# Repetition, and size


def test_the_same_alert_start_and_status_have_one_id_and_others_another() -> None:
    alerts = [firing(), firing(), firing(starts=1.0), firing(fingerprint="ab"), resolved()]
    ids = [meaning.id for meaning in mean(declared(), *alerts).meanings]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4
    assert ids[0] != mean(declared(id="other"), firing()).meanings[0].id


def test_a_payload_that_means_too_much_is_refused_whole() -> None:
    groups = [f"g{number}" for number in range(500)]
    found = mean(declared(groups=groups), *[firing()] * (MEANINGS_AT_MOST // 500 + 1))
    assert found.too_many
    assert not found.meanings
