from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from pydantic import ValidationError

from config.build.catalogue import build
from config.document.balancers import HaproxyDocument
from config.document.conditions import ConditionDocument
from config.document.counters import CounterDocument, HttpCounterDocument
from config.document.declared import Declared
from config.document.fields import mapping_at
from config.document.file import Document
from config.document.forecasts import ForecastLoadDocument, HolidaysDocument
from config.document.libvirt import LibvirtDocument
from config.document.listening import ListenDocument
from config.document.made_rule import MadeRuleDocument
from config.document.managed import HealthMonitorDocument, PersistenceDocument, VipDocument
from config.document.pacing import PaceDocument
from config.document.policies import PolicyDocument
from config.document.sources import NetscalerDocument, SnmpDocument
from config.document.targets import TargetDocument
from config.errors import DeclarationError
from config.load import parse
from config.model.access import SecretRef, SnmpAccess
from config.model.balancers import HaproxyBalancer, ServerTemplate, SharedListener
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    AnyCondition,
    Budget,
    Compare,
    Condition,
    Group,
    Policy,
    ProcessCloud,
    ProcessRecipe,
    Profile,
    ReadyProbe,
)
from config.model.clouds import Calls
from config.model.counters import AlertedValue, Counter, CounterKind, Per, SnmpObject
from config.model.effects import (
    Alert,
    BringValue,
    Effect,
    FirePolicy,
    Freeze,
    FrozenDirection,
    RaiseFloor,
    Shield,
    kind_of,
)
from config.model.observability import NoticeFormat, Notify, NotifyCommand, NotifySlack, NotifyUrl, Severity
from config.model.reductions import Reduce
from config.units import AlertId, CloudId, ConditionId, CounterId, GroupId, PolicyId, ProfileId
from tests.support.config import declared


def counter(**written: object) -> Counter:
    return build(Document.model_validate({"counters": {"c": written}}), {}, {}).counters[CounterId("c")]


def condition(**written: object) -> AnyCondition:
    document = {"conditions": {"c": {"counter": "cpu", **written}}}
    return build(Document.model_validate(document), {}, {}).conditions[ConditionId("c")]


def policy(**written: object) -> Policy:
    document = {"policies": {"p": {"when": ["busy"], **written}}}
    return build(Document.model_validate(document), {}, {}).policies[PolicyId("p")]


def profile(**written: object) -> Profile:
    document = {"profiles": {"p": {"cloud": "local", "command": ["serve"], **written}}}
    return build(Document.model_validate(document), {}, {}).profiles[ProfileId("p")]


def group(**written: object) -> Group:
    document = {"groups": {"g": {"profile": "web", "min": 2, "max": 8, **written}}}
    return build(Document.model_validate(document), {}, {}).groups[GroupId("g")]


def alert(**written: object) -> Alert:
    document = {"alerts": {"a": {"match": {"alertname": "Slow"}, "groups": ["web"], "ttl": "15m", **written}}}
    return build(Document.model_validate(document), {}, {}).alerts[AlertId("a")]


def test_a_key_left_out_of_a_group_has_the_default_of_the_model() -> None:
    assert group() == Group(id=GroupId("g"), profile=ProfileId("web"), minimum=2, maximum=8)
    assert (group().interval, group().quiet_time, group().drain, group().grace) == (30.0, 300.0, 60.0, 120.0)
    assert (group().build_timeout, group().warm_up, group().freshness) == (900.0, 60.0, 3)


