from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from config.causes import READABLE, REMEDIES, FailureCause
from config.errors import Full, Permanent, Refused, Transient
from config.load import parse
from config.model.balancers import Balancer, HaproxyBalancer
from config.model.catalogue import Catalogue, Cloud, ProcessCloud
from config.units import Instant
from handler.balancers.haproxy.runtime import PUT_BACK
from handler.balancers.haproxy.several_endpoints import haproxy
from handler.operations.examining import CORRECT, Drivers, asked, checks_of, examined
from handler.orchestrators.process.driver import ProcessOrchestrator
from handler.orchestrators.table import orchestrator_for
from handler.ports.balancer import Balancer as BalancerPort
from handler.ports.examination import UNREACHED, About, Check, CheckVerdict, DoctorFinding, Look, fine
from handler.ports.orchestrator import Orchestrator
from tests.support.fake_cloud import FakeBalancer, FakeClock
from tests.support.haproxy import running_haproxy


def a_check(look: Callable[[], Look], *, remedy: str = "") -> Check:
    return Check(about=About.CLOUD, name="prod", what="access", look=look, remedy=remedy)


def raising(error: Exception) -> Callable[[], Look]:
    def look() -> Look:
        raise error

    return look


@pytest.mark.parametrize(
    ("error", "words", "remedy"),
    [
        pytest.param(Transient("prod: no answer"), "prod: no answer", UNREACHED, id="no answer"),
        pytest.param(Permanent("prod: no such thing"), "prod: no such thing", "look for it", id="no, and no cause"),
        pytest.param(
            Permanent("prod: refused: check the credentials, and what they may do", cause=FailureCause.CREDENTIALS),
            "prod: refused",
            REMEDIES[FailureCause.CREDENTIALS],
            id="a cause, said once",
        ),
        pytest.param(
            Permanent("Image 7 could not be found."), None, REMEDIES[FailureCause.IMAGE], id="a cause in the words"
        ),
        pytest.param(Full("prod: quota: 4 of 4"), None, REMEDIES[FailureCause.QUOTA], id="quota"),
        pytest.param(Refused("the variable KEY is not set"), "the variable KEY is not set", CORRECT, id="refused"),
        pytest.param(
            Permanent("no pool", cause=FailureCause.POOL, remedy="make one"), "no pool", "make one", id="its own"
        ),
    ],
)
def test_an_error_of_a_driver_becomes_a_problem_with_its_fix(error: Exception, words: str | None, remedy: str) -> None:
    (look,) = asked([a_check(raising(error), remedy="look for it")], 5.0)

    assert (look.verdict, look.remedy) == (CheckVerdict.PROBLEM, remedy)
    assert words is None or look.words == words


def test_a_check_that_does_not_end_in_time_delays_no_other() -> None:
    never = threading.Event()

    def stuck() -> Look:
        never.wait()
        return fine("at last")

    looks = asked([a_check(stuck), a_check(lambda: fine("here")), a_check(raising(Transient("not here")))], 0.2)
    never.set()

    assert [look.words for look in looks] == ["no answer within 0.2 s", "here", "not here"]


def test_results_are_in_the_order_of_the_checks() -> None:
    looks = asked([a_check(partial(fine, str(number))) for number in range(100)], 10.0)

    assert [look.words for look in looks] == [str(number) for number in range(100)]


MODEL = """
clouds: {here: {process: {}}, idle: {process: {}}, played: {simulated: {}}}
balancers:
  door: {shared_listener: {listen: "127.0.0.1:8080"}}
  edge: {haproxy: {socket: %s, backend: %s}}
profiles:
  web: {cloud: here, command: ["sh"]}
  gone: {cloud: here, command: ["no-such-program"]}
  there: {cloud: here, command: ["./start"], directory: /no/such/place}
  unused: {cloud: here, command: ["no-such-program-either"]}
  toy: {cloud: played}
groups:
  web: {profile: web, min: 0, max: 3, balancers: [{use: edge, port: 80}]}
  api: {profile: gone, min: 0, max: 3, balancers: [{use: edge, port: 80}, {use: door, port: 8080}]}
  far: {profile: there, min: 0, max: 1}
  toy: {profile: toy, min: 0, max: 1}
"""


def a_model(socket: str = "127.0.0.1:1", backend: str = "web") -> Catalogue:
    return parse(MODEL % (socket, backend), "model.yaml")


def found_in(catalogue: Catalogue, state: Path) -> tuple[DoctorFinding, ...]:
    def cloud(declared: Cloud) -> Orchestrator:
        assert isinstance(declared, ProcessCloud)
        return ProcessOrchestrator(declared, "k3f9ab", state, lambda: Instant(0.0))

    def balancer(declared: Balancer) -> BalancerPort:
        assert isinstance(declared, HaproxyBalancer)
        return haproxy(declared)

    return examined(catalogue, Drivers(cloud=cloud, balancer=balancer), 20.0)


