"""Commands are signed as the library `cs`, which we did not write, signs them."""

from __future__ import annotations

from urllib.parse import parse_qsl

import cs
import pytest

from collector.clients.cloudstack.signing import signed
from config.units import Instant
from tests.support.cloudstack_wire import KEY, SECRET


@pytest.mark.parametrize("value", ["a b*c/é+&=", "1", ""])
def test_commands_are_signed_as_the_library_signs_them(value: str) -> None:
    body = signed("listZones", {"name": value}, key=KEY, secret=SECRET, now=Instant(1769853600.0))
    given = dict(parse_qsl(body.decode(), keep_blank_values=True))
    signature = given.pop("signature")

    theirs = dict(given)
    cs.CloudStack(endpoint="http://127.0.0.1", key=KEY, secret=SECRET)._sign(theirs)

    assert signature == theirs["signature"]
