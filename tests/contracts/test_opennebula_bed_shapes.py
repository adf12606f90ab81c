"""What our own OpenNebula answers is what a real one answers: every element, every refusal, in the same words."""

from __future__ import annotations

import re
import xmlrpc.client
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

import pytest

from collector.clients.opennebula.messages import NotAllowed
from config.errors import Full, Permanent, Transient
from handler.orchestrators.opennebula.doctor import limits_of
from handler.orchestrators.opennebula.driver import OpennebulaOrchestrator
from handler.planning.world import ServerState
from tests.support.opennebula import OpennebulaStage, opennebula_stage
from tests.support.opennebula_bed import (
    NebulaBedStage,
    a_bed,
    a_quota,
    a_secret,
    a_user,
    as_admin,
    facts,
    held,
    wall,
)
from tests.support.opennebula_wire import PASSWORD, USER
from tests.support.waiting import until

pytestmark = pytest.mark.bed("opennebula")

MISSING_ID, NETWORK = 999999, "<TEMPLATE><NIC><NETWORK_ID>{}</NETWORK_ID></NIC><TRIMTAB>{}</TRIMTAB></TEMPLATE>"


@dataclass
class Side:
    """One of the two, asked without a driver."""

    endpoint: str
    session: str
    template: int
    own: int = 0
    """A machine of the user."""
    theirs: int = 0
    """A machine of another user."""

    def ask(self, method: str, *arguments: object) -> tuple[Any, ...]:
        there = {"{own}": self.own, "{theirs}": self.theirs, "{template}": self.template}
        given = [there.get(each, each) if isinstance(each, str) else each for each in arguments]
        try:
            return tuple(self.called(self.session, method, *given))
        except xmlrpc.client.Fault as fault:
            return fault.faultCode, fault.faultString

    def called(self, session: str, method: str, *given: object) -> list[Any]:
        with xmlrpc.client.ServerProxy(self.endpoint) as proxy:
            answer: Any = getattr(proxy, f"one.{method}")(session, *given)
        return list(answer)

    def made(self, name: str) -> int:
        done, own, *_ = self.ask("template.instantiate", "{template}", name, False, NETWORK.format(0, name), False)
        assert done, own
        until(lambda: "<LCM_STATE>3<" in self.ask("vm.info", own)[1], every=0.1)
        return int(own)


def elements(document: str) -> set[str]:
    """The paths of everything in it, without the numbers of anything."""

    def below(node: ElementTree.Element, path: str) -> Iterator[str]:
        yield path
        for child in node:
            yield from below(child, f"{path}/{child.tag}")

    root = ElementTree.fromstring(document)  # noqa: S314 of the two sides
    return set(below(root, root.tag))


def words(text: object) -> str:
    return re.sub("[0-9]+", "N", str(text))


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    with opennebula_stage() as stage, a_user("TEMPLATE") as cloud:
        ours = Side(stage.endpoint, f"{USER}:{PASSWORD}", 3)
        ours.theirs = stage.wire.add("theirs", owner="other").id
        real = Side(cloud.endpoint, f"{cloud.user}:{facts()['password']}", 0)
        real.theirs = as_admin("template.instantiate", 0, "theirs", False, "", False)[1]
        try:
            ours.own, real.own = ours.made("web-k3f9ab-1"), real.made("web-k3f9ab-1")
            measure(stage, ours)
            until(lambda: "<CPU>" in real.ask("vmpool.monitoring", -3, 0)[1], every=0.2)
            yield ours, real
        finally:
            as_admin("vm.recover", real.theirs, 3)


def measure(stage: OpennebulaStage, side: Side) -> None:
    vm = stage.wire.vms[side.own]
    kinds = ("CPU", "MEMORY", "NETRX", "NETTX", "DISKRDBYTES", "DISKWRBYTES", "DISKRDIOPS", "DISKWRIOPS")
    vm.polled, vm.monitoring = 1000, dict.fromkeys(kinds, "1")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("vm.info", ("{own}", False)),
        ("vmpool.infoextended", (-3, 0, -100, -1)),
        ("vmpool.infoextended", (-3, 50, -100, -1)),
        ("vmpool.monitoring", (-3, 0)),
        ("templatepool.info", (-2, 0, -100)),
        ("vnpool.info", (-2, 0, -100)),
        ("template.info", ("{template}", False)),
        ("vn.info", (0,)),
        ("user.info", (-1,)),
        ("group.info", (-1,)),
    ],
)
def test_our_own_tells_nothing_that_a_real_one_does_not_opennebula_bed(
    sides: tuple[Side, Side], method: str, arguments: tuple[Any, ...]
) -> None:
    (answers, document, *rest), (real_answer, real_document, *real_rest) = (
        side.ask(method, *arguments) for side in sides
    )

    assert (answers, rest) == (real_answer, real_rest) == (True, [0])
    assert elements(document) - elements(real_document) == set()


def test_a_pool_of_a_real_one_tells_nothing_that_was_measured_opennebula_bed(sides: tuple[Side, Side]) -> None:
    for side in sides:
        alone, pool = side.ask("vm.info", "{own}")[1], side.ask("vmpool.infoextended", -3, 0, -100, -1)[1]
        assert "<LAST_POLL>0<" not in alone
        assert "<LAST_POLL>0<" in pool
        assert {"VM/MONITORING/CPU", "VM/MONITORING/TIMESTAMP"} <= elements(alone)
        assert "VM_POOL/VM/MONITORING/CPU" not in elements(pool)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("vm.info", (MISSING_ID,)),
        ("vm.info", ("{theirs}",)),
        ("vm.action", ("terminate", MISSING_ID)),
        ("vm.action", ("terminate", "{theirs}")),
        ("vm.update", (MISSING_ID, "<TEMPLATE/>", 1)),
        ("vm.update", ("{theirs}", "<TEMPLATE/>", 1)),
        ("template.instantiate", (MISSING_ID, "web", False, "", False)),
        ("template.instantiate", ("{template}", "web", False, NETWORK.format(MISSING_ID, "web"), False)),
        ("template.info", (MISSING_ID, False)),
        ("vn.info", (MISSING_ID,)),
        ("vm.nothing", (1,)),
    ],
)
def test_our_own_refuses_as_a_real_one_does_opennebula_bed(
    sides: tuple[Side, Side], method: str, arguments: tuple[Any, ...]
) -> None:
    ours, real = (side.ask(method, *arguments) for side in sides)

    assert ours[0] == real[0]
    assert words(ours[1]) == words(real[1])
    assert ours[2:3] == real[2:3]


