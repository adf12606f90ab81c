"""The end of what a member wrote on its console, as text that no terminal and no page acts upon. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from config.units import GroupId, MemberName
from handler.logs import printable
from handler.ports.orchestrator import LOG_BYTES

NO_OUTPUT = (
    "only OpenStack and processes give it as text; CloudStack's API gives the address of a console for a browser, and "
    "OpenNebula's has no call for it"
)
"""Source: CloudStack's ``createConsoleEndpoint`` (since 4.18); the methods ``one.vm.*`` of OpenNebula's XML-RPC API."""
_STEERING = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, moves of the cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|[PX^_][^\x1b]*(?:\x1b\\)?"  # strings for devices
    r"|[ -/]*[0-~])"
)
"""Sequences that steer a terminal. Source: ECMA-48, 5th edition, sections 5.4 and 5.6."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLog:
    """What a member wrote."""

    group: GroupId
    member: MemberName
    lines: int
    """How many there are in the text."""
    is_whole: bool
    """There may be no lines before these."""
    text: str = field(repr=False)
    """It may hold secrets that a program wrote: it never reaches a log, nor the audit trail."""


def log_of(group: GroupId, member: MemberName, output: bytes, lines: int) -> MemberLog:
    """Return the last lines of a member's output, harmless.

    Args:
        group: of the member.
        member: whose output it is.
        output: its end, in UTF-8; what is not is shown as U+FFFD.
        lines: at most so many.
    """
    text = harmless(output[-LOG_BYTES:].decode(errors="replace"))
    is_cut = len(output) >= LOG_BYTES or len(text) > LOG_BYTES
    found = text[-LOG_BYTES:].removesuffix("\n").split("\n") if text else []
    if is_cut and len(found) > 1:
        found = found[1:]  # it begins in the middle of a line
    shown, is_whole = found[-lines:], not is_cut and len(found) < lines
    return MemberLog(group=group, member=member, lines=len(shown), is_whole=is_whole, text="\n".join(shown))


def harmless(text: str) -> str:
    r"""Return text without what steers a terminal; other controls become visible, tabs become spaces.

    >>> harmless("\x1b[31mred\x1b[0m\r\nplain\x07\u202e\n")
    'red\nplain\\x07\\u202e\n'
    """
    plain = _STEERING.sub("", text).replace("\r\n", "\n").expandtabs()
    return "\n".join(map(printable, plain.split("\n")))
