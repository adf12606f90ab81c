"""``autoscaleuserid``: the user whose keys make the calls for members, by the cloud that is declared with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from config.model.sections import Section
from config.units import Instant
from handler.cloudstack_api.handles import Handles
from handler.planning.desired import Builds
from tests.support.cloudstack_api import TEXT, ZONE, ApiFault, ApiScene, Caller, a_bed, serving
from tests.support.engines import EngineBed

ACTING = TEXT.replace(
    "balancers:",
    '  tims: {cloudstack: {endpoint: "https://cloud.example.org/client/api", api_key: {env: T}, secret: {env: U}}}\n'
    "balancers:",
    1,
).replace("{cloud: prod, networks: [tier]}", "{cloud: prod, networks: [tier], acts_as: {tim: tims}}")


def played(folder: Path, play: Callable[[ApiScene, EngineBed], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        bed = a_bed(folder, ACTING)
        async with serving(bed) as scene:
            await play(scene, bed)

    asyncio.run(run())


async def made(by: Caller, **more: object) -> dict[str, Any]:
    return await by.done("createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="small", templateid="web", **more)


async def cloud_of(scene: ApiScene, profile: dict[str, Any]) -> str:
    handles = Handles(scene.up.engine.parts.store)
    await handles.load(0)
    handle = handles.known.named(profile["id"])
    assert handle is not None
    declared = scene.up.operations.declarations.one(Section.PROFILES, handle.id).declared
    return str(declared["cloud"])


def test_a_profile_makes_members_with_the_keys_of_the_user_that_it_names(tmp_path: Path) -> None:
    async def play(scene: ApiScene, _: EngineBed) -> None:
        tim = await scene.user("tim")
        user = scene.up.operations.users.known.user("tim").uuid

        named = await made(scene.admin, autoscaleuserid=user)
        of_caller, of_another = await made(tim), await made(scene.admin)

        assert (named["autoscaleuserid"], await cloud_of(scene, named)) == (user, "tims")
        assert ("autoscaleuserid" in of_caller, await cloud_of(scene, of_caller)) == (False, "tims")
        assert ("autoscaleuserid" in of_another, await cloud_of(scene, of_another)) == (False, "prod")
        await scene.admin.done("updateAutoScaleVmProfile", id=of_another["id"], autoscaleuserid=user)
        assert await cloud_of(scene, of_another) == "tims"

    played(tmp_path, play)


def test_a_user_without_keys_for_the_cloud_cannot_act(tmp_path: Path) -> None:
    async def play(scene: ApiScene, _: EngineBed) -> None:
        ada = scene.up.operations.users.known.user("ada").uuid
        with pytest.raises(ApiFault, match=rf"431: apiKey for user: ada is empty.*zones\.{ZONE}\.acts_as"):
            await made(scene.admin, autoscaleuserid=ada)

    played(tmp_path, play)


def test_members_stay_with_the_user_who_made_them(tmp_path: Path) -> None:
    async def play(scene: ApiScene, bed: EngineBed) -> None:
        user = (await scene.user("tim"), scene.up.operations.users.known.user("tim").uuid)[1]
        group = await scene.group()
        await scene.up.until(lambda: bed.cloud.launches)
        await scene.admin.done("disableAutoScaleVmGroup", id=group["id"])

        with pytest.raises(ApiFault, match="members do not move between clouds"):
            await scene.admin.done("updateAutoScaleVmProfile", id=group["vmprofileid"], autoscaleuserid=user)

    played(tmp_path, play)


def test_enable_ends_the_wait_after_failed_builds_so_that_a_key_made_anew_is_tried_at_once(tmp_path: Path) -> None:
    async def play(scene: ApiScene, bed: EngineBed) -> None:
        group = await scene.group()
        (runtime,) = (each for each in scene.up.engine.runtimes.values() if each.id.startswith("web-https"))
        await scene.admin.done("disableAutoScaleVmGroup", id=group["id"])
        waiting = Builds(failed=9, back_off_until=Instant(scene.up.operations.now() + 900), of=None)
        async with scene.up.engine.keeper.between(runtime):  # a pass under way would write what it began with
            scene.up.store.save_builds(runtime.id, waiting)
            runtime.kept_builds = waiting

        await scene.admin.done("enableAutoScaleVmGroup", id=group["id"])

        assert runtime.stored().builds == Builds()
        assert next(each for each in scene.up.store.groups() if each.id == runtime.id).builds == Builds()

    played(tmp_path, play)