def test_a_key_left_out_elsewhere_has_the_default_of_the_model() -> None:
    assert policy(add=2) == Policy(
        id=PolicyId("p"), when=(ConditionId("busy"),), adjustment=Adjustment(verb=AdjustmentVerb.ADD, amount=2.0)
    )
    assert condition(above=1) == Condition(
        id=ConditionId("c"), counter=CounterId("cpu"), compare=Compare.ABOVE, threshold=1.0
    )
    assert profile() == Profile(id=ProfileId("p"), cloud=CloudId("local"), recipe=ProcessRecipe(command=("serve",)))
    assert declared().clouds[CloudId("local")] == ProcessCloud(id=CloudId("local"), budget=Budget())
    assert counter(snmp="1.3.6.1.4.1.99999.1.0") == Counter(
        id=CounterId("c"), source=SnmpObject(oid="1.3.6.1.4.1.99999.1.0", name="1.3.6.1.4.1.99999.1.0")
    )


@pytest.mark.parametrize(
    ("written", "effect"),
    [
        ({"fire": "out"}, FirePolicy(policy=PolicyId("out"))),
        ({"floor": 8}, RaiseFloor(size=8)),
        ({"shield": True}, Shield()),
        ({"freeze": "in"}, Freeze(way=FrozenDirection.IN)),
        ({"freeze": "both"}, Freeze(way=FrozenDirection.BOTH)),
        ({"value": "depth"}, BringValue(field="depth")),
    ],
    ids=["fire", "floor", "shield", "freeze-in", "freeze-both", "value"],
)
def test_an_alert_has_its_one_effect(written: dict[str, object], effect: Effect) -> None:
    expected = Alert(id=AlertId("a"), match={"alertname": "Slow"}, groups=(GroupId("web"),), effect=effect, ttl=900.0)
    assert alert(**written) == expected
    assert kind_of(effect).value in written


def test_an_alert_may_name_its_group_by_a_label_of_any_spelling() -> None:
    assert alert(shield=True, group_label="service.name").group_label == "service.name"


def test_a_counter_of_an_alert_is_of_the_group() -> None:
    assert counter(alert="depth", unit="messages", range=[0, 10], scale=2.0) == Counter(
        id=CounterId("c"),
        source=AlertedValue(alert=AlertId("depth")),
        per=Per.GROUP,
        unit="messages",
        range=(0.0, 10.0),
        scale=2.0,
    )
    assert counter(alert="depth", per="group") == counter(alert="depth")
    assert counter(haproxy="scur", per="member") == counter(haproxy="scur")


def test_a_well_known_object_brings_kind_width_unit_and_range() -> None:
    octets = counter(snmp="IF-MIB::ifInOctets.2")
    assert (octets.kind, octets.bits, octets.unit, octets.scale) == (CounterKind.RISING, 32, "bytes/s", 1.0)
    assert counter(snmp=".1.3.6.1.4.1.2021.11.9.0").range == (0.0, 100.0)


def test_values_of_a_well_known_object_are_converted_to_the_unit_that_is_written() -> None:
    assert counter(snmp="sysUpTime.0", unit="min").scale == pytest.approx(0.01 / 60)
    share = counter(snmp="ssCpuUser.0", unit="ratio")
    assert (share.scale, share.range) == (0.01, (0.0, 1.0))


def test_a_written_value_wins_over_a_known_one() -> None:
    scaled = counter(snmp="ssCpuUser.0", unit="tenths", scale=0.1)
    assert (scaled.unit, scaled.scale, scaled.range) == ("tenths", 0.1, None)
    changed = counter(snmp="ssCpuUser.0", kind="counter")
    assert (changed.kind, changed.unit, changed.range) == (CounterKind.RISING, "", None)
    assert counter(snmp="ifInOctets.1", bits=64).bits == 64
    assert counter(snmp="ssCpuUser.0", range=[0, 50]).range == (0.0, 50.0)


@pytest.mark.parametrize(
    ("written", "adjustment"),
    [
        ({"add": 2}, Adjustment(verb=AdjustmentVerb.ADD, amount=2.0)),
        ({"add": "150%"}, Adjustment(verb=AdjustmentVerb.ADD, amount=150.0, percent=True)),
        (
            {"remove": "0.5%", "at_least": 2},
            Adjustment(verb=AdjustmentVerb.REMOVE, amount=0.5, percent=True, at_least=2),
        ),
        ({"set": 0}, Adjustment(verb=AdjustmentVerb.SET, amount=0.0)),
    ],
)
def test_an_adjustment_is_a_number_or_a_percentage(written: dict[str, object], adjustment: Adjustment) -> None:
    assert policy(**written).adjustment == adjustment


