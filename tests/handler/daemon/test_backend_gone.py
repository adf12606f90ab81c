"""A real HAProxy loses its backend while a fleet shrinks: every order of a person goes on, and members come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.errors import Transient
from config.model.balancers import HaproxyBalancer
from config.units import BalancerId, MemberName
from handler.planning.attachments import Detached
from handler.planning.status import GroupCondition, MemberState
from handler.planning.world import RegistrationState
from handler.ports.stored import EventKind
from tests.support.balancers import HaproxyStage, haproxy_stage
from tests.support.engines import WEB, EngineBed, Up, hurry, model
from trigger.reasons import Reason

EDGE = BalancerId("edge")
INTERVAL = 0.3
MODEL = model(minimum=1, maximum=10, interval=f"{INTERVAL}s", grace="1s")
pytestmark = pytest.mark.real("haproxy")


@dataclass
class Scene:
    """A group behind a real HAProxy."""

    bed: EngineBed
    stage: HaproxyStage

    def serving(self) -> set[MemberName]:
        return {
            name
            for name, registration in self.stage.balancer.registrations().items()
            if registration.state is RegistrationState.SERVING
        }


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    hurry(monkeypatch)
    with haproxy_stage(tmp_path) as stage:
        bed = EngineBed(tmp_path, MODEL)
        there: Any = bed.balancers
        there["edge"] = stage.balancer
        assert isinstance(stage.declared, HaproxyBalancer)
        yield Scene(bed, stage)


async def grown(up: Up, size: int) -> None:
    await up.grown(1)
    await up.operations.scale(WEB, size, force=False, by="ada")
    await up.grown(size)


async def lost(up: Up) -> None:
    """Wait until the balancer counts as not found."""
    await up.until(lambda: up.runtime.seen is not None and up.runtime.seen.world.balancer_views[EDGE].not_found)


def test_a_fleet_shrinks_though_its_backend_is_gone_and_is_registered_again_once_it_is_back(scene: Scene) -> None:
    async def play(up: Up) -> None:
        await grown(up, 8)
        begun = time.monotonic()
        put_back = scene.stage.haproxy.lose(others=True)
        await up.operations.scale(WEB, 6, force=False, by="ada")
        await up.until(lambda: len(scene.bed.machines) == 6)
        assert time.monotonic() - begun > 3 * INTERVAL
        await up.passed()
        assert up.status.condition is GroupCondition.ERROR
        (message,) = up.status.messages
        assert "balancer edge is not found: HAProxy at" in message
        assert "has no backend web, and lists 1 other" in message
        assert "trimtab detach GROUP BALANCER" in message

        put_back()
        await up.grown(6)
        assert await asyncio.to_thread(scene.serving) == scene.bed.machines
        assert up.status.condition is not GroupCondition.ERROR
        events = await up.operations.history(WEB, before=None, limit=99, kinds={EventKind.NOTE})
        names = [event.name for event in reversed(events) if event.name.startswith("balancer")]
        assert names == ["balancer_not_found", "balancer_not_found_ended"]

    scene.bed.run(play)


def test_every_order_of_a_person_goes_on(scene: Scene) -> None:
    async def play(up: Up) -> None:
        await grown(up, 6)
        scene.stage.haproxy.lose(others=True)
        await lost(up)
        await up.passed()
        deleted, evicted, stuck, *_ = sorted(scene.bed.machines)

        await up.operations.members.dismiss(WEB, deleted, force=False, by="ada")
        await up.until(lambda: deleted not in scene.bed.machines)
        await up.operations.adoption.evict(WEB, evicted, force=False, by="ada")
        await up.until(lambda: evicted in scene.bed.cloud.unmarked)
        assert len(scene.bed.machines) == 4

        scene.bed.declare(MODEL.replace("use: edge, port: 8080", "use: side, port: 81"))
        await up.operations.reload()
        assert await up.operations.balancers.detach(WEB, EDGE, by="ada") == Detached(members=4)
        await up.grown(4)
        assert [behind.balancer for behind in await up.operations.balancers.behind(WEB)] == [BalancerId("side")]
        assert up.status.condition is not GroupCondition.ERROR
        assert stuck in scene.bed.machines

    scene.bed.run(play)


def test_a_member_whose_removal_fails_can_be_abandoned(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handler.planning.removals.WITHIN", 0.0)

    async def play(up: Up) -> None:
        await grown(up, 2)
        scene.stage.haproxy.lose(others=True)
        await lost(up)
        name = min(scene.bed.machines)
        scene.bed.cloud.faults.always["destroy"] = Transient("locked")
        await up.operations.members.dismiss(WEB, name, force=False, by="ada")
        await up.until(lambda: any(member.state is MemberState.STUCK for member in up.status.members))
        await up.operations.garbage.abandon(name, by="ada")
        await up.until(lambda: name not in {member.name for member in up.status.members})

    scene.bed.run(play)


def test_a_group_is_deleted_with_its_members(scene: Scene) -> None:
    async def play(up: Up) -> None:
        await grown(up, 3)
        scene.stage.haproxy.lose(others=True)
        await lost(up)
        scene.bed.declare(model().partition("groups:")[0])
        await up.operations.reload()
        await up.operations.delete(WEB, members=True, by="ada")
        await up.until(lambda: not scene.bed.machines and WEB not in up.engine.runtimes)

    scene.bed.run(play)


def test_policies_do_not_scale_in_meanwhile(scene: Scene) -> None:
    async def play(up: Up) -> None:
        await grown(up, 3)
        scene.stage.haproxy.lose(others=True)
        await lost(up)
        await up.passed()
        asked = await up.operations.alarm(WEB, "in", id="a1", by="grafana")  # type: ignore[arg-type] # a policy's id
        assert asked.reason is Reason.BALANCER_NOT_FOUND
        assert len(scene.bed.machines) == 3

    scene.bed.run(play)


def test_where_no_other_backend_is_left_no_member_leaves(scene: Scene) -> None:
    async def play(up: Up) -> None:
        await grown(up, 3)
        scene.stage.haproxy.lose(others=False)
        await up.operations.scale(WEB, 2, force=False, by="ada")
        await up.passed(20)
        assert len(scene.bed.machines) == 3
        assert any("lists no other backend either" in message for message in up.status.messages)
        assert up.status.condition is GroupCondition.WARNING

    scene.bed.run(play)
