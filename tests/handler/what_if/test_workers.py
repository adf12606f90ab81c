"""Questions are asked of real processes, which end with their daemon and answer one person one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.errors import Refused
from config.units import Seconds
from handler.what_if.workers import WhatIf
from tests.handler.what_if.test_answering import a_question


async def refusal(asking: Coroutine[Any, Any, object]) -> str:
    try:
        await asking
    except Refused as error:
        return str(error)
    raise AssertionError("it was answered")


def test_a_newer_question_of_a_person_ends_the_older_and_another_person_gets_an_answer(tmp_path: Path) -> None:
    async def ask() -> list[str]:
        what_if, question = WhatIf(), replace(a_question(), state=tmp_path)
        older = asyncio.create_task(refusal(what_if.ask("ada", question)))
        await asyncio.sleep(0)
        found = await asyncio.gather(
            older, refusal(what_if.ask("ada", question)), refusal(what_if.ask("bob", question))
        )
        again = await refusal(what_if.ask("ada", question))
        await what_if.close()
        return [*found, again]

    older, *others = asyncio.run(ask())

    assert older == "another question of the same person came before this one was answered"
    assert {other.partition(" in ")[0] for other in others} == {"nothing was ever recorded"}


@pytest.mark.parametrize("deadline", [0.05])
def test_a_question_that_takes_too_long_is_refused(deadline: Seconds, tmp_path: Path) -> None:
    async def ask() -> str:
        what_if = WhatIf(deadline=deadline)
        found = await refusal(what_if.ask("ada", replace(a_question(), state=tmp_path)))
        await what_if.close()
        return found

    assert asyncio.run(ask()).startswith("there is no answer within 0.05 s")