@pytest.mark.parametrize(("blind", "floor"), [("hold", None), ("floor 3", 3), ("floor  0", 0), ({"floor": 4}, 4)])
def test_blind_is_hold_or_a_floor(blind: object, floor: int | None) -> None:
    assert group(blind=blind).blind_floor == floor


@pytest.mark.parametrize("duration", ["120s", "2m", "0.5h", "1h 30m", 0, "0s", "250ms"])
def test_durations_carry_units_but_zero_needs_none(duration: object) -> None:
    assert policy(add=1, duration=duration).duration >= 0


def test_a_condition_reduces_across_members_and_then_over_the_window() -> None:
    idle = condition(across="max", aggregate="last", window="5m", at_most=3, quorum="95%")
    assert (idle.across, idle.aggregate, idle.window) == (Reduce.MAX, Reduce.LAST, 300.0)
    assert (idle.compare, idle.threshold, idle.quorum) == (Compare.AT_MOST, 3.0, 0.95)


def test_a_profile_says_how_members_start_answer_and_are_ready() -> None:
    web = profile(
        env={"A": "b"},
        directory="/srv",
        snmp={"port": 1161, "community": {"file": "/etc/community"}},
        ready={"http": "/up?full=1", "port": 80, "within": "30s"},
    )
    assert web.recipe == ProcessRecipe(command=("serve",), env={"A": "b"}, directory="/srv")
    assert web.snmp == SnmpAccess(port=1161, community=SecretRef(file="/etc/community"))
    assert web.ready == ReadyProbe(path="/up?full=1", port=80, within=30.0)


BOTH = (Severity.WARNING, Severity.ERROR)
PAGE = Notify(target=NotifyCommand(command=("/bin/page", "--group")), on=BOTH)


def notifying(for_all: object, own: object) -> Notify | None:
    group = {"profile": "web", "min": 2, "max": 8}
    document = {
        "groups": {"g": group if own is None else {**group, "notify": own}},
        **({} if for_all is None else {"notify": for_all}),
    }
    return build(Document.model_validate(document), {}, {}).groups[GroupId("g")].notify


def test_without_notify_no_notification_is_sent() -> None:
    assert notifying(None, None) is None


def test_decisions_are_sent_in_the_format_that_the_file_names() -> None:
    own = {"url": "https://pager.example.org/t", "secret": {"env": "KEY"}, "format": "cloudevents", "decisions": True}
    target = NotifyUrl(url="https://pager.example.org/t", secret=SecretRef(env="KEY"), format=NoticeFormat.CLOUDEVENTS)
    assert notifying(None, own) == Notify(target=target, on=BOTH, decisions=True)


def test_the_address_of_slack_is_a_secret_that_is_kept_elsewhere() -> None:
    assert notifying({"slack": {"env": "SLACK"}}, None) == Notify(
        target=NotifySlack(url=SecretRef(env="SLACK")), on=BOTH
    )
    with pytest.raises(ValidationError, match="format is for a url"):
        notifying({"slack": {"env": "SLACK"}, "format": "cloudevents"}, None)


def test_a_groups_own_notify_replaces_the_one_for_all() -> None:
    assert notifying({"command": ["/bin/page", "--group"]}, None) == PAGE
    own = {"url": "https://pager.example.org/t", "secret": {"env": "KEY"}, "on": ["error"]}
    target = NotifyUrl(url="https://pager.example.org/t", secret=SecretRef(env="KEY"))
    assert notifying({"command": ["/bin/page", "--group"]}, own) == Notify(target=target, on=(Severity.ERROR,))


