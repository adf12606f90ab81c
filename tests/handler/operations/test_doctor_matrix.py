"""Driver × check: the checks of `trimtab doctor` for every kind of cloud and balancer, or why there is none."""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.load import parse
from config.model.access import SecretRef
from config.model.balancers import Balancer, HaproxyBalancer, SharedListener
from config.model.catalogue import (
    Catalogue,
    Cloud,
    CloudstackCloud,
    CloudstackRuleBalancer,
    LibvirtCloud,
    NetscalerBalancer,
    OctaviaBalancer,
    OpennebulaCloud,
    OpenstackCloud,
    ProcessCloud,
    SimulatedCloud,
)
from config.model.clouds import OneflowCloud
from config.model.managed import ManagedBalancer
from config.units import Instant
from handler.balancers.table import balancer_for
from handler.operations.examining import CORRECT, Drivers, asked, checks_of
from handler.orchestrators.table import orchestrator_for
from handler.ports.examination import About, Check, CheckVerdict
from handler.ports.orchestrator import no_papers

MODEL = """
clouds:
  here: {process: {}}
  played: {simulated: {}}
  stack: {cloudstack: {endpoint: "http://127.0.0.1:1/client/api", api_key: {env: K}, secret: {env: K}}}
  nebula: {opennebula: {endpoint: "http://127.0.0.1:1/RPC2", user: u, password: {env: K}}}
  flow: {oneflow: {endpoint: "http://127.0.0.1:1", rpc: "http://127.0.0.1:1/RPC2", user: u, password: {env: K}}}
  kvm: {libvirt: {uri: "qemu:///system?socket=/nonexistent/libvirt-sock"}}
  open:
    openstack: {application_credential: {auth_url: "http://127.0.0.1:1/v3", id: x, secret: {env: K}}}
balancers:
  shared_listener: {shared_listener: {listen: "127.0.0.1:8080"}}
  haproxy: {haproxy: {socket: "127.0.0.1:1", backend: web}}
  netscaler: {netscaler: {url: "http://127.0.0.1:1", user: u, password: {env: K}, service_group: web}}
  rule: {cloudstack: {endpoint: "http://127.0.0.1:1/client/api", api_key: {env: K}, secret: {env: K}, rule: web}}
  octavia: {octavia: {cloud: open, pool: web}}
  managed: {managed: {cloud: open, vip: {subnet: s}, listener: {protocol: HTTP, port: 80}, pool: {protocol: HTTP}}}
profiles:
  here: {cloud: here, command: [sh]}
  played: {cloud: played}
  stack: {cloud: stack, zone: z, template: t, offering: o}
  nebula: {cloud: nebula, template: t}
  flow: {cloud: flow, service: s, role: r}
  kvm: {cloud: kvm, base: images/web, memory: 1GiB, vcpus: 1, networks: [n]}
  open: {cloud: open, image: i, flavor: f, networks: [n], parts: {data: {volume: {size: 1GiB}}}}
groups:
  here: {profile: here, min: 0, max: 2, balancers: [{use: haproxy, port: 80}]}
  played: {profile: played, min: 0, max: 2}
  stack: {profile: stack, min: 0, max: 2}
  nebula: {profile: nebula, min: 0, max: 2}
  kvm: {profile: kvm, min: 0, max: 2}
  flow: {profile: flow, min: 0, max: 2}
  open: {profile: open, min: 0, max: 2}
"""

PLAYED = "it is simulated by Trimtab itself"
OF_THE_DAEMON = "it is held by the daemon itself"


@dataclass(frozen=True, kw_only=True)
class Row:
    """Names of checks, or a reason why there is none. ``access`` is credentials and reachability in one."""

    version: tuple[str, ...] | str
    clock: tuple[str, ...] | str
    quota: tuple[str, ...] | str
    profile: tuple[str, ...] | str = "balancers have no profiles"
    state: tuple[str, ...] | str = "clouds are no balancers"
    """For a balancer: whether it takes changes."""
    access: tuple[str, ...] | str = ("access",)

    @property
    def cells(self) -> Mapping[str, tuple[str, ...] | str]:
        return {name: getattr(self, name) for name in ("access", "version", "clock", "quota", "profile", "state")}


VERSION, CLOCK, QUOTA = ("version",), ("clock",), ("quota",)
NO_REGISTRATIONS = "it counts no members"
UNTOLD = "its API does not show how much of its quotas is used"

