"""What the console's pages say: every page of a fleet in which everything is the case once, and of one that is new."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, Final, cast

from config.document.entities import Entity
from config.model.catalogue import Mode
from config.model.counters import Counter
from config.model.effects import FrozenDirection
from config.model.sections import Section
from config.units import BalancerId, CounterId, GroupId, Instant, MemberName, PolicyId
from handler.identity.grants import EVERYTHING
from handler.operations.declaration_admin import DeclaredEntry
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.operations.member_admin import RecordedMember
from handler.operations.member_course_admin import LivedCourses, MemberLife
from handler.operations.member_log import log_of
from handler.operations.outcomes import RevisionStatus
from handler.planning.garbage import GarbageKind, Item
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition, GroupOutline, GroupStatus, MemberState, RollbackStatus, RollStatus
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Wait
from handler.planning.world import Attempts, BalancerView, Health, Phase, Record, RegistrationState, World
from handler.ports.alerts import StoredHook
from handler.ports.credentials import StoredKeyPair
from handler.ports.declarations import EntityChange, EntityRevision
from handler.ports.identity import StoredToken, StoredUser
from handler.ports.store import EDITED
from handler.ports.stored import Event, EventKind
from handler.runtime.past_series import past_picture
from handler.runtime.pulse import Pulse
from handler.runtime.series import Picture, SeriesRecorder
from handler.users.trail_pages import TrailPage
from handler.web.pages.addresses import TimeAsked
from handler.web.pages.apart import Values
from handler.web.pages.choosing import FleetFilter
from handler.web.pages.courses import CoursesAsked, courses_page
from handler.web.pages.declared import EntityForm, declared_page, document_page, form_page, texts_before
from handler.web.pages.garbage import GarbageFacts, garbage_page
from handler.web.pages.member import LogAsked, MemberFacts, member_page
from handler.web.pages.revisions import revisions_page
from handler.web.pages.routes import Console
from handler.web.pages.trail import TrailChoice, trail_markup
from handler.web.pages.users import NewSecret, UserFacts, UsersFacts, user_page, users_page
from handler.web.pages.webhooks import IssuedToken, WebhookFacts, webhooks_page
from handler.web.pages.windows import window_of
from handler.what_if.member_question import Farthest, MemberCourse, MemberCourses
from tests.support.filled import filled
from tests.support.normal_html import normal_html
from tests.support.pages import NOW, a_member, a_status, an_outline
from tests.support.store import a_condition, a_quiet, an_answer, an_explanation, at
from tests.support.worlds import a_member as a_world_member
from tests.support.worlds import a_record, a_registration, a_world
from trigger.explain.explanation import Explanation, ExpressionExplanation
from trigger.policies.manual_freezes import ManualFreeze
from trigger.reasons import Reason
from trigger.requests import Clamp, FleetPause, Pause, RequestCause
from trigger.verdicts import Direction, Truth

_HOSTILE: Final = "\"'><img src=x onerror=alert(1)>&amp;"
_WEB: Final = GroupId("web")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fleet:
    """Stands in for the daemon."""

    statuses: Sequence[GroupStatus] = ()
    series: SeriesRecorder = field(default_factory=lambda: SeriesRecorder(10.0))
    explanation: Explanation | None = None
    events: tuple[Event, ...] = ()
    pause: FleetPause | None = None
    pulse: Pulse = field(default_factory=Pulse)
    values: Values = field(default_factory=dict)
    world: World | None = None

    def now(self) -> Instant:
        return NOW

    def groups(self) -> tuple[GroupId, ...]:
        return tuple(status.group for status in self.statuses)

    def group(self, group: GroupId) -> GroupStatus:
        for status in self.statuses:
            if status.group == group:
                return status
        raise NoSuch(f"there is no group {group}")

    def outline(self, group: GroupId) -> GroupOutline:
        return an_outline(self.group(group))

    def recent(self, group: GroupId) -> SeriesRecorder:
        return self.series if group == _WEB else SeriesRecorder(10.0)

    def member_values(self, group: GroupId) -> Values:
        return self.values if group == _WEB else {}

    def last_world(self, group: GroupId) -> World | None:
        return self.world if group == _WEB else None

    def counters(self) -> Mapping[CounterId, Counter]:
        counter: Counter = filled(Counter)
        return {CounterId(_HOSTILE): replace(counter, unit="ms"), CounterId("cpu"): replace(counter, unit="percent")}

    async def past(self, group: GroupId, begin: Instant, end: Instant) -> Picture:
        return past_picture((), (), self.recent(group).picture(NOW), begin, end)

    @property
    def pauses(self) -> _Fleet:
        return self

    def fleet_pause(self) -> FleetPause | None:
        return self.pause

    async def why(self, group: GroupId, at: Instant | None) -> Explanation | None:
        return self.explanation if at is None or (self.explanation and self.explanation.at == at) else None

    async def history(self, group: GroupId, **_: Any) -> tuple[Event, ...]:
        return self.events if group == _WEB else ()


def first_pages() -> str:
    """The list of groups: of none, of one, and of many."""
    paused = FleetPause(pause=Pause.OUT, by=_HOSTILE, since=at(-5), because="quota & more")
    fleets = [_Fleet(), _Fleet(statuses=[a_status()]), _Fleet(statuses=tuple(_many()), series=_series(), pause=paused)]
    return _pages_text((str(len(fleet.statuses)), asyncio.run(_overview(fleet))) for fleet in fleets)


def group_pages() -> str:
    """Pages of groups: one where everything is the case, a new one, further ones, and one that is not there."""
    return _pages_text(
        (name, asyncio.run(_group(_Fleet(statuses=[status], **more)))) for name, (status, more) in _groups().items()
    )


def _pages_text(pages: Any) -> str:
    return "\n".join(f"=== {name}\n{normal_html(_without_digest(page))}" for name, page in pages)


def _without_digest(page: str) -> str:
    return re.sub(r"since=[0-9a-f]{8}", "since=life", re.sub(r"\?v=[0-9a-f]{12}", "?v=digest", page))


async def _overview(fleet: _Fleet) -> str:
    return _text(await Console(cast("Operations", fleet)).overview(EVERYTHING, FleetFilter()))


async def _group(fleet: _Fleet) -> str:
    return _text(await Console(cast("Operations", fleet)).group(_WEB, EVERYTHING, TimeAsked()))


def _text(response: Any) -> str:
    return str(response.body.decode())


def _many() -> Iterator[GroupStatus]:
    states = (MemberState.IN_SERVICE, MemberState.BUILDING, MemberState.DRAINING, MemberState.JOINING)
    yield replace(a_status(*(a_member(f"web-{state.value}", state) for state in states)), pause=Pause.IN)
    yield a_status(group=_HOSTILE, condition=GroupCondition.ERROR, messages=(_HOSTILE, "second"))
    modes = cycle(Mode)
    for condition in (*GroupCondition, *[GroupCondition.WARNING] * 7):
        group = f"{condition.value}-{(mode := next(modes)).value}"
        yield replace(a_status(group=group, condition=condition, desired=None, listed=None), mode=mode)


def _groups() -> dict[str, tuple[GroupStatus, dict[str, Any]]]:
    roll = RollStatus(
        state=RollState.RUNNING, because="", target="abc", surge="2", unavailable="10%", started_at=at(0), by="ada",
        ended_at=None, done=3, remaining=4, protected=(),
    )  # fmt: skip
    halted = replace(roll, state=RollState.HALTED, because="3 builds failed")
    member = replace(a_member(protected=True), unready="HTTP 404")
    return {
        "everything": (
            replace(_full_status(), roll=roll),
            {**_full_history(), "values": _values(), "world": _world()},
        ),
        "new": (a_status(desired=None, listed=None), {}),
        "empty": (replace(a_status(desired=0), old=2, mode=Mode.OFF), {"explanation": an_explanation(values=(None,))}),
        "halted": (replace(a_status(member), roll=halted, forced=True), {"series": _old_series()}),
        "not there": (a_status(group="wep"), {}),
    }


def _values() -> Values:
    """What members showed: one of them stands apart."""
    names = [MemberName(f"web-{state.value}") for state in MemberState]
    loads = {(CounterId("cpu"), name): 40.0 + place for place, name in enumerate(names)}
    return {**loads, (CounterId("cpu"), names[-1]): 99.0, (CounterId(_HOSTILE), names[0]): 1.5}


def _world() -> World:
    """One member on three balancers, of which one is unreadable and one not found; another one is leaving."""
    first, second = (MemberName(f"web-{state.value}") for state in (MemberState.BUILDING, MemberState.DRAINING))
    edge, spare, lost = BalancerId("edge"), BalancerId(_HOSTILE), BalancerId("lost")
    record = replace(a_record(), balancers=((edge, 80), (spare, 80), (lost, 80)))
    failing = replace(a_registration(health=Health.FAILING), member=first)
    draining = replace(a_registration(state=RegistrationState.DRAINING, connections=2), member=second, note=_HOSTILE)
    views = {
        edge: BalancerView(registrations={first: failing, second: draining}),
        spare: BalancerView(registrations=None, because=_HOSTILE),
        lost: BalancerView(registrations=None, not_found=True),
    }
    members = (replace(a_world_member(), name=first, record=record), replace(a_world_member(), name=second))
    return a_world(*members, balancer_views=views)


def _full_status() -> GroupStatus:
    names = (f"web-{state.value}" for state in MemberState)
    members = [a_member(name, state) for name, state in zip(names, MemberState, strict=True)]
    hostile = a_member(_HOSTILE, address=None, warming=True, protected=True, unheard_since=at(-700))
    return replace(
        a_status(
            *members, hostile, condition=GroupCondition.WARNING, messages=("quota is used up", _HOSTILE),
            freezes=(
                ManualFreeze(
                    direction=FrozenDirection.IN, since=at(0), until=at(90000), by=_HOSTILE, because=_HOSTILE
                ),
            ),
            quiets=(a_quiet(at(160)), replace(a_quiet(at(4000), policy=None), direction=Direction.IN)),
            reason=Reason.SCALED_OUT,
        ),
        mode=Mode.ADVISE,
        pause=Pause.OUT,
        unbelieved=("cpu of web-1 is 120 %",),
        quota="cores",
        waits=((Wait.QUOTA, 2), (Wait.BUILDING, 1), (Wait.BUDGET, 3)),
        rollback=RollbackStatus(revision=3, at=at(1), by=_HOSTILE),
    )  # fmt: skip


def _full_explanation() -> Explanation:
    explanation = an_explanation(NOW, reason=Reason.SCALED_OUT, sizes=(3, 5), values=(90.0,), answers=(an_answer(),))
    (policy,) = explanation.policies
    expression: ExpressionExplanation = filled(ExpressionExplanation)
    judged = replace(
        policy,
        truth=Truth.TRUE,
        held=60.0,
        conditions=(
            replace(a_condition(90.0), truth=Truth.TRUE),
            replace(a_condition(None), condition=a_condition().condition, counter=a_condition().counter, window=300.0),
            replace(a_condition(-3.5), unit="ms", per_group=True, threshold=-1.0),
        ),
        expressions=(replace(expression, expression=_HOSTILE),),
    )
    return replace(explanation, policies=(judged, replace(policy, policy=PolicyId("in"))))


def _full_history() -> dict[str, Any]:
    explanation = _full_explanation()
    clamp = Clamp(guard=Reason.AT_MAX, before=12, after=10)
    decided, noted = EventKind.DECISION, EventKind.NOTE
    events = (
        _event(NOW, decided, "scaled_out", desired_from=3, desired_to=5),
        _event(at(80), decided, "scaled_in", desired_from=5, desired_to=3, message=_HOSTILE, clamps=(clamp,)),
        _event(at(60), decided, "quiet", desired_from=3, desired_to=3),
        _event(at(40), noted, EDITED),
        _event(at(20), noted, _HOSTILE, by=f"{RequestCause.PERSON.value} {_HOSTILE}"),
        _event(at(-9000), decided, "first_listing", desired_to=2),
    )
    return {"explanation": explanation, "events": events, "series": _series()}


def _event(when: Instant, kind: EventKind, name: str, *, by: str = "policy out", **changed: Any) -> Event:
    return Event(at=when, group=_WEB, kind=kind, name=name, by=by, **changed)


def _series() -> SeriesRecorder:
    """Sizes and conditions with gaps; the threshold is another one in the end."""
    series, explanation = SeriesRecorder(10.0), _full_explanation()
    (first, *others) = explanation.policies
    earlier = replace(first, conditions=tuple(replace(each, threshold=70.0) for each in first.conditions))
    for second, desired, in_service in ((-700, 3, 3), (-690, 3, None), (0, 3, 3), (50, 5, 3), (60, 5, 4), (100, 5, 5)):
        series.sized(at(second), desired=desired, in_service=in_service, minimum=2, maximum=10)
    for second in (-700, 0, 10, 20, 60):
        series.judged(replace(explanation, at=at(second), policies=(earlier, *others)))
    series.judged(explanation)
    return series


def _old_series() -> SeriesRecorder:
    series = SeriesRecorder(10.0)
    for second in (-9000, 90):
        series.sized(at(second), desired=9, in_service=9, minimum=2, maximum=10)
    return series


def member_pages() -> str:
    """What members showed over time: of some of many with gaps, of one by name, and why there is nothing; members."""
    course: MemberCourse = filled(MemberCourse)
    column = (1.5, None, 3.0)
    full = replace(course, member=MemberName(_HOSTILE), low=column, high=column, greatest_at=at(60))
    far = Farthest(at=at(60), value=3.0, median=1.25, among=9, beside=0)
    members = tuple(
        replace(full, farthest=each)
        for each in (
            far,
            replace(far, beside=1),
            replace(far, beside=4),
            replace(far, among=2),
            replace(far, among=1),
            None,
        )
    )
    courses: MemberCourses = replace(
        filled(MemberCourses), begin=at(0), end=at(90), apart=30.0, at=(at(0), at(30), at(60)), average=column,
        median=column, low=column, high=column, members=members, of=9, exact=True, caveats=(_HOSTILE,), unit="percent",
    )  # fmt: skip
    life = MemberLife(made_at=at(-9), in_service_at=at(10), leaving_at=at(50), gone_at=None)
    asked = CoursesAsked(
        group=_WEB, counters=(CounterId("cpu"), CounterId(_HOSTILE)), counter=None, window=window_of(NOW), members=(),
        now=NOW,
    )  # fmt: skip
    named = replace(asked, counter=CounterId(_HOSTILE), members=(MemberName(_HOSTILE), MemberName("web-2")))
    lived = LivedCourses(courses=courses, lives={MemberName(_HOSTILE): life})
    ranges = replace(courses, exact=False, members=members[:1], of=1, caveats=())
    return "\n".join(
        f"=== {name}\n{normal_html(page)}"
        for name, page in {
            "some": courses_page(asked, lived),
            "by name": courses_page(named, LivedCourses(courses=ranges, lives={})),
            "nothing": courses_page(replace(asked, counters=()), _HOSTILE),
            **{name: member_page(facts) for name, facts in _members()},
        }.items()
    )


def _members() -> Iterator[tuple[str, MemberFacts]]:
    """Pages of one member: where everything is the case, of one that is gone, and of a machine without a record."""
    name, when = MemberName(f"web-{MemberState.BUILDING.value}"), at(20)
    record: Record = filled(Record)
    tried = Attempts(call="register", balancer=BalancerId("edge"), count=3, again_at=at(120), because=_HOSTILE)
    troubled = replace(
        record, name=name, phase=Phase.LEAVING, failing_since=when, absent_at=when, given=True, profile="abc",
        attempts=(tried, replace(tried, balancer=None, count=0)),
    )  # fmt: skip
    step = _event(when, EventKind.STEP, "join", by=name, result=StepResult.FAILED, message=_HOSTILE, took=2.5)
    events = (step, replace(step, result=None, took=None), _event(at(1), EventKind.NOTE, "evict", by=_HOSTILE))
    status = replace(a_member(name, MemberState.DRAINING, protected=True, warming=True), unready=_HOSTILE)
    log = log_of(_WEB, name, f"first\n{_HOSTILE}\n".encode(), 50)
    full = MemberFacts(
        group=_WEB, member=name, recorded=RecordedMember(record=troubled, events=events), status=status,
        world=_world(), revisions=(replace(filled(RevisionStatus), number=3, profile="abc"),), now=NOW,
        log=LogAsked(csrf="token", lines=50, answer=log),
    )  # fmt: skip
    yield "a member", full
    gone = replace(troubled, phase=Phase.GONE, profile=None)
    yield (
        "a member that is gone",
        replace(
            full, recorded=RecordedMember(record=gone, events=()), status=None, world=None,
            log=LogAsked(csrf="token", answer=_HOSTILE),
        ),
    )  # fmt: skip
    yield "no record", replace(full, recorded=RecordedMember(record=None, events=()), log=LogAsked())


# What is declared, and its forms


def declared_pages() -> str:
    """What is declared, forms of a new group and of a refused policy, an entry of the file, and revisions."""
    listed = declared_page(
        _declared(), tunes=True, documents={(each.section.value, each.id): "{}" for each in _declared()}
    )
    names = {"profiles": {"web": "Web"}, "policies": {"out": "", "in-x": _HOSTILE}, "conditions": {"busy": ""}}
    group = EntityForm(section=Section.GROUPS, entry=None, texts={}, names=names, csrf="token")
    entry = _declared()[1]
    texts = texts_before(Section.POLICIES, entry) | {"duration": _HOSTILE}
    policy = EntityForm(section=Section.POLICIES, entry=entry, texts=texts, names=names, csrf="token", message=_HOSTILE)
    return "\n".join(
        f"=== {name}\n{normal_html(page)}"
        for name, page in {
            "list": listed,
            "new group": form_page(group),
            "refused policy": form_page(policy),
            "of the file": document_page(_declared()[0], "{}"),
            "revisions": revisions_page(_revisions(), 9),
            "no revisions": revisions_page((), None),
        }.items()
    )


def installation_pages() -> str:
    """Garbage, the audit trail, webhooks and users: for a visitor who may do all, and where there is nothing."""
    item: Item = replace(filled(Item), group=_WEB, because=_HOSTILE)
    full = GarbageFacts(
        items=[replace(item, kind=kind) for kind in GarbageKind], unseen=("cloud prod: no answer",), now=NOW,
        is_there=_WEB.__eq__, csrf="token", message=_HOSTILE,
    )  # fmt: skip
    line = {"number": 7, "at": 1700000000.0, "who": _HOSTILE, "way": "token", "act": "scale", "result": "asked"}
    told = {**line, "number": 6, "groups": ["web", "old"], "on": "PUT /size", "result": "done", "because": "a fair"}
    trail = TrailPage(lines=(line, told), older=5)
    user: StoredUser = filled(StoredUser)
    everything, nothing = TrailChoice(who=_HOSTILE, group="web"), TrailChoice()
    return "\n".join(
        f"=== {name}\n{normal_html(page)}"
        for name, page in {
            "garbage": garbage_page(full),
            "no garbage": garbage_page(replace(full, items=(), unseen=(), csrf="", message="")),
            "trail": trail_markup(trail, everything, _WEB.__eq__, 9),
            "empty trail": trail_markup(TrailPage(lines=(), older=None), nothing, _WEB.__eq__, None),
            "webhooks": webhooks_page(_webhooks()),
            "no webhooks": webhooks_page(WebhookFacts(hooks=(), may_change=lambda _: True)),
            "users": users_page(UsersFacts(users=(user, replace(user, groups=None, disabled_at=None)), csrf="token")),
            "user": user_page(
                UserFacts(
                    user=user,
                    tokens=(filled(StoredToken), replace(filled(StoredToken), old_digest=None, name="ci")),
                    pairs=((filled(StoredKeyPair), False),),
                    csrf="token",
                    now=NOW,
                    made=NewSecret(title=_HOSTILE, parts=(("Token", _HOSTILE),)),
                    message=_HOSTILE,
                )
            ),
        }.items()
    )


def _webhooks() -> WebhookFacts:
    """One webhook of each use, one of them revoked; a token that was made, and a form that was refused."""
    hook: StoredHook = replace(filled(StoredHook), groups=(_WEB,), revoked_at=None)
    alerts = replace(hook, name=_HOSTILE, policy=None, observes=False, pushes=False)
    events, values = replace(alerts, name="events", observes=True), replace(alerts, name="values", pushes=True)
    hooks = (
        alerts, hook, replace(events, groups=(), old_token=None, hmac_secret=None, last_used_at=None),
        replace(values, revoked_at=at(5)),
    )  # fmt: skip
    return WebhookFacts(
        hooks=hooks, may_change=hook.__ne__, csrf="token", message=_HOSTILE,
        made=IssuedToken(name=_HOSTILE, token="shown once", path="/hooks/alerts/shown-once"),
        texts={"name": _HOSTILE, "groups": _HOSTILE, "use": "execute", "policy": _HOSTILE, "effect.fire": "on"},
    )  # fmt: skip


def _revisions() -> tuple[EntityRevision, ...]:
    """A change that restores another one, and before it one that made and deleted an entity."""
    first: Entity = replace(filled(Entity), section=Section.POLICIES, id="out", name="Out", text='{"add": 1}')
    second = replace(first, name=_HOSTILE, text=json.dumps({"add": 2, "when": [_HOSTILE]}))
    revision: EntityRevision = filled(EntityRevision)
    changed = EntityChange(key=first.key, before=first, after=second)
    made = EntityChange(key=first.key, before=None, after=second)
    deleted = EntityChange(key=first.key, before=first, after=None)
    return (
        replace(revision, number=8, at=NOW, by=_HOSTILE, origin="token", restored=2, changes=(changed,)),
        replace(revision, number=7, at=NOW, by="ada", origin="", restored=None, changes=(made, deleted)),
    )


def _declared() -> tuple[DeclaredEntry, ...]:
    of_file: DeclaredEntry = filled(DeclaredEntry)
    own = replace(
        of_file, section=Section.POLICIES, id="out", name=_HOSTILE, owner="api", revision=7, quarantined=(_HOSTILE,),
        declared={"when": ["busy"], "add": 1, "duration": "2m", "at_least": 2}, used_by=("groups.web",),
    )  # fmt: skip
    return replace(of_file, section=Section.COUNTERS, id="cpu", owner="file", quarantined=(), used_by=()), own