@pytest.mark.parametrize(
    ("on", "severities"), [(["error", "warning"], BOTH), (["error"], (Severity.ERROR,)), ([], ())], ids=str
)
def test_severities_of_notifications_stand_in_order(on: list[str], severities: tuple[Severity, ...]) -> None:
    notify = notifying({"command": ["/bin/page"], "on": on}, None)
    assert notify is not None
    assert notify.on == severities


@pytest.mark.parametrize(
    "url",
    [
        "https://pager.example.org",
        "https://10.0.0.1:8443/a?b=c@d",
        "http://127.0.0.1:9000/hook",
        "http://[::1]:9000/",
        "http://localhost/hook",
    ],
)
def test_notices_go_by_https_or_stay_on_this_machine(url: str) -> None:
    notify = notifying({"url": url, "secret": {"file": "/etc/key"}}, None)
    assert notify == Notify(target=NotifyUrl(url=url, secret=SecretRef(file="/etc/key")), on=BOTH)


@pytest.mark.parametrize(
    ("url", "because"),
    [
        ("http://pager.example.org/", "plain http"),
        ("http://0.0.0.0/", "plain http"),
        ("http://127.0.0.1.example.org/", "plain http"),
        ("https://hunter2@pager.example.org/", "without user and password"),
        ("https://u:hunter2@pager.example.org/", "without user and password"),
        ("https://:@pager.example.org/hunter2", "without user and password"),
        ("https://pager.example.org/#hunter2", "without #"),
        ("ftp://pager.example.org/hunter2", "an address such as"),
        ("https:///hunter2", "an address such as"),
        ("https://pager.example.org:0/hunter2", "an address such as"),
        ("https://pager.example.org:99999/hunter2", "an address such as"),
        ("https://[::1/hunter2", "an address such as"),
        ("https://pager.example.org/hunter2\r\nX: y", "an address such as"),
        ("https://1.2.3.256/hunter2", "an address such as"),
    ],
)
def test_an_address_that_notices_cannot_go_to_is_refused_without_repeating_it(url: str, because: str) -> None:
    text = json.dumps({"notify": {"url": url, "secret": {"env": "KEY"}}})
    with pytest.raises(DeclarationError) as caught:
        parse(text, "web.yaml")
    (problem,) = caught.value.problems
    assert problem.message.startswith("notify.url: this value is not ")
    assert because in problem.message
    assert "hunter2" not in problem.message


@pytest.mark.parametrize(
    ("listen", "address", "port"), [("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:80", "::1", 80), ("host:1", "host", 1)]
)
def test_a_shared_listener_has_an_address(listen: str, address: str, port: int) -> None:
    document = Document.model_validate({"balancers": {"b": {"shared_listener": {"listen": listen}}}})
    (listener,) = build(document, {}, {}).balancers.values()
    assert listener == SharedListener(id=listener.id, address=address, port=port)


@pytest.mark.parametrize("socket", ["/run/haproxy/admin.sock", "127.0.0.1:9999"])
def test_haproxy_is_steered_over_a_path_or_an_address(socket: str) -> None:
    document = Document.model_validate({"balancers": {"b": {"haproxy": {"socket": socket, "backend": "web"}}}})
    (haproxy,) = build(document, {}, {}).balancers.values()
    assert haproxy == HaproxyBalancer(id=haproxy.id, socket=socket, backend="web")


def test_several_processes_and_a_template_are_one_balancer() -> None:
    written = {"sockets": ["/run/a.sock", "[::1]:99"], "backend": "web", "template": "w", "map": "/var/lib/m.map"}
    (haproxy,) = build(Document.model_validate({"balancers": {"b": {"haproxy": written}}}), {}, {}).balancers.values()
    assert isinstance(haproxy, HaproxyBalancer)
    assert haproxy.sockets == ("/run/a.sock", "[::1]:99")
    assert haproxy.template == ServerTemplate(prefix="w", map="/var/lib/m.map")


