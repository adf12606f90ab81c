from __future__ import annotations

from functools import partial

import pytest

from config.errors import DeclarationError
from config.load import parse
from config.model.access import SecretRef
from config.model.daemon import PostgresqlPlace
from config.settings import read_secret, unread_secrets

URL = "postgresql://trimtab@db1,db2:5433/trimtab?target_session_attrs=read-write"


def test_the_store_is_in_the_state_directory_unless_the_file_says_otherwise() -> None:
    assert parse("groups: {}", "a.yaml").store is None


@pytest.mark.parametrize("url", [URL, "postgres:///trimtab?host=/run/postgresql"])
def test_an_address_is_kept_as_libpq_reads_it(url: str) -> None:
    assert parse(f"store: {{url: '{url}'}}", "a.yaml").store == PostgresqlPlace(url=url)


def test_a_password_is_a_reference_and_is_missed_where_it_is_not() -> None:
    catalogue = parse(f"store: {{url: '{URL}', password: {{env: DATABASE}}}}", "a.yaml")
    assert catalogue.store == PostgresqlPlace(url=URL, password=SecretRef(env="DATABASE"))
    (problem,) = unread_secrets(catalogue, partial(read_secret, environ={}))
    assert (problem.line, "DATABASE" in problem.message) == (1, True)


def test_the_store_is_no_part_of_the_configuration_hash() -> None:
    assert parse(f"store: {{url: '{URL}'}}", "a.yaml").digest == parse("groups: {}", "b.yaml").digest


@pytest.mark.parametrize("text", ["store: 'postgresql://t:s3cret@h/t'", "store: {url: 'postgresql://:s3cret@h/t'}"])
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        parse(text, "a.yaml")
    assert "s3cret" not in str(caught.value)