MATRIX: Mapping[type, Row] = {
    ProcessCloud: Row(
        version="the kernel is asked for what is needed when it is needed",
        clock="it is our own",
        quota="the limits of this machine are those of each process",
        profile=("command", "limits"),
    ),
    SimulatedCloud: Row(version=PLAYED, clock=PLAYED, quota=PLAYED, profile=PLAYED),
    CloudstackCloud: Row(version=VERSION, clock=CLOCK, quota=QUOTA, profile=("zone", "template", "offering")),
    OpennebulaCloud: Row(
        version=VERSION, clock=CLOCK, quota=("quota", "quota of the user's group"), profile=("template",)
    ),
    OneflowCloud: Row(
        version=VERSION,
        clock=CLOCK,
        quota=("quota", "quota of the user's group"),
        profile=("OneFlow", "service", "role", "nodes"),
    ),
    LibvirtCloud: Row(
        version=VERSION,
        clock="ages are kept by our own clock, on the domain",
        quota=("memory",),
        profile=("base", "network"),
    ),
    OpenstackCloud: Row(
        version=VERSION,
        clock=CLOCK,
        quota=("quota", "network quota", "volume quota"),
        profile=("image", "flavor", "network", "block storage"),
    ),
    SharedListener: Row(version=OF_THE_DAEMON, clock=OF_THE_DAEMON, quota=OF_THE_DAEMON, state=OF_THE_DAEMON),
    HaproxyBalancer: Row(
        version=VERSION, clock="it is no HTTP", quota="settings say whether a template has room", state=("settings",)
    ),
    NetscalerBalancer: Row(
        version=VERSION, clock=CLOCK, quota=NO_REGISTRATIONS, state="a node that takes no changes says so at login"
    ),
    CloudstackRuleBalancer: Row(
        version=VERSION, clock=CLOCK, quota=NO_REGISTRATIONS, state="a rule has no state of its own"
    ),
    OctaviaBalancer: Row(version=VERSION, clock=CLOCK, quota=UNTOLD, state=("state",)),
    ManagedBalancer: Row(
        version="its access says whether its service answers",
        clock="it is asked of its cloud",
        quota=UNTOLD,
        state="every pass checks the parts that Trimtab made and reports problems",
    ),
}


def a_model() -> Catalogue:
    return parse(MODEL, "model.yaml")


def checks(catalogue: Catalogue, state: Path) -> tuple[Check, ...]:
    def secret(_: SecretRef) -> str:
        return "K"

    def clock() -> Instant:
        return Instant(0.0)

    drivers = Drivers(
        cloud=lambda each: orchestrator_for(each, "k3f9ab", state, clock, no_papers, secret),
        balancer=lambda each: balancer_for(each, state, clock, secret, "k3f9ab"),
    )
    return tuple(checks_of(catalogue, drivers))


def kinds(catalogue: Catalogue) -> Mapping[tuple[About, str], type]:
    of_clouds = {(About.CLOUD, name): type(each) for name, each in catalogue.clouds.items()}
    of_profiles = {
        (About.PROFILE, name): type(catalogue.clouds[each.cloud]) for name, each in catalogue.profiles.items()
    }
    return of_clouds | of_profiles | {(About.BALANCER, name): type(each) for name, each in catalogue.balancers.items()}


def test_every_kind_of_cloud_and_balancer_has_its_row() -> None:
    assert set(MATRIX) == {*typing.get_args(Cloud), *typing.get_args(Balancer)}


def test_an_empty_cell_has_a_reason() -> None:
    assert all(cell for row in MATRIX.values() for cell in row.cells.values())


def test_exactly_the_checks_of_the_matrix_are_made(tmp_path: Path) -> None:
    catalogue, found = a_model(), defaultdict[type, set[str]](set)
    for check in checks(catalogue, tmp_path):
        found[kinds(catalogue)[check.about, check.name]].add(check.what)

    expected = {
        kind: {what for cell in row.cells.values() if not isinstance(cell, str) for what in cell}
        for kind, row in MATRIX.items()
    }
    assert dict(found) == expected


@pytest.mark.parametrize("kind", MATRIX, ids=lambda kind: kind.__name__)
def test_every_problem_is_reported_with_its_fix(kind: type, tmp_path: Path) -> None:
    """No endpoint answers: every driver's first finding."""
    catalogue = a_model()
    of_kind = [each for each in checks(catalogue, tmp_path) if kinds(catalogue)[each.about, each.name] is kind]

    looks = asked(of_kind, 20.0)

    problems = [look for look in looks if look.verdict is CheckVerdict.PROBLEM]
    assert all(look.remedy for look in problems)
    assert CORRECT not in {look.remedy for look in problems}
    assert bool(problems) is (kind not in {ProcessCloud, SimulatedCloud, SharedListener})
    assert not any("Errno" in look.words for look in problems)