def test_a_wrong_password_is_refused_as_a_real_one_does_opennebula_bed(sides: tuple[Side, Side]) -> None:
    answers = [side.called("fleet:wrong", "vm.info", 1) for side in sides]

    assert answers[0] == answers[1]


def test_a_machine_that_boots_or_stops_is_not_removed_as_on_a_real_one_opennebula_bed(
    sides: tuple[Side, Side],
) -> None:
    with opennebula_stage() as stage, held():
        ours, real = replace(sides[0], endpoint=stage.endpoint), sides[1]
        real.own, was = real.ask("template.instantiate", "{template}", "held", False, "", False)[1], real.own
        until(lambda: "<LCM_STATE>2<" in real.ask("vm.info", "{own}")[1], every=0.1)
        ours.own = stage.wire.add("held", lcm=2, looks=1000).id
        answers = [side.ask("vm.action", "terminate", "{own}") for side in (ours, real)]
        real.own = was

    assert answers[0][2] == answers[1][2]
    assert words(answers[0][1]) == words(answers[1][1])


def test_a_quota_is_met_in_the_words_of_a_real_one_opennebula_bed() -> None:
    with a_user("TEMPLATE") as cloud, opennebula_stage() as ours:
        stage = NebulaBedStage(cloud=cloud)
        stage.driver().create(stage.launch(1))
        ours.driver().create(ours.launch(1))
        a_quota(cloud, VMS=1)
        ours.wire.quota = 1

        answers = []
        for one in (stage, ours):
            with pytest.raises(Full) as refused:
                one.driver().create(one.launch(2))
            answers.append(words(refused.value).partition(": ")[2])
        assert answers[0] == answers[1]
        assert "raise the quota, or lower max" in answers[0]

        machines, *others = limits_of(stage.wire.ask("user.info", -1), "DEFAULT_USER_QUOTAS")
        group, *_ = limits_of(stage.wire.ask("group.info", -1), "DEFAULT_GROUP_QUOTAS")
        assert str(machines) == "machines 1 of 1"
        assert str(group) == "machines 1 without a limit"
        assert [str(limit) for limit in others] == [
            "CPUs 0.1 without a limit",
            "MiB of memory 64 without a limit",
            "running machines 1 without a limit",
        ]
        stage.clear()


def test_the_right_to_create_templates_is_all_that_a_user_is_given_opennebula_bed() -> None:
    with a_user() as without_rights, a_user("VM") as other, a_user("TEMPLATE") as enough:
        for cloud in (without_rights, other):
            stage = NebulaBedStage(cloud=cloud)
            with pytest.raises(NotAllowed, match="CREATE TEMPLATE"):
                stage.driver().create(stage.launch())
        stage = NebulaBedStage(cloud=enough)
        assert stage.driver().create(stage.launch()).state is ServerState.RUNNING
        assert all(check.look() for check in stage.driver().checks([stage.launch().profile], 3))
        stage.clear()


def test_a_member_that_is_given_to_another_user_is_foreign_opennebula_bed() -> None:
    stage = NebulaBedStage()
    driver = stage.driver()
    made = driver.create(stage.launch())
    try:
        assert as_admin("vm.chown", int(made.id), 0, 0)[0]

        assert driver.find(made.name) is None
        driver.destroy(made.name, grace=0.0)
        assert "<LCM_STATE>3<" in as_admin("vm.info", int(made.id))[1]
    finally:
        as_admin("vm.recover", int(made.id), 3)


def test_more_than_a_page_of_machines_is_read_while_others_come_opennebula_bed() -> None:
    with a_user("TEMPLATE") as cloud:
        stage = NebulaBedStage(cloud=cloud)
        driver = OpennebulaOrchestrator(cloud, stage.here, wall, a_secret)
        for sequence in range(1, 151):
            driver.create(stage.launch(sequence))
            if sequence > 100 and not sequence % 10:
                listing = driver.list_all()
                assert listing.complete, listing.because
                assert len(listing.servers) == sequence
        stage.clear()


def test_a_profile_whose_network_or_template_is_missing_is_refused_by_its_name_opennebula_bed() -> None:
    stage = NebulaBedStage()
    launch = stage.launch()
    recipe = launch.profile.recipe

    def made_of(**fields: Any) -> Any:
        profile = replace(launch.profile, recipe=replace(recipe, **fields))  # type: ignore[type-var]
        return replace(launch, profile=profile)

    driver = OpennebulaOrchestrator(a_bed(), stage.here, wall, a_secret)
    with pytest.raises(Permanent, match="virtual machine template"):
        driver.create(made_of(template=str(MISSING_ID)))
    with pytest.raises(Permanent, match="no network that the user can see is called 'nope'"):
        driver.create(made_of(networks=("nope",)))
    with pytest.raises(Transient, match="Virtual network with ID: 999999 does not exist"):
        driver.create(made_of(networks=(str(MISSING_ID),)))
    assert stage.count(launch.id.name) == 0
