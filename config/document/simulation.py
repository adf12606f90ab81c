"""How a simulated cloud is written in YAML."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import NO_UNIT, Declared, key, must
from config.document.scalars import Given, PositiveSpan, Share, Shrinkage, Span, read_span
from config.model.simulation import (
    LIES,
    Behaviour,
    BootTime,
    CallFaults,
    CallRate,
    Incident,
    ListingFaults,
    ScriptedEvent,
)

_SPAN = {"title": "duration", "type": "string", "pattern": r"^\s*(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$"}


def read_boot(value: object) -> BootTime:
    """Read ``30s``, or ``{median: 30s, p95: 2m}``.

    Raises:
        ValueError: says what was expected.

    >>> read_boot("30s") == BootTime(median=30.0, p95=30.0)
    True
    """
    expected = "a duration such as 30s, or {median: 30s, p95: 2m}"
    match value:
        case {"median": median, "p95": p95, **rest} if not rest:
            times = median, p95
        case {}:
            raise ValueError(expected)
        case _:
            times = value, value
    try:
        boot = BootTime(median=read_span(times[0]), p95=read_span(times[1]))
    except ValueError as error:
        raise ValueError(expected) from error
    if boot.p95 < boot.median or (boot.median == 0 < boot.p95):
        raise ValueError("a boot time whose median is more than 0s, and whose p95 is no less")
    return boot


Boot = Annotated[
    BootTime,
    PlainValidator(read_boot),
    WithJsonSchema(
        {
            "title": "duration, or `{median: DURATION, p95: DURATION}`",
            "anyOf": [
                _SPAN,
                {
                    "type": "object",
                    "properties": {"median": _SPAN, "p95": _SPAN},
                    "required": ["median", "p95"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]


class ListingDocument(Declared):
    """Listings that are slow, old or incomplete."""

    takes: Span = key("What a listing takes, on top of every call.", "2s", default="0s")
    lag: Span = key("How old what a listing shows is.", "10s", default="0s")
    partial: Annotated[Share | None, Given] = key(
        "Listings that show half of the servers, and say so.", "5%", left_out="none"
    )
    truncated: Annotated[Share | None, Given] = key(
        "Listings that show half of the servers, and pass for complete.", "1%", left_out="none"
    )

    @property
    def faults(self) -> ListingFaults:
        """As the core sees it."""
        return ListingFaults(
            takes=self.takes, lag=self.lag, partial=self.partial or 0.0, truncated=self.truncated or 0.0
        )


class CallDocument(Declared):
    """Faults of answers to calls that change something."""

    error: Annotated[Share | None, Given] = key("An error is answered, and nothing was done.", "2%", left_out="never")
    false_error: Annotated[Share | None, Given] = key("An error is answered, and all was done.", "2%", left_out="never")
    timeout: Annotated[Share | None, Given] = key("All was done, and nothing is answered.", "2%", left_out="never")

    @model_validator(mode="after")
    def _at_most_all(self) -> Self:
        if sum(share or 0.0 for share in (self.error, self.false_error, self.timeout)) > 1 + 1e-9:
            raise PydanticCustomError("sentence", "the shares of failing calls add up to more than 100%", {"key": ""})
        return self

    @property
    def faults(self) -> CallFaults:
        """As the core sees it."""
        return CallFaults(error=self.error or 0.0, false_error=self.false_error or 0.0, timeout=self.timeout or 0.0)


class CallRateDocument(Declared):
    """The rate limit of the cloud."""

    calls: Annotated[int, Field(ge=1, le=10**6)] = must("The most calls.", 100, unit="calls")
    per: PositiveSpan = must("In any span of so long.", "1m")


class IncidentDocument(Declared):
    """Something that happens once."""

    choice: ClassVar[tuple[str, ...]] = ("error", "vanish", "outage", "hide", "deny", "deleting")
    choice_of: ClassVar[str] = "the kind of event"

    at: Span = must("How long after the cloud began.", "10m")
    error: Annotated[Shrinkage | None, Given] = key("This many servers go to error.", 2, "50%")
    vanish: Annotated[Shrinkage | None, Given] = key("This many servers are gone, without a trace.", 2, "50%")
    outage: Annotated[PositiveSpan | None, Given] = key("For so long no call is answered, and nothing is done.", "2m")

    hide: Annotated[Shrinkage | None, Given] = key(
        "This many servers are missing from listings, and no call by name is answered for them.", 2, "50%"
    )
    deny: Annotated[Shrinkage | None, Given] = key(
        "This many servers exist, and the cloud answers that they do not.", 2, "50%"
    )
    deleting: Annotated[Shrinkage | None, Given] = key(
        "This many servers are shown as being deleted, and are not.", 2, "50%"
    )
    lasts: PositiveSpan = key("How long `hide`, `deny` or `deleting` lasts.", "5m", default="5m")

    @property
    def incident(self) -> Incident:
        """As the core sees it."""
        if self.outage is not None:
            return Incident(at=self.at, what=ScriptedEvent.OUTAGE, lasts=self.outage)
        amounts = {what: getattr(self, what.value) for what in ScriptedEvent if what is not ScriptedEvent.OUTAGE}
        what, amount = next((what, amount) for what, amount in amounts.items() if amount is not None)
        lasts = self.lasts if what in LIES else 0.0
        if amount.percent:
            return Incident(at=self.at, what=what, share=amount.number / 100, lasts=lasts)
        return Incident(at=self.at, what=what, count=int(amount.number), lasts=lasts)


class SimulatedDocument(Declared):
    """A cloud that is simulated inside Trimtab. It has no faults by default."""

    seed: Annotated[int, Field(ge=0, le=2**31)] = key(
        "The same seed, the same misfortunes.", 7, default=1, unit=NO_UNIT
    )
    boot: Boot = key("How long servers build.", "30s", {"median": "30s", "p95": "2m"}, default="30s")
    stop: Span = key("How long a destroyed server takes to go.", "5s", default="5s")
    call: Span = key("What every call takes.", "50ms", default="50ms")
    timeout: PositiveSpan = key("What a call takes that is not answered.", "10s", default="10s")
    quota: Annotated[Annotated[int, Field(ge=0, le=10**6)] | None, Given] = key(
        "Servers at most, foreign ones included.", 50, left_out="no limit", unit="servers"
    )
    foreign: Annotated[int, Field(ge=0, le=10**5)] = key(
        "Servers that are not ours, from the beginning.", 3, default=0, unit="servers"
    )
    rate_limit: Annotated[CallRateDocument | None, Given] = key(
        "How many calls are answered.", {"calls": 100, "per": "1m"}, left_out="all"
    )
    listing: ListingDocument = key("Faults of listings.", {"lag": "10s", "partial": "5%"}, default={})
    create: CallDocument = key("Faults of creations.", {"error": "2%", "timeout": "2%"}, default={})
    destroy: CallDocument = key("Faults of removals.", {"error": "2%"}, default={})
    stillborn: Annotated[Share | None, Given] = key("Servers that go to error while they build.", "5%", left_out="none")
    error_after: Annotated[PositiveSpan | None, Given] = key(
        "Mean time until a server goes to error.", "2d", left_out="never"
    )
    vanish_after: Annotated[PositiveSpan | None, Given] = key(
        "Mean time until a server is gone.", "7d", left_out="never"
    )
    script: list[IncidentDocument] = key(
        "What happens once, and when.", [{"at": "10m", "vanish": 2}, {"at": "20m", "outage": "2m"}], default=[]
    )

    @property
    def behaviour(self) -> Behaviour:
        """As the core sees it."""
        limit = self.rate_limit
        return Behaviour(
            seed=self.seed,
            boot=self.boot,
            stop=self.stop,
            call=self.call,
            timeout=self.timeout,
            quota=self.quota,
            foreign=self.foreign,
            rate_limit=None if limit is None else CallRate(calls=limit.calls, per=limit.per),
            listing=self.listing.faults,
            create=self.create.faults,
            destroy=self.destroy.faults,
            stillborn=self.stillborn or 0.0,
            error_after=self.error_after,
            vanish_after=self.vanish_after,
            script=tuple(sorted((entry.incident for entry in self.script), key=lambda incident: incident.at)),
        )
