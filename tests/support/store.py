"""Builders for what the store keeps, and a store with something in it."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from types import MappingProxyType

from config.model.access import SecretRef, SnmpAccess
from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.calendars import Calendar
from config.model.catalogue import (
    Adjustment,
    AdjustmentVerb,
    BalancerUse,
    Compare,
    Group,
    Mode,
    ProcessCloud,
    ProcessRecipe,
    Profile,
    QuietScope,
)
from config.model.effects import EffectKind
from config.model.parts import OnDelete
from config.model.schedules import Once
from config.units import (
    AlertId,
    BalancerId,
    CloudId,
    ConditionId,
    CounterId,
    GroupId,
    HookId,
    Instant,
    MemberName,
    PartName,
    PolicyId,
    ProfileId,
)
from handler.planning.desired import Builds, Definition
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Attempts, Leaving, Phase, Record
from handler.ports.alerts import AlertStatus, Delivery, StoredHook, TokenHash
from handler.ports.stored import StoredTick
from handler.store.sqlite import SqliteStore
from handler.store.sqlite_revisions import create_file, to_head
from trigger.explain.explanation import AnswerExplanation, ConditionExplanation, Explanation, PolicyExplanation
from trigger.reasons import Reason
from trigger.requests import (
    Ceiling,
    Clamp,
    GroupState,
    Observed,
    Pause,
    Queued,
    Quiet,
    Request,
    RequestCause,
    ServiceTurn,
    Signal,
    SignalKind,
    SizeChange,
    Watched,
)
from trigger.verdicts import Direction, Truth

INSTALLATION = "k3f9ab"
NOW = Instant(1_700_000_000.0)
WEB = GroupId("web")
LOCAL = CloudId("local")
EDGE = (BalancerId("edge"), 8080)


def at(seconds: float) -> Instant:
    return Instant(NOW + seconds)


def a_definition(group: str = "web", *, maximum: int = 10) -> Definition:
    return Definition(
        group=Group(
            id=GroupId(group),
            profile=ProfileId("small"),
            balancers=(BalancerUse(balancer=BalancerId("edge"), port=8080),),
            minimum=2,
            maximum=maximum,
            policies=(PolicyId("out"), PolicyId("in")),
        ),
        profile=Profile(
            id=ProfileId("small"),
            cloud=LOCAL,
            recipe=ProcessRecipe(command=("serve", "--slots", "4"), env=MappingProxyType({"MODE": "demo"})),
            snmp=SnmpAccess(community=SecretRef(env="SNMP_COMMUNITY")),
        ),
        cloud=ProcessCloud(id=LOCAL),
        balancers={
            BalancerId("edge"): HaproxyBalancer(id=BalancerId("edge"), socket="/run/haproxy.sock", backend="web"),
            BalancerId("door"): SharedListener(id=BalancerId("door"), address="127.0.0.1", port=80),
        },
    )


def a_state(
    desired: int | None = 3,
    *,
    quiets: tuple[Quiet, ...] = (),
    pause: Pause = Pause.NO,
    signals: tuple[Signal, ...] = (),
) -> GroupState:
    return GroupState(desired=desired, revision=desired or 0, quiets=quiets, pause=pause, signals=signals)


def a_quiet(until: Instant = NOW, policy: str | None = "out") -> Quiet:
    named = None if policy is None else PolicyId(policy)
    return Quiet(policy=named, scope=QuietScope.GROUP, direction=Direction.OUT, until=until)


def a_signal(kind: SignalKind = SignalKind.SHIELD, size: int | None = None, *, key: str = "f1") -> Signal:
    return Signal(alert=AlertId("deploy"), key=key, kind=kind, size=size, since=at(-60), until=at(600))


def a_hook(name: str = "alertmanager", *, id: str = "h1") -> StoredHook:
    return StoredHook(
        id=HookId(id),
        name=name,
        token=TokenHash(salt="5a17", digest="d16e57"),
        groups=(WEB,),
        effects=(EffectKind.FLOOR,),
        directions=(Direction.OUT,),
        created_at=at(0),
    )


def full_hook() -> StoredHook:
    """A webhook with every field set."""
    return StoredHook(
        id=HookId("h2"),
        name="grafana",
        token=TokenHash(salt="5a17", digest="d16e57"),
        old_token=TokenHash(salt="01d5a17", digest="01dd16e57"),
        old_until=at(3600),
        groups=(WEB, GroupId("worker")),
        effects=tuple(EffectKind),
        directions=tuple(Direction),
        hmac_secret=SecretRef(env="GRAFANA_HMAC"),
        created_at=at(0),
        revoked_at=at(60),
        last_used_at=at(50),
    )


def a_delivery(
    when: Instant = NOW,
    status: AlertStatus = AlertStatus.FIRING,
    *,
    fingerprint: str = "f1",
    starts_at: Instant = NOW,
    decision: str = "d1",
    group: str = "web",
) -> Delivery:
    return Delivery(
        group=GroupId(group),
        alert=AlertId("slow"),
        fingerprint=fingerprint,
        starts_at=starts_at,
        status=status,
        at=when,
        decision=decision,
    )


def a_record(sequence: int = 1, *, group: str = "web", phase: Phase = Phase.IN_SERVICE, since: Instant = NOW) -> Record:
    return Record(
        name=MemberName(f"{group}-{INSTALLATION}-{sequence}"),
        group=GroupId(group),
        sequence=sequence,
        phase=phase,
        intended_at=since,
        balancers=(EDGE,),
    )


def a_condition(value: float | None = 50.0) -> ConditionExplanation:
    return ConditionExplanation(
        condition=ConditionId("busy"),
        counter=CounterId("cpu"),
        unit="percent",
        across="avg",
        aggregate="avg",
        window=60.0,
        compare=Compare.ABOVE,
        threshold=80.0,
        truth=Truth.UNKNOWN if value is None else Truth.FALSE,
        value=value,
        low=None,
        high=None,
        heard=2,
        expected=3,
        age=1.5,
        lack=None,
    )


def an_answer(
    reason: Reason = Reason.SCALED_OUT,
    *,
    cause: RequestCause = RequestCause.POLICY,
    by: str = "out",
    request: str = "r1",
) -> AnswerExplanation:
    return AnswerExplanation(request=request, cause=cause, by=by, reason=reason, wanted=5, clamps=(), until=None)


def an_explanation(
    when: Instant = NOW,
    *,
    group: str = "web",
    reason: Reason = Reason.STEADY,
    sizes: tuple[int | None, int | None] = (3, 3),
    values: tuple[float | None, ...] = (50.0,),
    answers: tuple[AnswerExplanation, ...] = (),
) -> Explanation:
    """Without values: a tick of requests alone, that evaluated no policy."""
    policy = PolicyExplanation(
        policy=PolicyId("out"),
        truth=Truth.FALSE,
        reason=Reason.NOT_MET,
        held=0.0,
        needed=120.0,
        conditions=tuple(a_condition(value) for value in values),
    )
    return Explanation(
        group=GroupId(group),
        at=when,
        digest="d1",
        mode=Mode.ACT,
        pause=Pause.NO,
        reason=reason,
        desired_from=sizes[0],
        desired_to=sizes[1],
        advised_to=None,
        minimum=2,
        maximum=10,
        in_service=3,
        policies=(policy,) if values else (),
        answers=answers,
        quiets=(),
    )


def a_tick(explanation: Explanation | None = None, *, state: GroupState | None = None) -> StoredTick:
    explained = explanation or an_explanation()
    return StoredTick(group=explained.group, at=explained.at, explanation=explained, state=state)


def fill(store: SqliteStore) -> None:
    """Put a little of everything into an empty store: what the fixtures of old schemas hold."""
    store.declare((a_definition("web"), a_definition("worker")), at(0))
    grown = an_answer(Reason.SCALED_OUT, cause=RequestCause.ALARM, by="nagios", request="alarm-1")
    clamped = Clamp(guard=Reason.AT_MAX, before=12, after=10)
    store.record(
        (
            a_tick(an_explanation(at(1), reason=Reason.SCALED_OUT, sizes=(3, 5), answers=(grown,)), state=full_state()),
            a_tick(an_explanation(at(1), group="worker", values=(None,))),
        )
    )
    store.record((a_tick(an_explanation(at(31), sizes=(5, 5), values=(40.0,))),))
    store.record((a_tick(an_explanation(at(61), sizes=(5, 5), values=(60.0,))),))
    store.intend(WEB, LOCAL, 2, (EDGE,), at(2))
    store.save((full_record(),), LOCAL)
    step = store.begin_step(WEB, "create", MemberName("web-k3f9ab-1"), at(3), (), LOCAL)
    store.end_step(step, StepResult.DONE, "", at(4.5), (), LOCAL)
    store.begin_step(WEB, "create", MemberName("web-k3f9ab-2"), at(5), (), LOCAL)
    store.note(WEB, "pause", "ada", "maintenance", at(6))
    store.save_builds(WEB, Builds(failed=2, back_off_until=at(600)))
    store.declare((a_definition("web"),), at(7))
    refused = AnswerExplanation(
        request="p",
        cause=RequestCause.PERSON,
        by="ada",
        reason=Reason.QUIET,
        wanted=12,
        clamps=(clamped,),
        until=at(98),
    )
    store.record((a_tick(an_explanation(at(8), values=(), sizes=(5, 5), reason=Reason.QUIET, answers=(refused,))),))
    store.save_hook(a_hook())
    store.save_hook(full_hook())
    store.deliver((a_delivery(at(9)), a_delivery(at(10), AlertStatus.RESOLVED, decision="d2")))


def full_state() -> GroupState:
    """A state with every field set."""
    return GroupState(
        desired=5,
        revision=4,
        forced=True,
        kept=True,
        quiets=(a_quiet(at(300)), a_quiet(at(200), policy=None)),
        grown_at=at(1),
        pause=Pause.DECISIONS,
        signals=(a_signal(SignalKind.FLOOR, 8), a_signal(key="f2")),
        moves=(SizeChange(at=at(1), before=4, after=5),),
        observed=Observed(ceilings=(Ceiling(since=at(1), size=4), Ceiling(since=at(31), size=3)), seen=at(61)),
        watched=(
            Watched(policy=PolicyId("night"), times=Calendar(cron="0 20 * * *", timezone="Europe/Paris"), until=at(1)),
            Watched(policy=PolicyId("launch"), times=Once(at=at(9000)), until=at(2)),
        ),
        turn=ServiceTurn(began=at(3), queued=Queued(request=_a_request(), since=at(4), until=at(604))),
    )


def _a_request() -> Request:
    return Request(
        id="out@30",
        group=WEB,
        cause=RequestCause.POLICY,
        by="out",
        adjustment=Adjustment(verb=AdjustmentVerb.ADD, amount=2),
        policy=PolicyId("out"),
        quiet_time=300.0,
    )


def full_record() -> Record:
    """A record with every field set."""
    return Record(
        name=MemberName("web-k3f9ab-7"),
        group=WEB,
        sequence=7,
        phase=Phase.LEAVING,
        intended_at=at(-100),
        server_id="4711",
        made_at=at(-90),
        in_service_at=at(-80),
        balancers=(EDGE, (BalancerId("door"), 80)),
        detaching=(BalancerId("door"),),
        registrations=((EDGE[0], "7c1b"),),
        leaving=Leaving.REPLACED,
        leaving_at=at(-20),
        drained_at=at(-19),
        protected=True,
        absent_listings=2,
        absent_at=at(-5),
        create_attempts=1,
        destroy_attempts=3,
        gone_at=at(-1),
        profile="5f2c",
        failing_since=at(-30),
        attempts=(Attempts(call="leave", balancer=BalancerId("door"), count=4, again_at=at(9), because="no answer"),),
        given=True,
        removal_at=at(-18),
        removal_tried_at=at(-3),
        parts=((PartName("front"), OnDelete.DESTROY), (PartName("data"), OnDelete.RETAIN)),
    )


@functools.cache
def new_store() -> bytes:
    """The file of a new store before an installation claims it. Migrations make it, once in each process."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "new.sqlite"
        create_file(path)
        to_head(path)
        return path.read_bytes()


def opened(path: Path, installation: str = INSTALLATION) -> SqliteStore:
    """The store at the path, a new one if there is none: a copy, since 25 migrations take longer than most tests."""
    if not path.exists():
        create_file(path)
        path.write_bytes(new_store())
    return SqliteStore.open(path, installation=installation)
