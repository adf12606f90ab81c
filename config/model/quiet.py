"""Quiet times: whom the one that a policy begins leaves in peace."""

from __future__ import annotations

import enum


class QuietScope(enum.Enum):
    """Who is quiet after a policy fired."""

    GROUP = "group"
    POLICY = "policy"