@pytest.mark.parametrize(
    ("written", "because"),
    [
        pytest.param({"backend": "web"}, "where HAProxy is steered is missing", id="no socket"),
        pytest.param({"socket": "/a", "sockets": ["/b"], "backend": "web"}, "more than once", id="both"),
        pytest.param({"sockets": ["/b", "/b"], "backend": "web"}, "written twice", id="twice"),
        pytest.param({"socket": "/a", "backend": "web", "template": "w"}, "template needs map", id="no map"),
        pytest.param(
            {"socket": "/a", "backend": "web", "template": "w", "map": "/m;del"}, "an absolute path", id="a command"
        ),
    ],
)
def test_a_haproxy_that_cannot_be_steered_is_refused(written: Mapping[str, object], because: str) -> None:
    with pytest.raises(ValueError, match=because):
        Document.model_validate({"balancers": {"b": {"haproxy": written}}})


@pytest.mark.parametrize(
    "listen", ["1.2.3:80", "1.2.3.256:80", "::1:80", "[1.2.3.4]:80", "host:0", "host:65536", ":80", 80]
)
def test_an_address_that_cannot_be_listened_on_is_refused(listen: object) -> None:
    with pytest.raises(ValueError, match="an address and a port"):
        Document.model_validate({"balancers": {"b": {"shared_listener": {"listen": listen}}}})


def mappings() -> Iterator[type[Declared]]:
    waiting: list[type[Declared]] = [Declared]
    while waiting:
        subclasses = waiting.pop().__subclasses__()
        yield from subclasses
        waiting.extend(subclasses)


BESIDE: Mapping[tuple[type[Declared], str], Mapping[str, object]] = {
    (ListenDocument, "address"): {"certificate": None, "key": None},
    (ListenDocument, "clients"): {"certificate": None, "key": None},
    (SnmpDocument, "user"): {"version": "3"},
    (SnmpDocument, "auth"): {"version": "3", "user": "trimtab"},
    (SnmpDocument, "priv"): {"version": "3", "user": "trimtab", "auth": {"sha256": {"env": "SNMP_AUTH"}}},
    (ConditionDocument, ""): {"counter": "cpu", "above": 80},
    **{(ConditionDocument, compare.value): {"counter": "cpu"} for compare in Compare},
    (ConditionDocument, "expression"): {"dialect": "native"},
    (ConditionDocument, "dialect"): {"expression": "cpu > 80"},
    (NetscalerDocument, ""): {"service_group": "web"},
    (HaproxyDocument, "template"): {"socket": "/run/h.sock", "map": "/m"},
    (HaproxyDocument, "map"): {"socket": "/run/h.sock", "template": "web"},
    (VipDocument, ""): {"subnet": "public"},
    (MadeRuleDocument, ""): {"network": "web-tier"},
    (PersistenceDocument, "cookie_name"): {"type": "APP_COOKIE"},
    **{(HealthMonitorDocument, key): {"type": "HTTP"} for key in ("http_method", "url_path", "expected_codes")},
    (CounterDocument, "server"): {"prometheus": "up"},
    (CounterDocument, "label"): {"prometheus": "up"},
    (CounterDocument, "over"): {"prometheus": "up", "rows": "avg"},
    (CounterDocument, "rows"): {"snmp": "IF-MIB::ifHCInOctets"},
    (ForecastLoadDocument, "from"): {"each": "learned"},
    (PolicyDocument, ""): {"when": ["busy"], "add": 2},
    (PolicyDocument, "by"): {"when": ["busy"], "steps": [{"over": 0, "add": 1}]},
    **{(PolicyDocument, key): {"when": ["busy"]} for key in ("add", "remove", "set", "steps")},
    **{(PolicyDocument, key): dict[str, object]() for key in ("target", "pass_through", "forecast")},
    (TargetDocument, "each"): {"counter": "backlog"},
    **{(PolicyDocument, key): {"add": 1} for key in ("schedule", "at")},
    **{(PolicyDocument, key): {"schedule": "0 8 * * *", "until": "10h"} for key in ("floor", "ceiling")},
    (PolicyDocument, "until"): {"schedule": "0 8 * * *", "floor": 6},
    (PolicyDocument, "timezone"): {"schedule": "0 8 * * *", "add": 1},
    (PolicyDocument, "missed"): {"schedule": "0 8 * * *", "add": 1},
    (HttpCounterDocument, ""): {"port": 9100, "path": "/metrics", "metric": "up"},
    (HttpCounterDocument, "url"): {"jsonpath": "$.depth"},
    (HttpCounterDocument, "jsonpath"): {"port": 9100, "path": "/stats"},
    (HttpCounterDocument, "user"): {"port": 9100, "path": "/metrics", "metric": "up", "password": {"env": "PASSWORD"}},
    (PaceDocument, ""): {"count": 4},
    **{(LibvirtDocument, key): {"uri": None, "certificate": None, "key": None} for key in ("certificate", "key")},
    (HolidaysDocument, ""): {"dates": ["12-25"]},
    (HttpCounterDocument, "password"): {"port": 9100, "path": "/metrics", "metric": "up", "user": "trimtab"},
}
"""What must stand beside a key (or beside every key, "") for its example to be valid."""


