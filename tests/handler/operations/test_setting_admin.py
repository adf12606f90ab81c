"""Settings are applied and taken back in a whole engine: in the file, over the API, and refused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from config.errors import Refused, StoreError
from config.model.sections import Section
from config.units import ROOT_ACCOUNT, ConditionId, GroupId
from handler.identity.actors import Actor, local
from handler.operations.outcomes import SettingsApplied
from handler.operations.registry import perform
from handler.operations.setting_operations import ApplySettings, ReturnSettings
from handler.operations.size_tags import ChangedSince
from handler.ports.settings import SettingsOwner
from tests.support.engines import WEB, EngineBed, Up, model

TEXT = "writable: true\n" + model(interval="1h").replace("above: 80}", "above: 80.0}  # as agreed in May")
LOWER = {"conditions.high.above": "70"}
ADA, BOB = local("ada"), local("bob")


def play(place: Path, scene: Callable[[Up], Coroutine[Any, Any, None]], text: str = TEXT) -> None:
    EngineBed(place, text).run(scene)


async def applied(
    up: Up, values: dict[str, str], by: Actor = ADA, group: GroupId = WEB, if_match: str | None = None
) -> SettingsApplied:
    done = await perform(up.operations, ApplySettings(group=group, values=values, if_match=if_match), by)
    assert isinstance(done, SettingsApplied)
    return done


async def returned(up: Up, by: Actor = BOB, group: GroupId = WEB) -> SettingsApplied:
    done = await perform(up.operations, ReturnSettings(group=group), by)
    assert isinstance(done, SettingsApplied)
    return done


async def previewed(up: Up, values: dict[str, str]) -> str:
    done = await perform(up.operations, ApplySettings(group=WEB, values=values, dry_run=True), ADA)
    assert isinstance(done, SettingsApplied)
    assert done.change is not None
    return done.change.tag


def threshold(up: Up, condition: str = "high") -> float:
    found = up.engine.catalogue().conditions[ConditionId(condition)]
    value: float = found.threshold  # type: ignore[union-attr]  # it has one
    return value


def audited(up: Up) -> list[tuple[str, str, str]]:
    """Of every row that has an outcome: the person, what became of it, and in words."""
    found = (row.fields for row in up.store.audit_after(0, 100))
    return [(row["who"], row["result"], row["outcome"]) for row in found if "outcome" in row and row["act"] != "start"]


def test_a_value_of_the_file_is_written_into_it_and_taken_back_to_the_letter(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        before = up.bed.file.read_text()

        done = await applied(up, LOWER, if_match=await previewed(up, LOWER))

        assert up.bed.file.read_text() == before.replace("80.0}", "70}")
        assert threshold(up) == 70
        assert done.revision is None
        assert done.words.endswith("model.yaml:4: conditions.high.above: 80.0 → 70")
        assert up.store.edits(WEB, 1)[0].by == "ada"

        await returned(up)

        assert up.bed.file.read_text() == before
        assert threshold(up) == 80
        assert [(who, result, words.partition(": ")[2]) for who, result, words in audited(up)] == [
            ("ada", "done", "conditions.high.above: 80.0 → 70"),
            ("bob", "done", "conditions.high.above: 70 → 80.0"),
        ]

    play(tmp_path, scene)


def test_going_back_twice_applies_the_values_again_and_outlives_the_daemon(tmp_path: Path) -> None:
    bed = EngineBed(tmp_path, TEXT)

    async def first(up: Up) -> None:
        await applied(up, LOWER)
        await returned(up)

    async def second(up: Up) -> None:
        known = await up.operations.settings.current(WEB, ADA.grants)
        assert known.applied is not None
        assert (known.applied.by, known.applied.is_return, known.applied.owner) == ("bob", True, SettingsOwner.FILE)
        await returned(up)
        assert threshold(up) == 70

    bed.run(first)
    bed.run(second)


def test_what_changed_since_is_not_written_over(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        tag = await previewed(up, LOWER)
        up.bed.declare(f"{TEXT}# a comment\n")
        with pytest.raises(ChangedSince, match="look again"):
            await applied(up, LOWER, if_match=tag)
        await applied(up, LOWER)

        up.bed.declare(up.bed.file.read_text().replace("above: 70", "above: 75"))
        with pytest.raises(Refused, match="was edited since it was taken"):
            await applied(up, {"conditions.low.below": "10"})
        await up.operations.reload()
        with pytest.raises(Refused, match=r"conditions\.high has been changed since ada applied"):
            await returned(up)
        assert threshold(up) == 75

    play(tmp_path, scene)


def test_a_file_that_is_not_declared_writable_is_left_alone_and_the_patch_is_shown(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        before = up.bed.file.read_text()
        change = await up.operations.settings.change(WEB, LOWER, ADA.grants)
        assert change is not None
        assert change.patch[-1] == "+  high: {counter: load, above: 70}  # as agreed in May"

        with pytest.raises(Refused, match="not declared writable"):
            await applied(up, LOWER)
        with pytest.raises(Refused, match="nothing to go back to"):
            await returned(up)
        assert up.bed.file.read_text() == before
        assert [(who, result) for who, result, _ in audited(up)] == [("ada", "refused"), ("bob", "refused")]

    play(tmp_path, scene, TEXT.replace("writable: true\n", ""))


def test_a_file_that_cannot_come_into_force_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(up: Up) -> None:
        def full(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(up.store, "declare", full)
        with pytest.raises(StoreError):
            await applied(up, LOWER)
        assert up.bed.file.read_text() == TEXT
        assert threshold(up) == 80

        with pytest.raises(Refused, match="duration"):
            await applied(up, {"policies.out.duration": "1s"})

    play(tmp_path, scene)


async def declared(up: Up) -> GroupId:
    """Declare a group over the API, whose condition and policy are the API's, too."""
    sections = {
        Section.CONDITIONS: {"hot": {"counter": "load", "above": 90}},
        Section.POLICIES: {"grow": {"when": ["hot"], "add": 1, "quiet_time": "1h"}},
        Section.GROUPS: {
            "shop": {
                "profile": "web",
                "balancers": [{"use": "side", "port": 8080}],
                "min": 0,
                "max": 2,
                "interval": "1h",
                "policies": ["grow", "in"],
            }
        },
    }
    done = await up.operations.declarations.apply(ROOT_ACCOUNT, sections, ADA, dry_run=False)
    assert not done.problems
    return next(GroupId(change.key[1]) for change in done.changes if change.key[0] == "groups")


