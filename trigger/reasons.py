"""The closed list of reasons: every evaluation, decision and refusal ends in exactly one of these."""

from __future__ import annotations

import enum


class Reason(enum.Enum):
    """Why something was, or was not, done. The value is the spelling in API, metrics and history."""

    # A policy, before the door.
    NOT_MET = "not_met"
    """Its conditions do not hold."""
    HOLDING = "holding"
    """They hold, not yet for the duration."""
    BLIND = "blind"
    """Not enough data to judge."""

    # What the door answered to a request.
    SCALED_OUT = "scaled_out"
    SCALED_IN = "scaled_in"
    QUIET = "quiet"
    """A quiet time runs."""
    AT_MAX = "at_max"
    AT_MIN = "at_min"
    NO_CHANGE = "no_change"
    """The adjustment amounts to nothing, for example 0 %, or a size that is already desired."""
    SHIELDED = "shielded"
    """An alert shields the group from scale-in, or says that its own source is blind."""
    FROZEN = "frozen"
    """An alert, or a freeze window of the group, freezes this direction."""
    CATCHING_UP = "catching_up"
    """Earlier growth is not in service yet."""
    BUDGET = "budget"
    """The group's or the cloud's budget of creates is spent."""
    MAX_CHANGE = "max_change"
    """As many members came, or left, as may in a span of time."""
    FLAPPING = "flapping"
    """The size went to and fro too often and is held high for a while."""
    BUILD_BACK_OFF = "build_back_off"
    """Builds failed in a row."""
    WOULD_BOUNCE = "would_bounce"
    """With fewer members a policy that grows the group would at once want to."""
    OUTBID = "outbid"
    """Another request of the same moment won."""
    DISAGREED = "disagreed"
    """A scale-in that another policy which could scale in does not agree with."""
    PAUSED = "paused"
    ADVISED = "advised"
    """Mode `advise`: this is what would have been done."""
    MODE_OFF = "mode_off"
    BELOW_MIN = "below_min"
    """Refused: less than min, and the group is not paused."""
    ABOVE_MAX = "above_max"
    """Refused: more than max, without force."""
    FORCED = "forced"
    """Outside the bounds because a person said so."""
    NOT_LISTED = "not_listed"
    """No complete listing of the group yet, so there is no size to start from."""
    ORPHANED = "orphaned"
    """The group is no longer declared; nothing is evaluated."""

    # Changes of desired size that nobody asked for.
    FIRST_LISTING = "first_listing"
    BOUNDS = "bounds"
    """Bounds changed; desired size was clamped to them."""
    ALERT_FLOOR = "alert_floor"
    """An alert raises the least size while it lasts; also the answer to a person who asks for less."""
    BLIND_FLOOR = "blind_floor"
    """Blind, and the group declares a floor for that."""
    VANISHED = "vanished"
    """`on_vanish: shrink`: a vanished member lowered the desired size."""

    # A group with nothing to report.
    STEADY = "steady"
    """No policy wants anything."""
    UNHEARD = "unheard"
    """Members have not been heard for more than ten intervals."""
