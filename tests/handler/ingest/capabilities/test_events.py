from __future__ import annotations

import base64

import pytest

from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.capabilities.events import CloudNews, read

VM = b"<VM><ID>17</ID><NAME>trimtab-web-7</NAME><STATE>3</STATE><TEMPLATE><NIC><ID>1</ID></NIC></TEMPLATE></VM>"
"""The head of what OpenNebula gives a state hook as $TEMPLATE."""


@pytest.mark.parametrize("sent", [VM, base64.b64encode(VM), base64.encodebytes(VM), b"<CALL>" + VM + b"</CALL>"])
def test_opennebulas_document_names_its_machine(sent: bytes) -> None:
    assert read(sent) == CloudNews(member="trimtab-web-7", machine="17")


def test_text_in_the_document_may_be_quoted_as_xml_does() -> None:
    assert read(b"<VM><NAME><![CDATA[a&b]]></NAME></VM>") == CloudNews(member="a&b")


@pytest.mark.parametrize(
    ("sent", "news"),
    [
        (b"", CloudNews()),
        (b" \n", CloudNews()),
        (b'{"group": "web"}', CloudNews(group="web")),
        (b'{"member": "m", "machine": "7", "event": "died"}', CloudNews(member="m", machine="7")),
    ],
)
def test_json_names_a_group_or_a_machine(sent: bytes, news: CloudNews) -> None:
    assert read(sent) == news


_BOMB = b'<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><VM><NAME>&c;</NAME></VM>'


@pytest.mark.parametrize(
    "sent",
    [
        b"{",
        b"[]",
        b'{"vm": 1}',
        b'{"group": 7}',
        b"<VM>",
        b"<VNET/>",
        b"?",
        _BOMB,
        base64.b64encode(_BOMB),
        base64.b64encode(_BOMB.decode().encode("utf-16")),
        _BOMB.decode().encode("utf-16-le"),
        b'<?xml version="1.0" encoding="no-such"?><VM><ID>7</ID></VM>',
        b'<?xml version="1.0" encoding="undefined"?><VM><ID>7</ID></VM>',
        b'<?xml version="1.0" encoding="shift_jis"?><VM><ID>7</ID></VM>',
        b"\xff\xfe",
    ],
)
def test_what_names_nothing_is_refused(sent: bytes) -> None:
    found = read(sent)
    assert isinstance(found, UnreadablePayload)
    assert "expected OpenNebula's document" in found.message