def test_problems_come_last_and_name_the_groups_that_they_concern(tmp_path: Path) -> None:
    findings = found_in(a_model(), tmp_path)
    problems = [finding for finding in findings if finding.verdict is CheckVerdict.PROBLEM]

    assert list(findings[-len(problems) :]) == problems
    assert [(each.about.value, each.name, each.groups) for each in problems] == [
        ("profile", "gone", ("api",)),
        ("profile", "there", ("far",)),
        ("balancer", "edge", ("web", "api")),
    ]
    assert [each.verdict for each in findings if each.what == "settings"] == [CheckVerdict.UNKNOWN]


@pytest.mark.parametrize(
    ("exclusive", "found"),
    [
        pytest.param("", [], id="others are tolerated"),
        pytest.param(
            ", exclusive: true",
            [("db is registered with edge and is not ours, and web is exclusive", "take it out of edge, or exclusive")],
            id="they are not",
        ),
    ],
)
def test_foreign_machines_are_a_problem_where_a_group_is_exclusive(
    exclusive: str, found: list[tuple[str, str]], tmp_path: Path
) -> None:
    edge = FakeBalancer(FakeClock(), foreign={("10.0.0.9", 80): "db"})
    text = (MODEL % ("127.0.0.1:1", "web")).replace("use: edge, port: 80}]}", f"use: edge, port: 80}}]{exclusive}}}", 1)
    drivers = Drivers(
        cloud=lambda each: orchestrator_for(each, "k3f9ab", tmp_path, lambda: Instant(0.0)), balancer=lambda _: edge
    )
    checks = [each for each in checks_of(parse(text, "model.yaml"), drivers) if each.what == "exclusive"]
    assert [(look.words, look.remedy) for look in asked(checks, 5.0)] == [
        (words, f"{remedy} out of web") for words, remedy in found
    ]


def test_profiles_that_no_group_uses_are_not_checked_and_nothing_is_written(tmp_path: Path) -> None:
    findings = found_in(a_model(), tmp_path)

    assert "unused" not in {finding.name for finding in findings}
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_reported_once_for_its_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openstack.exceptions", None)
    declared = (
        "clouds: {far: {openstack: {cloud: far}}}\nprofiles: {web: {cloud: far, image: web, flavor: small}}\n"
        "groups: {web: {profile: web, min: 1, max: 2}}\n"
    )

    def cloud(each: Cloud) -> Orchestrator:
        return orchestrator_for(each, "k3f9ab", tmp_path, lambda: Instant(0.0))

    def balancer(_: Balancer) -> BalancerPort:
        raise AssertionError("there is none")

    findings = examined(parse(declared, "far.yaml"), Drivers(cloud=cloud, balancer=balancer), 20.0)
    problems = [(each.what, each.remedy) for each in findings if each.verdict is CheckVerdict.PROBLEM]
    assert problems == [("access", REMEDIES[FailureCause.LIBRARY])]


@pytest.mark.parametrize(
    ("cloud", "made_of"),
    [
        pytest.param(
            "openstack: {application_credential: {auth_url: 'http://127.0.0.1:1/v3', id: x, secret: {file: %s}}}",
            "image: web, flavor: small",
            id="openstack",
        ),
        pytest.param(
            "cloudstack: {endpoint: 'http://127.0.0.1:1', api_key: {file: %s}, secret: {file: %s}}",
            "zone: par1, template: web, offering: small",
            id="cloudstack",
        ),
        pytest.param(
            "opennebula: {endpoint: 'http://127.0.0.1:1', user: fleet, password: {file: %s}}",
            "template: web",
            id="opennebula",
        ),
    ],
)
def test_a_secret_that_every_account_may_read_is_reported_once_with_its_fix(
    tmp_path: Path, cloud: str, made_of: str
) -> None:
    kept = tmp_path / "secret"
    kept.write_text("hunter2")
    kept.chmod(0o644)
    declared = f"clouds: {{far: {{{cloud.replace('%s', str(kept))}}}}}\nprofiles: {{web: {{cloud: far, {made_of}}}}}\n"
    drivers = Drivers(
        cloud=lambda each: orchestrator_for(each, "k3f9ab", tmp_path, lambda: Instant(0.0)),
        balancer=lambda _: pytest.fail("there is none"),
    )

    catalogue = parse(declared + "groups: {web: {profile: web, min: 1, max: 2}}\n", "far.yaml")
    problems = [each for each in examined(catalogue, drivers, 20.0) if each.verdict is CheckVerdict.PROBLEM]

    assert [each.remedy for each in problems if each.what == "access"] == [READABLE]
    assert {each.what for each in problems} <= {"access", "clock"}
    assert "hunter2" not in str(problems)


@pytest.mark.real("haproxy")
def test_a_haproxy_that_refuses_members_is_reported_with_its_fix(tmp_path: Path) -> None:
    with running_haproxy(tmp_path) as running:
        able = found_in(a_model(str(running.socket)), tmp_path / "state")
        astray = found_in(a_model(str(running.socket), "nowhere"), tmp_path / "state")

    findings = {each.what: each for each in able if each.about is About.BALANCER and each.name == "edge"}
    assert {each.verdict for each in findings.values()} == {CheckVerdict.OK}
    assert "forgets the members" in findings["settings"].words
    (problem,) = [each for each in astray if each.name == "edge" and each.verdict is CheckVerdict.PROBLEM]
    assert "nowhere" in problem.words
    assert problem.remedy == PUT_BACK
