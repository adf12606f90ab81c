"""Secrets that are sealed: opened by their key and in their row alone, through rotations, losses and alterations."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from config.errors import Refused, StoreError
from config.model.access import SecretRef
from handler.sealing.boxes import SealKey, key_of, keys_in, mint
from handler.sealing.key_sources import OwnKeyFile, ReferredKey
from handler.sealing.seal import Seal

ROW, OTHER = ("key_pairs", "ada", "laptop", "k1"), ("key_pairs", "bob", "laptop", "k1")
FIRST, SECOND = "first-" * 8, "second-" * 8


def own(tmp_path: Path) -> Seal:
    made = Seal(OwnKeyFile(tmp_path / "seal-key"))
    made.load()
    return made


def referring(lines: Callable[[], str]) -> Seal:
    made = Seal(ReferredKey(SecretRef(env="SEAL"), lambda _: lines()))
    made.load()
    return made


def test_a_secret_is_opened_by_its_key_in_its_row() -> None:
    key = SealKey.of(FIRST)
    sealed = key.seal("pässword", ROW)
    assert "ssword" not in sealed
    assert key.open(sealed, ROW) == "pässword"
    assert key_of(sealed) == key.id
    assert sealed != key.seal("pässword", ROW), "two ciphertexts of one secret do not tell that it is one"


@pytest.mark.parametrize(
    ("key", "row", "altered"),
    [
        pytest.param(FIRST, OTHER, False, id="moved to another row"),
        pytest.param(FIRST, ("key_pairs", "ada", "laptopk1", ""), False, id="moved to a row whose parts join alike"),
        pytest.param(SECOND, ROW, False, id="another key under its id"),
        pytest.param(FIRST, ROW, True, id="one letter altered"),
    ],
)
def test_what_was_altered_or_moved_is_refused(key: str, row: tuple[str, ...], altered: bool) -> None:
    sealed = SealKey.of(FIRST).seal("secret", ROW)
    if altered:
        sealed = sealed[:-3] + ("A" if sealed[-3] != "A" else "B") + sealed[-2:]
    with pytest.raises(StoreError, match="altered, or moved"):
        SealKey.of(key).open(sealed, row)


@pytest.mark.parametrize("text", ["", "secret", "2.0a1b2c3d.AAAA", "1.xyz.AAAA", "1.0a1b2c3d."])
def test_a_text_in_another_form_is_no_sealed_secret(text: str) -> None:
    with pytest.raises(StoreError, match="form"):
        key_of(text)


def test_a_key_is_shown_by_its_id_and_never_itself() -> None:
    key = SealKey.of(FIRST)
    assert FIRST not in repr(key)
    assert key.id in repr(key)
    with pytest.raises(Refused, match="line 2, has 5 characters") as refused:
        keys_in(f"{FIRST}\nshort\n", "the file x")
    assert "short" not in str(refused.value)


def test_the_first_key_of_a_state_directory_is_made_when_it_is_needed(tmp_path: Path) -> None:
    seal = own(tmp_path)
    assert (seal.key, seal.trouble) == (None, None)
    assert not (tmp_path / "seal-key").exists()
    seal.prepare(holds_secrets=False)
    sealed = seal.seal("secret", ROW)
    assert stat.S_IMODE((tmp_path / "seal-key").stat().st_mode) == 0o600
    assert own(tmp_path).open(sealed, ROW) == "secret"


def test_a_lost_key_is_not_made_anew_while_secrets_are_sealed_under_it(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="put the file back"):
        own(tmp_path).prepare(holds_secrets=True)
    assert not (tmp_path / "seal-key").exists()


def test_a_secret_of_an_unknown_key_names_the_key_and_the_remedy(tmp_path: Path) -> None:
    sealed = SealKey.of(FIRST).seal("secret", ROW)
    seal = own(tmp_path)
    seal.prepare(holds_secrets=False)
    assert not seal.opens(sealed)
    with pytest.raises(
        Refused, match=rf"under key {key_of(sealed)}, which .*seal-key does not hold.*put that key back"
    ):
        seal.open(sealed, ROW)
    with (tmp_path / "seal-key").open("a") as file:
        file.write(f"{FIRST}\n")
    seal.load()
    assert seal.open(sealed, ROW) == "secret", "an older key that is put back as a line of its own opens it"


def test_a_rotation_keeps_the_old_key_until_it_is_retired(tmp_path: Path) -> None:
    seal = own(tmp_path)
    seal.prepare(holds_secrets=False)
    before = seal.seal("secret", ROW)
    seal.renew()
    assert key_of(seal.seal("secret", ROW)) != key_of(before)
    assert own(tmp_path).open(before, ROW) == "secret", "a crash here loses nothing"
    seal.retire()
    assert not own(tmp_path).opens(before)


def test_a_key_that_is_referred_to_is_read_again_and_never_written() -> None:
    kept = [FIRST]
    seal = referring(lambda: kept[0])
    before = seal.seal("secret", ROW)
    kept[0] = f"{SECOND}\n{FIRST}"
    seal.renew()
    assert (seal.key, seal.open(before, ROW)) == (SealKey.of(SECOND).id, "secret")


def test_a_key_that_cannot_be_read_stops_what_needs_it_and_nothing_else() -> None:
    def missing() -> str:
        raise Refused("the environment variable SEAL holds no secret")

    seal = referring(missing)
    sealed = SealKey.of(FIRST).seal("secret", ROW)
    assert seal.trouble is not None
    for needs in (
        lambda: seal.prepare(holds_secrets=False),
        lambda: seal.seal("s", ROW),
        lambda: seal.open(sealed, ROW),
    ):
        with pytest.raises(Refused, match="SEAL holds no secret"):
            needs()


def test_minted_keys_have_256_random_bits() -> None:
    assert len({mint() for _ in range(3)}) == 3
    assert len(mint()) == 43
