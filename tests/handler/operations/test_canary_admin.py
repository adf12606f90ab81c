"""A canary in a whole engine: the days that it looks at, what it proposes, and when it applies values by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from config.errors import Refused
from config.model.sections import Section
from config.units import ROOT_ACCOUNT, GroupId
from handler.identity.actors import local
from handler.identity.grants import EVERYTHING
from handler.operations.canary_days import CanaryDays
from handler.operations.declaration_operations import DeleteDeclared
from handler.operations.lookup import NoSuch
from handler.operations.registry import perform
from handler.operations.setting_operations import ApplySettings, BeginCanary, EndCanary
from handler.ports.canaries import Canary
from handler.tuning.canary import Verdict
from handler.tuning.outcomes import Outcome
from handler.what_if.question import Answer, Question
from tests.support.engines import WEB, EngineBed, Up, model
from tests.support.filled import filled

DAY = 86_400.0
TEXT = model(interval="1h").replace("range: [0, 100]}", "range: [0, 100], shared: true}")
ADA = local("ada")
LOWER = {"conditions.high.above": "70"}


@dataclass
class Replays:
    """Stands for the processes that replay: what is tried takes an hour less a day."""

    asked: list[Question] = field(default_factory=list)
    refusal: str = ""
    meanwhile: Callable[[], Awaitable[object]] | None = None
    """Done during the next replay."""

    async def ask(self, person: str, question: Question) -> Answer:
        self.asked.append(question)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        if self.refusal:
            raise Refused(self.refusal)
        declared = Outcome(hours=10.0, over=1.0, changes=4, reversals=1)
        answer: Answer = filled(Answer)
        tried = replace(declared, hours=9.0)
        return replace(answer, begin=question.since, end=question.until, declared=declared, asked=tried)

    async def close(self) -> None: ...


def replaying(up: Up) -> Replays:
    replays = Replays()
    up.engine.what_if = cast("Any", replays)
    return replays


async def days(up: Up, count: int) -> None:
    """Let days pass, and have each looked at twice: an hour apart."""
    canaries = CanaryDays(up.engine, up.operations)
    for _ in range(count):
        up.bed.later += DAY
        await canaries.look()
        await canaries.look()


async def begun(up: Up, group: GroupId, values: dict[str, str], **more: Any) -> None:
    await perform(up.operations, BeginCanary(group=group, values=values, **more), ADA)


async def standing(up: Up) -> tuple[Canary, Verdict]:
    found = await up.operations.canaries.status(WEB, EVERYTHING)
    assert found.canary is not None
    assert found.judgement is not None
    return found.canary, found.judgement.verdict


async def a_shop(up: Up) -> tuple[GroupId, str]:
    """A group of the API, and the name of a value of its own that may be lowered by the daemon itself."""
    sections = {
        Section.CONDITIONS: {"hot": {"counter": "load", "above": 90}},
        Section.POLICIES: {"grow": {"when": ["hot"], "add": 1, "quiet_time": "1h"}},
        Section.GROUPS: {
            "shop": {
                "profile": "web", "balancers": [{"use": "side", "port": 8080}], "min": 0, "max": 2,
                "interval": "1h", "policies": ["grow", "in"],
            }
        },
    }  # fmt: skip
    done = await up.operations.declarations.apply(ROOT_ACCOUNT, sections, ADA, dry_run=False)
    shop = next(GroupId(change.key[1]) for change in done.changes if change.key[0] == "groups")
    known = (await up.operations.settings.current(shop, EVERYTHING)).values
    return shop, next(each for each in known if each.endswith(".above"))


def test_whole_days_are_compared_once_over_restarts_and_the_better_setting_is_proposed(tmp_path: Path) -> None:
    bed = EngineBed(tmp_path, TEXT)

    async def first(up: Up) -> None:
        replays = replaying(up)
        await begun(up, WEB, LOWER, goals=("over 5m/day",))
        await days(up, 2)
        assert [question.until - question.since for question in replays.asked] == [DAY]
        assert replays.asked[0].since % DAY == 0
        assert replays.asked[0].values == LOWER
        replays.refusal = "nothing was recorded"
        await days(up, 1)
        canary, _ = await standing(up)
        assert (len(canary.days), canary.problem) == (1, "nothing was recorded")

    async def second(up: Up) -> None:
        replaying(up)
        await days(up, 2)
        canary, verdict = await standing(up)
        assert (verdict, canary.problem) == (Verdict.SWITCH, "")
        assert up.bed.file.read_text() == TEXT  # it proposes, and does nothing by itself
        await perform(up.operations, EndCanary(group=WEB), ADA)
        with pytest.raises(NoSuch, match="has no canary"):
            await perform(up.operations, EndCanary(group=WEB), ADA)

    bed.run(first)
    bed.run(second)


def test_other_declared_values_make_the_days_before_count_no_more(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        replaying(up)
        await begun(up, WEB, LOWER)
        await days(up, 3)
        up.bed.declare(TEXT.replace("below: 20", "below: 25"))
        await up.operations.reload()
        await days(up, 1)
        assert len((await standing(up))[0].days) == 1

    EngineBed(tmp_path, TEXT).run(scene)


def test_it_applies_by_itself_only_what_the_api_owns_and_what_makes_no_scale_in_easier(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        replays = replaying(up)
        with pytest.raises(Refused, match="only values of the API"):
            await begun(up, WEB, LOWER, switches=True)
        shop, name = await a_shop(up)
        with pytest.raises(Refused, match="could make a scale-in easier"):
            await begun(up, shop, {name: "95"}, switches=True)
        both = {name: "70", "conditions.low.below": "10"}
        with pytest.raises(Refused, match="only values of the API"):
            await begun(up, shop, both, switches=True)
        await begun(up, shop, both)
        await days(up, 2)
        assert replays.asked[-1].values == both

        await begun(up, shop, {name: "70"}, switches=True)
        await days(up, 4)

        assert (await up.operations.settings.current(shop, EVERYTHING)).values[name] == "70"
        assert up.store.entity_revisions(1)[0].by == "canary of ada"
        assert (await up.operations.canaries.status(shop, EVERYTHING)).canary is None
        rows = [row.fields for row in up.store.audit_after(0, 100)]
        assert [row["way"] for row in rows if row["who"] == "canary of ada"] == ["daemon", "daemon"]

    EngineBed(tmp_path, TEXT).run(scene)


def test_a_value_that_is_declared_during_a_replay_is_not_replaced_by_what_was_compared_with_another(
    tmp_path: Path,
) -> None:
    async def scene(up: Up) -> None:
        replays = replaying(up)
        shop, name = await a_shop(up)
        await begun(up, shop, {name: "70"}, switches=True)
        await days(up, 3)
        replays.meanwhile = lambda: perform(up.operations, ApplySettings(group=shop, values={name: "95"}), ADA)

        await days(up, 1)

        assert (await up.operations.settings.current(shop, EVERYTHING)).values[name] == "95"
        found = await up.operations.canaries.status(shop, EVERYTHING)
        assert found.canary is not None
        assert (found.canary.days, "while the day was replayed" in found.canary.problem) == ((), True)

    EngineBed(tmp_path, TEXT).run(scene)


def test_a_group_that_is_deleted_during_its_replay_keeps_no_other_canary_from_its_day(tmp_path: Path) -> None:
    async def scene(up: Up) -> None:
        replays = replaying(up)
        shop, name = await a_shop(up)
        await begun(up, shop, {name: "70"})
        await begun(up, WEB, LOWER)

        async def deleted() -> None:
            await perform(up.operations, DeleteDeclared(section=Section.GROUPS, id=shop, members=True), ADA)
            await up.until(lambda: shop not in up.engine.runtimes)

        replays.meanwhile = deleted
        await days(up, 2)

        assert {question.group for question in replays.asked} == {shop, WEB}
        assert [len(canary.days) for canary in up.store.canaries().values()] == [1]

    EngineBed(tmp_path, TEXT).run(scene)


def test_a_canary_whose_values_were_applied_as_the_daemon_ended_is_over(tmp_path: Path) -> None:
    bed = EngineBed(tmp_path, TEXT)

    async def first(up: Up) -> GroupId:
        replaying(up)
        shop, name = await a_shop(up)
        await begun(up, shop, {name: "70"}, switches=True)
        await days(up, 3)
        await perform(up.operations, ApplySettings(group=shop, values={name: "70"}), ADA)  # and no more is written
        return shop

    async def second(up: Up) -> None:
        replays = replaying(up)
        await days(up, 1)
        assert replays.asked == []
        shop = next(each for each in up.engine.runtimes if each.startswith("shop"))
        assert (await up.operations.canaries.status(shop, EVERYTHING)).canary is None

    bed.run(first)
    bed.run(second)
