"""Turn errors of drivers into words: what failed, for which members, and what to do. Pure.

Where a driver knows the cause, its message says what to do. Otherwise the message of the cloud or balancer is searched
for known causes, and what to do is added. One failure of many members is reported once.

==========================  =====================  =================================================================
Otter's error               Cause                  recognised, for example, in
==========================  =====================  =================================================================
launch configuration        LAUNCH_CONFIGURATION   Invalid user_data; Bad networks format
image                       IMAGE                  Image 70a5 could not be found. Unable to find template by id 7
flavor                      FLAVOR                 Flavor 5 could not be found. Unable to find service offering: 3
networks                    NETWORK                Network 11 could not be found. Port 5 is not usable
ssh key                     KEY                    Invalid key_name provided. A key pair with name 'a' doesn't exist
quota                       QUOTA                  Quota exceeded for instances: Requested 1, but used 10 of 10
no such balancer            BALANCER               Load Balancer 71 could not be found. Load balancer does not exist
balancer is being deleted   BALANCER_GOING         Load balancer 71 is PENDING_DELETE
no more nodes               BALANCER_FULL          Nodes must not exceed 25 per load balancer
no such node                REGISTRATION           Member 4 could not be found. Node 12 of load balancer 5 not found
no pool, or not active      POOL                   Pool 3 could not be found. There is no backend web
no health monitor           HEALTH_MONITOR         Health monitor 8 could not be found
no service in the catalog   SERVICE                Could not locate service compute in the service catalog
==========================  =====================  =================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from config.causes import REMEDIES, FailureCause
from config.errors import DriverError
from config.units import MemberName
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import KINDS
from handler.planning.world import Attempts, World

_NAMED = 5
"""Members that a sentence names."""

_LONGEST = 2000
"""Characters of a message that are looked through."""

_MISSING = (
    r"(?:could ?n[o']t be found|can ?not be found|not found|does(?: not|n't) exist|no longer exists"
    r"|is (?:not (?:usable|active|available)|unavailable|deleted|invalid)|has been (?:deleted|removed)|unable to find)"
)


def _lost(thing: str) -> re.Pattern[str]:
    """One thing that is missing, before or after the words for that; never across the end of a sentence."""
    found = rf"\b{thing}\b[^.;]{{0,120}}?\b{_MISSING}"
    sought = rf"\b(?:unable to find|could not find|there is no|no such|invalid|unknown)\b[^.;]{{0,40}}?\b{thing}\b"
    return re.compile(f"{found}|{sought}", re.IGNORECASE)


def _regex(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


_BALANCER = r"load ?balancer"
_PARTS = "user_?data|networks format|metadata|server name|input|parameter"

_KNOWN: Sequence[tuple[FailureCause, re.Pattern[str]]] = (
    (FailureCause.SERVICE, _regex(r"service catalog|\bendpoint for\b.*\bnot found")),
    (
        FailureCause.CREDENTIALS,
        _regex(r"\bunauthori[sz]ed\b|\binvalid credentials\b|\bauthentication (?:failed|required)\b"),
    ),
    (FailureCause.SERVER_GROUP, _regex(r"quota exceeded[^.;]*(?:server group|group_members)")),
    (FailureCause.QUOTA, _regex(r"\bquotas?\b|\blimit (?:has been )?(?:reached|exceeded)|maximum number of resources")),
    (
        FailureCause.BALANCER_FULL,
        _regex(rf"\b(?:nodes|members)\b[^.;]*\b(?:must not exceed|more than)\b[^.;]*{_BALANCER}?"),
    ),
    (FailureCause.BALANCER_GOING, _regex(rf"{_BALANCER}[^.;]*\b(?:being deleted|pending_delete|is deleting)\b")),
    (FailureCause.BALANCER_BUSY, _regex(rf"{_BALANCER}[^.;]*\b(?:immutable|pending_(?:create|update)|busy)\b")),
    (FailureCause.HEALTH_MONITOR, _lost(r"health ?monitor(?: configuration)?")),
    (FailureCause.REGISTRATION, _lost(r"(?:node|member)")),
    (FailureCause.POOL, _lost(r"(?:pool|backend|server ?farm|service ?group)")),
    (FailureCause.BALANCER, _lost(rf"(?:{_BALANCER}|listener|vserver)")),
    (FailureCause.IMAGE, _lost("(?:image|template|iso)")),
    (FailureCause.FLAVOR, _lost("(?:flavou?r|(?:service )?offering)")),
    (FailureCause.KEY, _lost("(?:key_name|key ?pair|ssh ?key)")),
    (FailureCause.NETWORK, _lost("(?:networks?|subnet|port|security ?groups?)")),
    (FailureCause.SERVER_GROUP, _lost("(?:server|affinity) ?group")),
    (FailureCause.ZONE, _lost("(?:availability )?zone")),
    (
        FailureCause.CAPACITY,
        _regex(r"no valid host|insufficient capacity|unable to create a deployment|not enough capacity"),
    ),
    (
        FailureCause.LAUNCH_CONFIGURATION,
        _regex(rf"\b(?:invalid|bad|malformed)\b[^.;]*\b(?:{_PARTS})|launch configuration"),
    ),
)  # fmt: skip
"""The more specific first: a missing pool of a balancer is a POOL."""


_ASKED = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S*")


def fold(words: str) -> FailureCause | None:
    """Recognise a cause in the message of a cloud or balancer; ``None``: no known cause.

    >>> fold("Image 70a5 could not be found."), fold("try again")
    (<FailureCause.IMAGE: 'image'>, None)
    >>> fold("GET /quotas/tenant was not answered")  # the request's own path is not the cause
    """
    words = _ASKED.sub("", words[:_LONGEST])
    return next((cause for cause, pattern in _KNOWN if pattern.search(words)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """Hold the cause of an error, and its message."""

    cause: FailureCause | None
    words: str
    """What failed and, where that is known, what to do."""


def understood(error: DriverError) -> Understood:
    """Return what failed, and what to do."""
    words = str(error) or type(error).__name__
    if error.cause is not None:
        return Understood(cause=error.cause, words=words)
    cause = fold(words)
    fix = "" if cause is None or REMEDIES[cause] in words else f": {REMEDIES[cause]}"
    return Understood(cause=cause, words=f"{words.rstrip('. ') if fix else words}{fix}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trouble:
    call: str
    cause: FailureCause | None
    words: str
    member: MemberName | None

    @property
    def key(self) -> tuple[str, object]:
        """What makes two failures the same: the cause, or else the message without the member's name."""
        return self.call, self.cause or (self.words if self.member is None else self.words.replace(self.member, ""))


