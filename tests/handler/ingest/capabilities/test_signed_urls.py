from __future__ import annotations

import pytest

from handler.ingest.capabilities.signed_urls import is_genuine, key_id_of, signed_url, without_signature

SECRET, HOST, PATH = "open sesame", "127.0.0.1:8460", "/hooks/signal/heat"
KEYSTONES = (
    "AWSAccessKeyId=hook-1a2b3c4d&SignatureMethod=HmacSHA256&SignatureVersion=2&Timestamp=2026-01-01T12%3A00%3A00Z"
    "&Signature=YTBe4gK6ikFFrJhYjrBcnrlpoZD5QL7WJm9XObQfFwI%3D"
)
"""As keystoneclient 6.0.0 signs a POST to /hooks/signal/hook-1a2b3c4d of this host."""


def test_a_url_that_keystoneclient_signs_is_genuine() -> None:
    assert is_genuine(SECRET, host=HOST, path="/hooks/signal/hook-1a2b3c4d", query=KEYSTONES)


def test_a_url_is_genuine_for_what_it_was_signed_for() -> None:
    path, _, query = signed_url(
        SECRET, host=HOST, name="heat", key_id="hook-1", stamp="2026-01-01T12:00:00Z"
    ).partition("?")
    assert path == PATH
    assert key_id_of(query) == "hook-1"
    assert is_genuine(SECRET, host=HOST, path=path, query=query)
    reordered = "&".join(reversed(query.split("&")))
    assert is_genuine(SECRET, host=HOST, path=path, query=reordered)


@pytest.mark.parametrize(
    ("secret", "host", "path", "query"),
    [
        ("another", HOST, PATH, None),
        (SECRET, "10.0.0.1:8460", PATH, None),
        (SECRET, HOST, "/hooks/signal/other", None),
        (SECRET, HOST, PATH, ""),
        (SECRET, HOST, PATH, "Signature=é"),
    ],
)
def test_anything_else_is_not(secret: str, host: str, path: str, query: str | None) -> None:
    signed = signed_url(SECRET, host=HOST, name="heat", key_id="hook-1", stamp="now").partition("?")[2]
    assert not is_genuine(secret, host=host, path=path, query=signed if query is None else query)


@pytest.mark.parametrize("more", ["&count=3", "&Timestamp=later", "&Signature=x"])
def test_parameters_are_signed_too(more: str) -> None:
    query = signed_url(SECRET, host=HOST, name="heat", key_id="hook-1", stamp="now").partition("?")[2] + more
    assert not is_genuine(SECRET, host=HOST, path=PATH, query=query)


def test_a_query_that_names_two_webhooks_names_none() -> None:
    assert key_id_of("AWSAccessKeyId=a&AWSAccessKeyId=b") == ""


def test_what_is_left_of_a_query_is_read_as_any_other() -> None:
    assert without_signature(f"{KEYSTONES}&count=3") == "count=3"
