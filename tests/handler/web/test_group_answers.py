"""The answer about one group is kept until the group changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI

from config.units import GroupId
from handler.identity.rights import UserRole
from handler.operations.lookup import NoSuch
from handler.web.group_answers import GroupAnswers
from tests.handler.web.test_rights import WEB, play, user
from tests.support.asked import asked
from tests.support.engines import Up

ADMIN = user(UserRole.ADMIN)
PATH = "/api/v1/groups/web"


def test_a_reader_sees_what_the_request_before_it_changed(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        for act, pause in (("pause", "all"), ("resume", "no")):
            await asked(app, "GET", PATH, ADMIN)
            assert (await asked(app, "POST", f"{PATH}/{act}", ADMIN, {})).status == 200
            assert (await asked(app, "GET", PATH, ADMIN)).json["pause"] == pause

    play(tmp_path, scene)


def test_an_answer_is_kept_while_nothing_changes_and_as_long_as_there_is_room(tmp_path: Path) -> None:
    async def scene(up: Up, app: FastAPI) -> None:
        await up.grown(2)
        roomy, full = GroupAnswers(up.operations), GroupAnswers(up.operations, at_most=1)
        assert roomy.of(WEB) is roomy.of(WEB)
        assert full.of(WEB) is not full.of(WEB)
        before = roomy.of(WEB)
        await up.operations.scale(WEB, 3, force=False, by="ada")
        assert b'"desired":3' in bytes(roomy.of(WEB).body)
        assert b'"desired":2' in bytes(before.body)
        with pytest.raises(NoSuch):
            roomy.of(GroupId("other"))

    play(tmp_path, scene)
