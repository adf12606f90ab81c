"""What a message of a bus says, and what became of it."""

from __future__ import annotations

import enum

from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.capabilities.events import CloudNews


class NoNews(enum.Enum):
    """The message is one of the cloud's, and after it every machine is as it was."""

    NO_NEWS = "no_news"


NO_NEWS = NoNews.NO_NEWS

Reading = CloudNews | NoNews | UnreadablePayload
"""Closed union of what a message can be."""


class BusResult(enum.Enum):
    """What became of a message."""

    LOOKED = "looked"
    """A group is looked at, now or when its ten seconds are over."""
    FOREIGN = "foreign"
    """It is about a machine of no group."""
    NO_NEWS = "no_news"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
