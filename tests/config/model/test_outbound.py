"""Which addresses URLs of the API may lead to, however they are written."""

from __future__ import annotations

import pytest

from config.model.outbound import Outbound

EVERYTHING = Outbound(allow_private=("0.0.0.0/0", "::/0"))


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]
)
def test_a_public_address_is_allowed(address: str) -> None:
    assert Outbound().allows(address)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("127.0.0.1", "127.0.0.0/8"),
        ("10.0.0.5", "10.0.0.0/8"),
        ("172.16.0.1", "172.16.0.0/12"),
        ("192.168.1.1", "192.168.0.0/16"),
        ("100.64.0.1", "100.64.0.0/10"),
        ("198.18.0.1", "198.18.0.0/15"),
        ("192.0.2.1", "192.0.2.0/24"),
        ("::1", "::1/128"),
        ("fd12::1", "fd00::/8"),
        ("::ffff:10.0.0.5", "10.0.0.0/8"),
        ("::ffff:a00:5", "10.0.0.0/8"),
        ("64:ff9b::a00:5", "10.0.0.0/8"),
        ("2002:a00:5::1", "10.0.0.0/8"),
        ("64:ff9b:1::a00:5", "64:ff9b:1::/48"),
        ("::10.0.0.5", "::/96"),
        ("4000::1", "4000::/3"),
        ("2001:db8::1", "2001:db8::/32"),
    ],
)
def test_what_is_not_public_is_allowed_only_by_its_network(address: str, network: str) -> None:
    assert not Outbound().allows(address)
    assert Outbound(allow_private=("203.0.113.0/24", network)).allows(address)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "0.0.0.0",
        "0.1.2.3",
        "::",
        "224.0.0.1",
        "255.255.255.255",
        "ff02::1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "localhost",
        "",
    ],
)
def test_link_local_and_metadata_addresses_are_never_allowed(address: str) -> None:
    assert not EVERYTHING.allows(address)