@pytest.mark.parametrize("mapping", list(mappings()), ids=lambda mapping: mapping.__name__)
def test_every_key_has_a_description_and_an_example_that_it_accepts(mapping: type[Declared]) -> None:
    examples = {key: field.examples or [] for key, field in mapping.keys().items()}
    least = [key for key, field in mapping.keys().items() if field.is_required()]
    for key, field in mapping.keys().items():
        assert field.description, key
        assert examples[key], key
        beside = BESIDE.get((mapping, key), BESIDE.get((mapping, "")))
        if beside is None:
            chosen = [] if key in mapping.choice else mapping.choice[:1]
            beside = dict.fromkeys(mapping.together if key in mapping.together else chosen)
        whole = {other: examples[other][0] for other in least} | beside
        for example in examples[key]:
            given = {other: examples[other][0] if value is None else value for other, value in whole.items()}
            mapping.model_validate(given | {key: example})


def test_keys_of_later_versions_and_hidden_keys_are_distinct_from_served_ones() -> None:
    for mapping in mappings():
        assert not set(mapping.later) & set(mapping.model_fields), mapping
        assert set(mapping.hidden) <= set(mapping.model_fields), mapping
        assert {*mapping.choice, *mapping.together} <= set(mapping.model_fields), mapping


def test_a_place_leads_to_the_mapping_that_stands_there() -> None:
    assert mapping_at(()) is Document
    found = mapping_at(("groups", "web", "balancers", "0"))
    assert found is not None
    assert set(found.model_fields) == {"use", "port"}
    assert mapping_at(("groups",)) is None
    assert mapping_at(("groups", "web", "min")) is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"count": 10}, Calls(count=10, per=1.0, at_once=8)),
        ({"count": 60, "per": "1m", "at_once": 2}, Calls(count=60, per=60.0, at_once=2)),
    ],
)
def test_a_cloud_says_how_much_may_be_asked_of_it(written: dict[str, object], expected: Calls) -> None:
    document = Document.model_validate({"clouds": {"c": {"process": {}, "calls": written}}})
    assert build(document, {}, {}).clouds[CloudId("c")].calls == expected


@pytest.mark.parametrize("written", [{}, {"count": 1}, {"count": 2, "per": "0s"}, {"count": 2, "at_once": 0}])
def test_a_cloud_may_be_asked_for_something(written: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Document.model_validate({"clouds": {"c": {"process": {}, "calls": written}}})
