from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.daemon import COMMUNITY, Daemon

API = "/api/v1"


def test_reading_needs_no_token(daemon: Daemon, group: str) -> None:
    groups = daemon.get(f"{API}/groups").json
    assert group in {each["group"] for each in groups}
    assert daemon.get(f"{API}/groups/{group}").json["desired"] == 1
    assert len(daemon.get(f"{API}/groups/{group}/members").json) == 1
    assert daemon.get(f"{API}/groups/{group}/why").json["words"]
    assert daemon.get(f"{API}/groups/{group}/history?limit=3").json


def test_a_group_that_is_not_there_is_answered_with_the_nearest(daemon: Daemon) -> None:
    for path in ("group-99", "group-99/members", "group-99/why", "group-99/history"):
        answer = daemon.get(f"{API}/groups/{path}")
        assert answer.status == 404
        assert "did you mean group-" in answer.json["error"]


def test_a_change_needs_the_token_and_is_then_made(daemon: Daemon, group: str) -> None:
    path = f"{API}/groups/{group}/size"
    assert daemon.ask("PUT", path, {"size": 2}).status == 401
    assert daemon.ask("PUT", path, {"size": 2}, bearer="wrong").status == 401
    answer = daemon.ask("PUT", path, {"size": 2}, bearer=daemon.token, headers={"X-Trimtab-User": "ada"})
    assert (answer.status, answer.json["desired_to"], answer.json["reason"]) == (202, 2, "scaled_out")
    daemon.settled(2, group)
    history = daemon.get(f"{API}/groups/{group}/history?limit=200").json
    assert "person ada" in {event["by"] for event in history}


def test_a_size_that_is_refused_is_answered_with_the_reason(daemon: Daemon, group: str) -> None:
    answer = daemon.ask("PUT", f"{API}/groups/{group}/size", {"size": 9}, bearer=daemon.token)
    assert (answer.status, answer.json["reason"]) == (403, "above_max")
    assert answer.json["answers"][0]["words"]


def test_a_policy_is_carried_out_from_outside_with_its_clamp_and_only_once(daemon: Daemon, group: str) -> None:
    path = f"{API}/groups/{group}/policies/out/execute"
    first = daemon.ask("POST", path, bearer=daemon.token, headers={"Idempotency-Key": "k1"})
    assert first.status == 202
    assert first.json["clamps"] == [{"guard": "at_max", "before": 6, "after": 3}]
    again = daemon.ask("POST", path, bearer=daemon.token, headers={"Idempotency-Key": "k1"})
    assert (again.status, again.json["repeated"], again.json["desired_to"]) == (202, True, 3)
    other = daemon.ask("POST", path, bearer=daemon.token)
    assert (other.status, other.json["reason"]) == (403, "at_max")


def test_an_alarm_acts_once_however_often_and_at_the_same_time_it_comes(daemon: Daemon, group: str) -> None:
    body = {"id": "alarm-7", "policy": "out", "by": "nagios"}

    def ring(_: int) -> tuple[int, bool]:
        answer = daemon.ask("POST", f"{API}/groups/{group}/alarms", body, bearer=daemon.token)
        return answer.status, answer.json["repeated"]

    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(ring, range(12)))
    assert {status for status, _ in answers} == {202}
    assert [repeated for _, repeated in answers].count(False) == 1
    assert daemon.group(group)["revision"] == 2


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"size": "many"}, "body.size"),
        ({"size": -1}, "body.size"),
        ({"size": 2_000_000}, "body.size"),
        ({"size": 2, "sise": 3}, "body.sise"),
        ({}, "body.size"),
        ([], "body"),
        (b"{", "body"),
        (b'{"size": 1, "force": "\\ud800"}', "body.force"),
    ],
    ids=str,
)
def test_a_body_that_does_not_fit_is_answered_with_the_place(daemon: Daemon, body: object, place: str) -> None:
    answer = daemon.ask("PUT", f"{API}/groups/group-1/size", body, bearer=daemon.token)
    assert answer.status == 422
    assert place in answer.json["error"]


@pytest.mark.parametrize("id", ["", "x" * 201, "\ud800"], ids=["empty", "long", "half a character"])
def test_an_alarm_id_that_cannot_be_kept_is_refused(daemon: Daemon, id: str) -> None:
    answer = daemon.ask("POST", f"{API}/groups/group-1/alarms", {"id": id, "policy": "out"}, bearer=daemon.token)
    assert answer.status == 422
    assert "error" in answer.json


def test_unknown_paths_and_methods_are_answered_in_the_same_form(daemon: Daemon) -> None:
    for method, path, status in (
        ("GET", f"{API}/nothing", 404),
        ("GET", f"{API}/groups/a%2fb", 404),
        ("GET", f"{API}/groups/", 404),
        ("DELETE", f"{API}/groups/?members=true", 404),
        ("POST", f"{API}/groups", 405),
    ):
        answer = daemon.ask(method, path, bearer=daemon.token)
        assert answer.status == status, path
        assert "error" in answer.json


def test_the_description_of_the_api_names_every_path_of_the_contract(daemon: Daemon) -> None:
    described = daemon.get(f"{API}/openapi.json").json
    assert described["openapi"].startswith("3.")
    assert {
        f"{API}/groups",
        f"{API}/groups/{{group}}/alarms",
        f"{API}/groups/{{group}}/policies/{{policy}}/execute",
        "/metrics",
        "/healthz",
        "/readyz",
    } <= described["paths"].keys()


def test_health_and_readiness(daemon: Daemon) -> None:
    assert daemon.get("/healthz").json == {"alive": True}
    ready = daemon.get("/readyz")
    assert ready.status == 200
    assert ready.json == {"ready": True, "checks": dict.fromkeys(ready.json["checks"], "ok")}


def test_no_secret_is_in_any_answer_metric_or_line_of_the_log(daemon: Daemon, group: str) -> None:
    paths = ["/metrics", f"{API}/groups", f"{API}/groups/{group}", f"{API}/groups/{group}/why", f"{API}/openapi.json"]
    answers = [daemon.get(path).text for path in paths]
    observed = daemon.ask("POST", f"{API}/groups/{group}/observe", {}, bearer=daemon.token).text
    for text in (*answers, observed, daemon.log.read_text()):
        assert daemon.token not in text
        assert COMMUNITY not in text


def test_metrics_parse_and_no_label_names_a_member_or_an_address(daemon: Daemon, group: str) -> None:
    answer = daemon.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    members = daemon.get(f"{API}/groups/{group}/members").json
    hidden = {member["name"] for member in members} | {member["address"] for member in members}
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    labels = {value for family in families.values() for sample in family.samples for value in sample.labels.values()}
    assert not {label for label in labels for secret in hidden if secret in label}
    states = {
        sample.labels["state"]: sample.value
        for sample in families["trimtab_group_members"].samples
        if sample.labels["group"] == group
    }
    assert states == {
        "building": 0, "joining": 0, "in_service": 1, "draining": 0, "leaving": 0, "broken": 0, "unknown": 0,
        "stuck": 0,
    }  # fmt: skip
