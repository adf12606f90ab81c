"""An applied file is in force for every daemon over the store, or nothing changes; the store never has its text."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from handler.engine.applied_text import opened
from handler.sealing.key_sources import OwnKeyFile
from handler.sealing.seal import Seal
from tests.support.engines import WEB, EngineBed, Up, hurry, model

APPLIED = "# the password is hunter2\n" + model(maximum=3)


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    return EngineBed(tmp_path)


async def apply(up: Up, text: str = APPLIED, **more: bool):
    return await up.operations.apply(text, "/home/ada/fleet.yaml", by="ada", **more)


def seal(bed: EngineBed) -> Seal:
    found = Seal(OwnKeyFile(bed.directory / "seal-key"))
    found.load()
    return found


def test_an_applied_file_is_in_force_now_and_after_a_restart_whatever_the_daemons_own_file_says(bed: EngineBed) -> None:
    async def first(up: Up) -> None:
        done = await apply(up)
        assert (done.changed, done.revision, up.status.maximum) == ((WEB,), 1, 3)
        assert up.engine.catalogue().sites["groups", "web"].file == str(bed.copy)

    async def second(up: Up) -> None:
        assert up.status.maximum == 3
        done = await apply(up, model(maximum=5))
        assert (done.revision, up.status.maximum) == (2, 5)
        assert [edit.words for edit in done.edits if "max" in edit.words] == ["groups.web.max: 3 → 5"]

    bed.run(first)
    bed.declare("groups: {}\n")
    bed.run(second)
    bed.run(lambda up: _shows(up, maximum=5))


async def _shows(up: Up, *, maximum: int) -> None:
    assert up.status.maximum == maximum


def test_the_store_has_the_text_only_sealed_for_its_revision(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await apply(up)

    bed.run(scene)
    kept = b"".join(path.read_bytes() for path in bed.directory.glob("trimtab.sqlite*"))
    assert b"hunter2" not in kept

    async def look(up: Up) -> None:
        applied = up.store.applied_file()
        assert (applied.by, applied.source, opened(applied, seal(bed))) == ("ada", "/home/ada/fleet.yaml", APPLIED)
        with pytest.raises(StoreError, match="altered, or moved there from another row"):
            opened(dataclasses.replace(applied, revision=2), seal(bed))

    bed.run(look)


def test_a_refused_file_changes_nothing_and_its_problems_have_the_places_of_the_persons_file(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        done = await apply(up, model(minimum=9))
        assert [(each.file, "min" in each.message) for each in done.problems] == [("/home/ada/fleet.yaml", True)]
        assert (up.status.maximum, up.store.applied_file()) == (4, None)
        await apply(up)
        await apply(up, "groups: {")
        assert (up.status.maximum, up.store.applied_file().revision) == (3, 1)

    bed.run(scene)


def test_a_dry_run_says_what_would_change_and_stores_nothing(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        done = await apply(up, dry_run=True)
        assert (done.changed, done.revision, up.status.maximum, up.store.applied_file()) == ((WEB,), None, 4, None)

    bed.run(scene)


def test_a_file_that_cannot_be_stored_leaves_the_one_before_in_force_and_in_the_copy(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await apply(up)
        up.store.declare = _full
        with pytest.raises(StoreError, match="disk is full"):
            await apply(up, model(maximum=9))
        assert (up.status.maximum, bed.copy.read_text()) == (3, APPLIED)

    bed.run(scene)


def test_a_file_that_the_store_has_is_in_force_though_the_store_cannot_be_read_just_after(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        declare = up.store.declare

        def declared(*given: object, **more: object) -> object:
            groups = declare(*given, **more)
            up.store.groups = up.store.hooks = _full
            return groups

        up.store.declare = declared
        done = await apply(up)
        assert (done.revision, up.status.maximum, bed.copy.read_text()) == (1, 3, APPLIED)

    bed.run(scene)


def _full(*_: object, **__: object) -> None:
    raise StoreError("its disk is full")


def test_the_daemons_own_file_is_not_taken_over_an_applied_one_and_the_refusal_says_what_to_do(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await apply(up)
        bed.declare(model(maximum=9))
        with pytest.raises(Refused, match=r"revision 1 .* which ada applied from /home/ada/fleet.yaml: .*apply FILE"):
            await up.operations.reload()
        assert up.status.maximum == 3

    bed.run(scene)


def test_a_new_key_of_the_seal_seals_the_applied_file_anew_before_the_key_before_it_is_forgotten(
    bed: EngineBed,
) -> None:
    async def scene(up: Up) -> None:
        await apply(up)
        before = seal(bed).key
        await up.operations.keys.reseal()
        assert seal(bed).key != before
        assert opened(up.store.applied_file(), seal(bed)) == APPLIED

    bed.run(scene)
