from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from handler.runtime.recent import Recent
from handler.runtime.series import Picture
from tests.support.engines import WEB, EngineBed, Up, model


def picture(up: Up) -> Picture:
    return up.operations.recent(WEB).picture(up.operations.now())


def test_every_tick_leaves_its_sizes_and_its_values(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        await up.until(lambda: 50.0 in picture(up).curves[0].values)
        await up.ticked(3)
        seen = picture(up)
        assert {curve.line.condition: curve.values[-1] for curve in seen.curves} == {"high": 50.0, "low": 50.0}
        assert (seen.sizes.desired[-1], seen.sizes.in_service[-1]) == (2.0, 2.0)
        assert (seen.sizes.minimum[-1], seen.sizes.maximum[-1]) == (2.0, 4.0)

    EngineBed(tmp_path).run(scene)


def test_a_resize_between_two_ticks_is_seen_at_once_and_judges_nothing(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.desired == 2)
        judged = picture(up).at
        await up.operations.scale(WEB, 3, force=False, by="ada")
        assert picture(up).sizes.desired[-1] == 3.0
        await up.until(lambda: picture(up).sizes.in_service[-1] == 3.0)
        assert picture(up).at == judged

    EngineBed(tmp_path, model(interval="1h")).run(scene)


def test_before_the_first_pass_the_number_in_service_is_absent(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        await up.until(lambda: up.status.desired == 2)
        runtime = replace(up.runtime, seen=None)
        recent = Recent({WEB: runtime})
        recent.passed(runtime, up.operations.now())
        assert recent.series(runtime).last_sizes() == (2.0, None, 2.0, 4.0)

    EngineBed(tmp_path).run(scene)


def test_after_a_restart_nothing_is_recorded_of_what_was_before(tmp_path: Path) -> None:
    bed = EngineBed(tmp_path)
    bed.run(lambda up: up.ticked(3))

    async def scene(up: Up) -> None:
        began = up.operations.now()
        await up.ticked(2)
        assert all(instant >= began - 1 for instant in picture(up).at)
        assert (picture(up).began or 0) >= began - 1

    bed.run(scene)


def test_a_listener_gets_ticks_and_the_deletion_of_a_group(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        await up.grown(2)
        with up.operations.pulse.listen(WEB) as listener:
            assert await listener.news() == {WEB}
        up.bed.declare(model().replace("  web:\n", "  other:\n"))
        await up.operations.reload()
        with up.operations.pulse.listen(WEB) as listener:
            await up.operations.delete(WEB, members=False, by="ada")
            assert await listener.news() == {WEB}

    EngineBed(tmp_path).run(scene)
