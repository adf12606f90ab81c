"""One group behind two balancers of different kinds, a real HAProxy and a NetScaler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.units import BalancerId, MemberName
from handler.planning.world import Phase, RegistrationState
from tests.support.balancers import HaproxyStage, state_of, template_stage
from tests.support.beds import Bed
from tests.support.netscaler_stage import NetscalerStage, netscaler_stage
from tests.support.worlds import EDGE, a_definition

FRONT = BalancerId("front")

pytestmark = pytest.mark.real("haproxy")


@dataclass
class Scene:
    bed: Bed
    haproxy: HaproxyStage
    netscaler: NetscalerStage

    def registered(self) -> tuple[set[MemberName], set[MemberName]]:
        """The members that serve on each."""
        found = [
            {
                name
                for name, registration in stage.balancer.registrations().items()
                if registration.state is RegistrationState.SERVING
            }
            for stage in (self.haproxy, self.netscaler)
        ]
        return found[0], found[1]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with template_stage(tmp_path) as haproxy, netscaler_stage(tmp_path) as netscaler:
        bed = Bed(definition=a_definition(balancers=(EDGE, FRONT)), size=3)
        there: dict[BalancerId, object] = {EDGE: haproxy.balancer, FRONT: netscaler.balancer}
        bed.balancers = there  # type: ignore[assignment] # real ones in place of the bed's own
        yield Scene(bed, haproxy, netscaler)


def test_members_serve_on_both_and_leave_both_before_they_go(scene: Scene) -> None:
    bed = scene.bed
    bed.settle()
    first = min(bed.machines)
    assert scene.registered() == (bed.machines, bed.machines)
    assert set(scene.haproxy.balancer.registrations()) == bed.machines

    scene.netscaler.members[first, 8080].connections = 2
    bed.desire(2)
    for _ in range(3):
        bed.run()
    assert state_of(scene.haproxy.balancer, first) is None  # it had nothing in hand there
    assert state_of(scene.netscaler.balancer, first) is RegistrationState.DRAINING
    assert first in bed.machines

    scene.netscaler.there.finish(first)
    bed.settle()
    assert first not in bed.machines
    assert scene.registered() == (bed.machines, bed.machines)


def test_a_member_on_one_balancer_only_is_not_in_service_and_none_leaves_while_a_balancer_is_away(
    scene: Scene,
) -> None:
    bed = scene.bed
    scene.netscaler.there.secondary = True
    bed.run()
    bed.clock.advance(60.0)
    done = bed.run()
    assert any("secondary of a pair" in outcome.because for outcome in done.outcomes)
    assert bed.known(Phase.IN_SERVICE) == set()

    scene.netscaler.there.secondary = False
    bed.clock.advance(3600.0)
    bed.settle()
    assert scene.registered() == (bed.machines, bed.machines)

    scene.netscaler.appliance.password = "another one"
    scene.netscaler.appliance.expire()
    bed.desire(1)
    for _ in range(3):
        bed.run()
        bed.clock.advance(100.0)
    assert len(bed.machines) == 3
