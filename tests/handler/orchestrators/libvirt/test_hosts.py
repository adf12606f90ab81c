"""Several hosts: where members go, and what a host that does not answer changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from collector.clients.libvirt.messages import Procedure
from config.errors import Permanent, Transient
from config.model.libvirt import LibvirtHost
from config.units import GroupId
from handler.orchestrators.libvirt.driver import LibvirtOrchestrator
from handler.planning.world import ServerState
from handler.ports.examination import CheckVerdict
from handler.ports.orchestrator import Launch
from tests.support.libvirt import HERE, MIB, LibvirtStage, a_libvirt, libvirt_stage, pretended
from tests.support.libvirt_relay import LOST
from tests.support.orchestrators import Clock

pytestmark = pytest.mark.real("libvirtd")

WEB = GroupId("web")


@dataclass
class Hosts:
    stages: dict[str, LibvirtStage]

    def driver(self, **fields: object) -> LibvirtOrchestrator:
        hosts = [
            LibvirtHost(name=name, uri=f"test:///default?socket={stage.relayed}") for name, stage in self.stages.items()
        ]
        return LibvirtOrchestrator(a_libvirt(*hosts, **fields), HERE, self.stages["h1"].clock)

    def launch(self, sequence: int = 1, group: str = "web", *, first: bool = False) -> Launch:
        return replace(self.stages["h1"].launch(sequence, group), first=first)

    def places(self, launch: Launch) -> list[str]:
        return [name for name, stage in self.stages.items() if stage.count(launch.id.name)]


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    clock = Clock()
    with contextlib.ExitStack() as running:
        yield Hosts({name: running.enter_context(libvirt_stage(clock=clock)) for name in ("h1", "h2")})


def test_members_go_to_the_host_with_the_fewest(hosts: Hosts) -> None:
    driver = hosts.driver()
    for sequence in range(1, 5):
        driver.create(hosts.launch(sequence))

    zones = [server.zone for server in driver.list(WEB).servers]

    assert sorted(map(str, zones)) == ["h1", "h1", "h2", "h2"]


def test_a_group_is_spread_where_hosts_have_equally_many_members(hosts: Hosts) -> None:
    driver = hosts.driver()
    for group, sequence in (("web", 1), ("api", 1), ("web", 2), ("api", 2)):
        driver.create(hosts.launch(sequence, group))

    assert sorted(str(server.zone) for server in driver.list(WEB).servers) == ["h1", "h2"]


def test_a_host_that_does_not_answer_makes_the_listing_partial_and_is_named(hosts: Hosts) -> None:
    driver = hosts.driver()
    for sequence in (1, 2):
        driver.create(hosts.launch(sequence))
    hosts.stages["h2"].wire.dead = True

    listing = driver.list(WEB)

    assert [server.zone for server in listing.servers] == ["h1"]
    assert not listing.complete
    assert "kvm: h2" in listing.because
    assert "h1" not in listing.because


def test_without_any_host_there_is_no_listing(hosts: Hosts) -> None:
    for stage in hosts.stages.values():
        stage.wire.dead = True

    with pytest.raises(Transient, match=r"kvm: h1.*kvm: h2"):
        hosts.driver().list_all()


def test_what_may_be_on_a_silent_host_is_not_known(hosts: Hosts) -> None:
    hosts.stages["h2"].wire.dead = True

    for call in (hosts.driver().find, lambda name: hosts.driver().destroy(name, grace=0.0)):
        with pytest.raises(Transient, match="kvm: h2"):
            call(hosts.launch().id.name)


def test_a_member_on_a_host_that_answers_is_found_and_removed_whatever_the_others_do(hosts: Hosts) -> None:
    launch = hosts.launch()
    hosts.driver().create(launch)
    hosts.stages["h2"].wire.dead = True

    assert hosts.driver().find(launch.id.name) is not None
    hosts.driver().destroy(launch.id.name, grace=0.0)

    assert hosts.places(launch) == []


def test_a_name_that_was_never_asked_for_is_made_on_a_host_that_answers(hosts: Hosts) -> None:
    launch = hosts.launch(first=True)
    hosts.stages["h1"].wire.dead = True

    assert hosts.driver().create(launch).zone == "h2"


def test_a_name_that_a_silent_host_may_have_is_not_made_on_another_one(hosts: Hosts) -> None:
    launch = hosts.launch(first=True)
    hosts.stages["h1"].wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, LOST)
    with pytest.raises(Transient):
        hosts.driver().create(launch)
    hosts.stages["h1"].wire.dead = True

    with pytest.raises(Transient, match="kvm: h1"):
        hosts.driver().create(replace(launch, first=False))

    hosts.stages["h1"].wire.dead = False
    assert hosts.driver().create(replace(launch, first=False)).zone == "h1"
    assert hosts.places(launch) == ["h1"]


def test_a_member_goes_past_a_host_without_memory(hosts: Hosts) -> None:
    hosts.stages["h1"].foreign_member("large")
    share = 24 * MIB / hosts.stages["h1"].direct.memory()

    assert hosts.driver(memory=share).create(hosts.launch()).zone == "h2"


def test_a_member_goes_past_a_host_that_refuses_it(hosts: Hosts) -> None:
    direct = hosts.stages["h1"].direct
    direct.delete_volume(direct.volume(direct.pool("default-pool"), "web"))

    assert hosts.driver().create(hosts.launch()).zone == "h2"


def test_if_every_host_refuses_a_member_the_first_reason_is_given(hosts: Hosts) -> None:
    for stage in hosts.stages.values():
        stage.direct.delete_volume(stage.direct.volume(stage.direct.pool("default-pool"), "web"))

    with pytest.raises(Permanent, match="kvm: h1"):
        hosts.driver().create(hosts.launch())


def test_the_memory_of_all_hosts_is_the_room_that_there_is(hosts: Hosts) -> None:
    most = hosts.stages["h1"].direct.memory() // MIB

    (quota,) = hosts.driver().quotas(hosts.launch().profile)

    assert (quota.limit.used, quota.limit.most, quota.each) == (0, 2 * most, 16)


def test_a_copy_that_a_migration_left_behind_is_not_shown_and_leaves_with_the_member(hosts: Hosts) -> None:
    launch = hosts.launch()
    hosts.driver().create(launch)
    mark = f'<t:member xmlns:t="urn:trimtab:libvirt:1" name="{launch.id.name}" made="0"/>'
    hosts.stages["h2"].direct.define(pretended(launch.id.name, f"<metadata>{mark}</metadata>"))

    (shown,) = hosts.driver().list_all().servers
    assert (shown.zone, shown.state) == ("h1", ServerState.RUNNING)

    hosts.driver().destroy(launch.id.name, grace=0.0)
    assert hosts.places(launch) == []


def test_two_domains_of_one_name_are_told_apart_by_their_ids(hosts: Hosts) -> None:
    ids = [stage.foreign_member("database") for stage in hosts.stages.values()]

    with pytest.raises(Permanent, match="write the id") as refused:
        hosts.driver().foreign_member("database")

    assert all(each in str(refused.value) for each in ids)
    assert hosts.driver().mark(ids[1], hosts.launch().id).zone == "h2"


def test_the_doctor_says_what_each_host_has_and_which_lacks_what_a_profile_names(hosts: Hosts) -> None:
    direct = hosts.stages["h2"].direct
    direct.delete_volume(direct.volume(direct.pool("default-pool"), "web"))

    looks = {}
    for check in hosts.driver().checks([hosts.launch().profile], 4):
        try:
            looks[check.what] = check.look().words
        except Permanent as error:
            looks[check.what] = str(error)

    assert looks["version"].startswith("h1 has libvirt ")
    assert "h2 has libvirt" in looks["version"]
    assert looks["network"] == "network default is there"
    assert looks["base"].startswith("kvm: h2: ")
    assert looks["memory"] == f"MiB of memory 0 of {2 * direct.memory() // MIB}"


def test_the_doctor_warns_if_the_groups_may_need_more_memory_than_there_is(hosts: Hosts) -> None:
    checks = hosts.driver(memory=20 * MIB / hosts.stages["h1"].direct.memory()).checks([hosts.launch().profile], 4)

    (look,) = [check.look() for check in checks if check.what == "memory"]

    assert look.verdict is CheckVerdict.PROBLEM
    assert "groups may want 4" in look.words
