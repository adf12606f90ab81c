"""The sections of the file that have a second owner: quick to import, since the command line names them."""

from __future__ import annotations

import enum


class Section(enum.Enum):
    """A section of the file whose entries can be declared over the API, too."""

    COUNTERS = "counters"
    CONDITIONS = "conditions"
    POLICIES = "policies"
    PROFILES = "profiles"
    GROUPS = "groups"
