"""Users' key pairs: shown once, sealed in the store, found by their API key, rotated and sealed anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from config.units import GroupId, Instant
from handler.identity.actors import Origin, Way
from handler.identity.grants import Anonymous
from handler.identity.rights import VERBS, UserRole
from handler.sealing.boxes import key_of
from handler.sealing.key_sources import OwnKeyFile
from handler.sealing.seal import Seal
from handler.users.key_pairs import IssuedKeyPair, KnownKeyPairs
from handler.users.known import KnownUsers
from tests.support.memory_users import MemoryUsers

NOW, DAY = Instant(1_700_000_000.0), 86400.0


class Scene:
    """Key pairs over a store in memory; ada is the first admin, and bob an operator of one group."""

    def __init__(self, place: Path) -> None:
        self.store, self.place, self.now = MemoryUsers(), place, NOW
        self.users, self.seal, self.pairs = self._started()

    def _started(self) -> tuple[KnownUsers, Seal, KnownKeyPairs]:
        users, seal = KnownUsers(self.store, lambda: self.now), Seal(OwnKeyFile(self.place / "seal-key"))
        seal.load()
        return users, seal, KnownKeyPairs(self.store, users, seal, lambda: self.now)

    async def restart(self) -> None:
        self.users, self.seal, self.pairs = self._started()
        await self.users.load()
        await self.pairs.load()

    def secret_of(self, made: IssuedKeyPair) -> str | None:
        """The secret key that this API key is checked by now."""
        found = self.pairs.signing_key(made.api_key)
        return None if found is None else found.secret

    @property
    def stored(self) -> str:
        """The secret of the one pair as the store has it."""
        return self.store.key_pairs()[0].secret


async def nothing_else() -> None:
    """Only key pairs are sealed."""


def play(place: Path, scene: Callable[[Scene], Awaitable[None]]) -> None:
    async def whole() -> None:
        made = Scene(place)
        await made.users.load()
        await made.users.begin("ada", Anonymous.NONE)
        await made.users.add("bob", UserRole.OPERATOR, [GroupId("web")])
        await scene(made)

    asyncio.run(whole())


def test_a_pair_is_found_by_its_api_key_and_its_secret_is_nowhere_in_the_store(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        made = await it.pairs.new("bob", "default", Instant(NOW + DAY))
        assert made.secret_key not in repr((made, it.store, it.pairs.signing_key(made.api_key)))
        await it.restart()
        found = it.pairs.signing_key(made.api_key)
        assert found is not None
        assert (found.user, found.secret, found.expires_at) == ("bob", made.secret_key, NOW + DAY)
        assert it.pairs.signing_key(made.secret_key) is None

    play(tmp_path, scene)


def test_a_signed_request_is_its_user_s_with_role_and_groups_and_records_the_use(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        made = await it.pairs.new("bob", "ci", None)
        found = it.pairs.signing_key(made.api_key)
        assert found is not None
        actor = it.pairs.signed(found, "10.0.0.7")
        assert actor is not None
        assert (actor.name, actor.is_user) == ("bob", True)
        assert actor.origin == Origin(way=Way.SIGNATURE, peer="10.0.0.7", credential="ci")
        assert (actor.grants.verbs, actor.grants.groups) == (VERBS[UserRole.OPERATOR], {"web"})
        assert it.pairs.pairs()[0].last_used_at == NOW
        await it.pairs.flush()
        assert it.store.key_pairs()[0].last_used_at == NOW
        await it.users.disable("bob", disabled=True)
        assert it.pairs.signed(found, "10.0.0.7") is None

    play(tmp_path, scene)


def test_a_new_pair_of_an_earlier_name_has_not_been_used(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        for end in (it.pairs.revoke("bob", "ci"), it.users.delete("bob")):
            found = it.pairs.signing_key((await it.pairs.new("bob", "ci", None)).api_key)
            assert found is not None
            assert it.pairs.signed(found, "10.0.0.7") is not None
            await end
            if not it.users.has("bob"):
                await it.users.add("bob", UserRole.OPERATOR, None)
        await it.pairs.new("bob", "ci", None)
        await it.pairs.flush()
        assert [pair.last_used_at for pair in (*it.pairs.pairs(), *it.store.key_pairs())] == [None, None]

    play(tmp_path, scene)


def test_two_pairs_live_until_the_rotation_is_finished_each_with_its_own_end(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        old = await it.pairs.new("bob", "ci", Instant(NOW + DAY))
        new = await it.pairs.rotate("bob", "ci", lambda _: Instant(NOW + 9 * DAY))
        assert (it.secret_of(old), it.secret_of(new)) == (old.secret_key, new.secret_key)
        it.now = Instant(NOW + DAY)
        assert (it.secret_of(old), it.secret_of(new)) == (None, new.secret_key)
        it.now = NOW
        await it.pairs.finish("bob", "ci")
        assert (it.secret_of(old), it.secret_of(new)) == (None, new.secret_key)
        await it.pairs.revoke("bob", "ci")
        assert it.secret_of(new) is None

    play(tmp_path, scene)


def test_pairs_go_with_their_user_and_do_not_come_back_with_its_name(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        made = await it.pairs.new("bob", "ci", None)
        await it.users.delete("bob")
        await it.users.add("bob", UserRole.ADMIN, None)
        assert it.secret_of(made) is None
        assert it.pairs.pairs() == ()

    play(tmp_path, scene)


def test_a_secret_that_was_moved_to_another_user_s_row_is_refused(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        bob = await it.pairs.new("bob", "ci", None)
        await it.pairs.new("ada", "ci", None)
        theirs = it.store.pairs["ada", "ci"]
        it.store.pairs["ada", "ci"] = replace(theirs, secret=it.store.pairs["bob", "ci"].secret)
        await it.restart()
        with pytest.raises(StoreError, match="moved"):
            it.pairs.signing_key(theirs.api_key)
        assert it.secret_of(bob) == bob.secret_key

    play(tmp_path, scene)


def test_a_rotation_of_the_seal_seals_every_secret_anew_and_ends_the_old_key(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        old = await it.pairs.new("bob", "ci", None)
        new = await it.pairs.rotate("bob", "ci", lambda _: None)
        before, kept = key_of(it.stored), (tmp_path / "seal-key").read_text()
        done = await it.pairs.reseal(nothing_else)
        assert (done.key, done.resealed, done.shut) == (key_of(it.stored), 1, 0)
        assert key_of(it.stored) != before
        assert kept.strip() not in (tmp_path / "seal-key").read_text()
        await it.restart()
        assert (it.secret_of(old), it.secret_of(new)) == (old.secret_key, new.secret_key)

    play(tmp_path, scene)


def test_a_rotation_that_the_store_refuses_leaves_everything_openable(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        made = await it.pairs.new("bob", "ci", None)
        it.store.full = True
        with pytest.raises(StoreError):
            await it.pairs.reseal(nothing_else)
        it.store.full = False
        await it.restart()
        assert it.secret_of(made) == made.secret_key
        await it.pairs.reseal(nothing_else)
        assert len((tmp_path / "seal-key").read_text().split()) == 1

    play(tmp_path, scene)


def test_after_a_restore_without_the_key_pairs_are_shut_until_it_is_put_back(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        made = await it.pairs.new("bob", "ci", None)
        key = (tmp_path / "seal-key").read_text()
        (tmp_path / "seal-key").unlink()
        await it.restart()
        assert not it.pairs.opens(it.pairs.pair("bob", "ci"))
        with pytest.raises(Refused, match=f"under key {key_of(it.stored)}"):
            it.pairs.signing_key(made.api_key)
        with pytest.raises(Refused, match="put the file back"):
            await it.pairs.new("ada", "ci", None)
        (tmp_path / "seal-key").write_text(key)
        it.seal.load()
        assert it.secret_of(made) == made.secret_key

    play(tmp_path, scene)


def test_secrets_of_a_key_that_is_lost_stay_shut_in_a_rotation_and_can_be_revoked(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        await it.pairs.new("bob", "ci", None)
        (tmp_path / "seal-key").unlink()
        await it.restart()
        done = await it.pairs.reseal(nothing_else)
        assert (done.resealed, done.shut) == (0, 1)
        await it.pairs.revoke("bob", "ci")
        assert it.secret_of(await it.pairs.new("bob", "ci", None)) is not None

    play(tmp_path, scene)


def test_a_pair_whose_old_secret_is_lost_goes_on_with_its_new_one_through_a_rotation(tmp_path: Path) -> None:
    async def scene(it: Scene) -> None:
        await it.pairs.new("bob", "ci", None)
        (tmp_path / "seal-key").unlink()
        await it.restart()
        await it.pairs.reseal(nothing_else)
        made = await it.pairs.rotate("bob", "ci", lambda _: None)
        assert it.pairs.opens(it.pairs.pair("bob", "ci")), "it signs"
        done = await it.pairs.reseal(nothing_else)
        assert (done.resealed, done.shut) == (1, 0)
        await it.restart()
        assert it.secret_of(made) == made.secret_key

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("user", "name", "words"),
    [
        ("eve", "ci", "no user eve"),
        ("bob", "Not A Name", "cannot name a key pair"),
        ("bob", "ci", "has a key pair ci already"),
    ],
)
def test_what_cannot_be_made_is_refused(tmp_path: Path, user: str, name: str, words: str) -> None:
    async def scene(it: Scene) -> None:
        await it.pairs.new("bob", "ci", None)
        with pytest.raises(Refused, match=words):
            await it.pairs.new(user, name, None)

    play(tmp_path, scene)