def failure_messages(
    outcomes: Iterable[StepOutcome], held: Sequence[Attempts], world: World, *, failed: bool
) -> tuple[str, ...]:
    """Return what failed now, or waits since it failed: each failure once, with the members that it affects.

    Args:
        outcomes: of this pass.
        held: calls that may not be made again yet.
        world: the members that these calls are for.
        failed: return what needs a person to change something; otherwise what is tried again.
    """
    alike: dict[tuple[str, object], list[_Trouble]] = {}
    for trouble in (*_now(outcomes, failed=failed), *_before(held, world, failed=failed)):
        alike.setdefault(trouble.key, []).append(trouble)
    return tuple(_sentence(troubles) for troubles in alike.values())


def _now(outcomes: Iterable[StepOutcome], *, failed: bool) -> Iterator[_Trouble]:
    for outcome in outcomes:
        if outcome.result is not StepResult.DONE and (outcome.result is StepResult.FAILED) is failed:
            yield _Trouble(
                call=KINDS[type(outcome.step)], cause=outcome.cause, words=outcome.because, member=outcome.member
            )


def _before(held: Sequence[Attempts], world: World, *, failed: bool) -> Iterator[_Trouble]:
    waiting = {one for one in held if one.failed is failed}
    for member in world.members if waiting else ():
        for one in () if member.record is None else member.record.attempts:
            if one in waiting:
                yield _Trouble(call=one.call, cause=one.cause, words=one.because, member=member.name)


def _sentence(troubles: Sequence[_Trouble]) -> str:
    first = troubles[0]
    names = list(dict.fromkeys(trouble.member for trouble in troubles if trouble.member is not None))
    if not names or (len(names) == 1 and names[0] in first.words):
        return f"{first.call}: {first.words}"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = ", ".join(names[:_NAMED]) + more
    return f"{first.call}: {first.words} ({f'{len(names)} members: ' if len(names) > 1 else ''}{listed})"
