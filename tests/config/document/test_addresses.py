from __future__ import annotations

import pytest

from config.document.addresses import read_base, read_socket

LONGEST = f"{'a' * 63}.example"


@pytest.mark.parametrize("host", ["a", "lb-1.example", "a--b.example", LONGEST, ".".join(["a" * 62] * 4)])
def test_a_name_of_a_host_is_one(host: str) -> None:
    assert read_socket(f"{host}:9999") == f"{host}:9999"
    assert read_base(f"http://{host}/api") == f"http://{host}/api"


@pytest.mark.parametrize("host", ["a..b", ".a", "a.", "-a", "a-", f"a{LONGEST}", ".".join(["a" * 63] * 4)])
def test_a_name_that_cannot_be_looked_up_is_none(host: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        read_socket(f"{host}:9999")
    with pytest.raises(ValueError, match="an address such as"):
        read_base(f"http://{host}/api")