def test_values_of_the_api_become_a_revision_and_go_back_unless_another_one_came(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        shop = await declared(up)
        known = await up.operations.settings.current(shop, ADA.grants)
        name = next(each for each in known.values if each.endswith(".above"))

        done = await applied(up, {name: "70"}, group=shop)
        assert (done.revision, done.words) == (2, f"revision 2: {name}: 90 → 70")
        assert (await returned(up, group=shop)).revision == 3
        assert threshold(up, name.split(".")[1]) == 90
        assert up.bed.file.read_text() == TEXT

        await applied(up, {name: "60"}, group=shop)
        await up.operations.declarations.replace(
            Section.CONDITIONS,
            name.split(".")[1],
            None,
            {"counter": "load", "above": 65},
            BOB,
            if_match=None,
            dry_run=False,
        )
        with pytest.raises(Refused, match="has been changed since ada applied"):
            await returned(up, group=shop)
        assert (await applied(up, {name: "65"}, group=shop)).words == "nothing changes"

    play(tmp_path, scene)


async def mixed(up: Up) -> tuple[GroupId, dict[str, str]]:
    """A group of the API, and values of which one is the API's and one the file's."""
    shop = await declared(up)
    known = await up.operations.settings.current(shop, ADA.grants)
    return shop, {next(each for each in known.values if each.endswith(".above")): "70", "conditions.low.below": "10"}


def values_in_force(up: Up, values: dict[str, str]) -> list[float]:
    return [threshold(up, name.split(".")[1]) for name in values]


def test_values_of_both_owners_are_applied_as_one_and_go_back_as_one(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        shop, values = await mixed(up)

        done = await applied(up, values, group=shop)

        assert values_in_force(up, values) == [70, 10]
        assert up.bed.file.read_text() == TEXT.replace("below: 20", "below: 10")
        assert (done.revision, done.words.count("→")) == (2, 2)

        back = await returned(up, group=shop)

        assert values_in_force(up, values) == [90, 20]
        assert (back.revision, up.bed.file.read_text()) == (3, TEXT)

    play(tmp_path, scene)


def test_values_of_both_owners_stay_as_they_were_if_the_store_refuses_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(up: Up) -> None:
        shop, values = await mixed(up)

        def full(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(up.store, "declare", full)
        with pytest.raises(StoreError):
            await applied(up, values, group=shop)
        assert (values_in_force(up, values), up.bed.file.read_text()) == ([90, 20], TEXT)

    play(tmp_path, scene)


@pytest.mark.parametrize("patched", [False, True], ids=["before its patch is applied", "after its patch is applied"])
def test_of_a_file_that_is_not_writable_the_patch_is_left_to_a_person_and_going_back_knows(
    patched: bool, tmp_path: Path
) -> None:
    text = TEXT.replace("writable: true\n", "")

    async def scene(up: Up) -> None:
        shop, values = await mixed(up)

        done = await applied(up, values, group=shop)

        assert done.change is not None
        assert done.change.patch[-1].startswith("+  low:")
        assert done.words.endswith("the lines of the file are still to be changed: apply the patch, and reload")
        assert (values_in_force(up, values), up.bed.file.read_text()) == ([70, 20], text)

        if patched:
            up.bed.declare(text.replace("below: 20", "below: 10"))
            await up.operations.reload()
        back = await returned(up, group=shop)

        assert back.change is not None
        assert back.change.patch[-1:] == (("+  low: {counter: load, below: 20}",) if patched else ())
        assert values_in_force(up, values) == [90, 10 if patched else 20]

    play(tmp_path, scene, text)


@pytest.mark.parametrize(
    ("text", "above", "below", "reason"),
    [
        (TEXT, "79", "70", "must be allowed also without the revision"),
        (TEXT.replace("writable: true\n", ""), "15", "10", "before the patch of the file is applied"),
    ],
    ids=["writable", "not writable"],
)
def test_what_comes_first_of_values_of_both_owners_must_be_allowed_alone(
    text: str, above: str, below: str, reason: str, tmp_path: Path
) -> None:
    async def scene(up: Up) -> None:
        shop, values = await mixed(up)
        await applied(up, {next(iter(values)): "60"}, group=shop)

        with pytest.raises(Refused, match=reason):
            await applied(up, dict(zip(values, (above, below), strict=True)), group=shop)

        assert (values_in_force(up, values), up.bed.file.read_text()) == ([60, 20], text)

    play(tmp_path, scene, text)
