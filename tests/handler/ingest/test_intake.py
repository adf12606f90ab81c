from __future__ import annotations

from pathlib import Path

import pytest

from config.units import CloudId
from handler.ingest.capabilities.events import CloudNews
from tests.support.engines import EngineBed, Up, hurry


def test_an_event_of_a_cloud_has_the_group_of_its_machine_looked_at_and_changes_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)

    async def scene(up: Up) -> None:
        await up.grown(2)
        assert up.runtime.seen is not None
        seen, desired = up.runtime.seen, up.runtime.state.desired
        machine = next(member.server.id for member in seen.world.members if member.server is not None)
        cloud, of_ours = up.runtime.definition.cloud.id, CloudNews(machine=machine)

        assert not up.engine.ingest.concern(CloudId("another"), of_ours)
        assert not up.engine.ingest.concern(cloud, CloudNews(machine="of-no-group"))
        assert not up.engine.ingest.concern(cloud, CloudNews(member="other-k3f9ab-7", machine=machine))
        assert up.engine.ingest.concern(cloud, of_ours)
        await up.until(lambda: up.runtime.seen is not seen)
        assert up.runtime.state.desired == desired

    EngineBed(tmp_path).run(scene)
