"""The tables, as the newest revision of `migrations/` leaves them.

========  ============================================================================================
desired   ``groups`` (declared definition and the state of decisions), ``quiets``, ``signals``, ``attachments``; of all
          groups, a row of ``meta``: the pause of the whole fleet while it lasts; ``definitions`` (also those of
          before), ``pins`` (which of them new members are made of, if not of the newest), ``rolls``
observed  ``members``, in ``groups`` how builds go, ``converged`` (what a group was when nothing was left to do)
let go    ``abandoned``: what bears our mark and is never to be taken up again; outlives its group, for ever
identity  ``meta`` (whose store this is), ``sequences`` (outlives its group: a launch id is never used twice)
history   ``spans``, ``decisions``, ``givens``, ``steps``, ``notes``; outlives its group, goes by retention
          `block_schema` has the older rows of the first three, packed
promises  ``answers``: the first answer to each request id; ``deliveries``: the first delivery of each alert
          ``notices``: those to send, and the last sent one of each group
declared  `entity_rows` has what is declared over the API, and its revisions, which stay for ever
          `setting_rows` has what persons applied last of each group's settings, and the canaries
          `cloudstack_api_rows` has the ids and jobs of CloudStack's query API
access    `account_rows` has domains and accounts, `access_schema` users, their tokens, webhooks, and the audit trail
========  ============================================================================================

Instants are REAL seconds since the epoch, UTC. Enums are stored by value. Columns called ``group_id`` have the key
``group``, and ``seats`` has ``registrations``, so that rows and dataclasses have the same names.
"""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import (
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    Select,
    Table,
    Text,
    UniqueConstraint,
    false,
    select,
    text,
)

from config.model.catalogue import QuietScope
from config.model.edits import Edit
from config.model.observability import NotifyTarget
from config.model.parts import OnDelete
from config.units import BalancerId, PartName
from handler.planning.desired import Definition
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.status import MemberState
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Attempts, Leaving, Phase
from handler.ports.alerts import AlertStatus
from handler.ports.notices import News
from handler.store.columns import METADATA, NUMBER, SECONDS, JsonColumn, Word, group_column
from trigger.explain.explanation import Explanation
from trigger.explain.recorded_inputs import RecordedInputs
from trigger.reasons import Reason
from trigger.requests import Clamp, Observed, OlderStore, Pause, ServiceTurn, Shrunk, SignalKind, SizeChange, Watched
from trigger.verdicts import Direction

_OWN_IDS = tuple[tuple[BalancerId, str], ...]
HEAD = "0057"
"""The revision that this release reads and writes."""

meta = Table(
    "meta",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

groups = Table(
    "groups",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("definition", JsonColumn(Definition), nullable=False),
    Column("desired", Integer),
    Column("revision", Integer, nullable=False),
    Column("forced", Boolean, nullable=False),
    Column("kept", Boolean, nullable=False),
    Column("grown_at", SECONDS),
    Column("pause", Word(Pause), nullable=False),
    Column("orphaned", Boolean, nullable=False),
    Column("moves", JsonColumn(tuple[SizeChange, ...]), nullable=False, server_default="[]"),
    Column("observed", JsonColumn(Observed), nullable=False, server_default='{"type":"Observed"}'),
    Column("watched", JsonColumn(tuple[Watched, ...]), nullable=False, server_default="[]"),
    Column("turn", JsonColumn(ServiceTurn), nullable=False, server_default='{"type":"Turn"}'),
    Column("fresh", Boolean, nullable=False, server_default=false()),
    Column("older", JsonColumn(OlderStore)),
    Column("shrunk", JsonColumn(Shrunk)),
    Column("deleting", Boolean, nullable=False),
    Column("failed_builds", Integer, nullable=False),
    Column("back_off_until", SECONDS),
    Column("builds_of", Text),
    Column("account", Text, nullable=False, server_default="root"),
)

sequences = Table(
    "sequences",
    METADATA,
    group_column(primary_key=True),
    Column("last", Integer, nullable=False),
)

quiets = Table(
    "quiets",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("ordinal", Integer, primary_key=True),
    Column("policy", Text),
    Column("scope", Word(QuietScope), nullable=False),
    Column("direction", Word(Direction), nullable=False),
    Column("until", SECONDS, nullable=False),
    Column("lasts", SECONDS),
)

signals = Table(
    "signals",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("alert", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("kind", Word(SignalKind), primary_key=True),
    Column("size", Integer),
    Column("since", SECONDS, nullable=False),
    Column("until", SECONDS, nullable=False),
    Column("lasts", SECONDS),
    Column("by", Text, nullable=False, server_default=text("''")),
    Column("because", Text, nullable=False, server_default=text("''")),
)

attachments = Table(
    "attachments",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("balancer", Text, primary_key=True),
    Column("port", Integer, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", SECONDS, nullable=False),
)

definitions = Table(
    "definitions",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("number", Integer, primary_key=True),
    Column("at", SECONDS, nullable=False),
    Column("definition", JsonColumn(Definition), nullable=False),
    Column("converged_at", SECONDS),
)

pins = Table(
    "pins",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("revision", Integer, nullable=False),
    Column("at", SECONDS, nullable=False),
    Column("by", Text, nullable=False),
)

rolls = Table(
    "rolls",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("roll", JsonColumn(Roll), nullable=False),
)

converged = Table(
    "converged",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("size", Integer, nullable=False),
    Column("definition", Integer, nullable=False),
    Column("at", SECONDS, nullable=False),
)

bindings = Table(
    "bindings",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("balancer", Text, primary_key=True),
    Column("binding", JsonColumn(BalancerProvision), nullable=False),
)

members = Table(
    "members",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("name", Text, primary_key=True),
    Column("cloud", Text, nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("phase", Word(Phase), nullable=False),
    Column("intended_at", SECONDS, nullable=False),
    Column("server_id", Text),
    Column("made_at", SECONDS),
    Column("in_service_at", SECONDS),
    Column("balancers", JsonColumn(tuple[tuple[BalancerId, int], ...]), nullable=False),
    Column("seats", JsonColumn(_OWN_IDS), key="registrations", nullable=False, server_default="[]"),
    Column("detaching", JsonColumn(tuple[BalancerId, ...]), nullable=False, server_default="[]"),
    Column("leaving", Word(Leaving)),
    Column("leaving_at", SECONDS),
    Column("drained_at", SECONDS),
    Column("protected", Boolean, nullable=False),
    Column("absent_listings", Integer, nullable=False),
    Column("absent_at", SECONDS),
    Column("create_attempts", Integer, nullable=False),
    Column("destroy_attempts", Integer, nullable=False),
    Column("gone_at", SECONDS),
    Column("profile", Text),
    Column("failing_since", SECONDS),
    Column("attempts", JsonColumn(tuple[Attempts, ...]), nullable=False, server_default="[]"),
    Column("given", Boolean, nullable=False, server_default=false()),
    Column("removal_at", SECONDS),
    Column("removal_tried_at", SECONDS),
    Column("parts", JsonColumn(tuple[tuple[PartName, OnDelete], ...]), nullable=False, server_default="[]"),
    Column("lost_at", SECONDS),
    UniqueConstraint("group", "sequence"),
    Index(None, "phase"),
    Index(None, "intended_at"),
)

abandoned = Table(
    "abandoned",
    METADATA,
    Column("name", Text, primary_key=True),
    group_column(),
    Column("cloud", Text, nullable=False),
    Column("server_id", Text),
    Column("at", SECONDS, nullable=False),
    Column("by", Text, nullable=False),
)

steps = Table(
    "steps",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    group_column(),
    Column("at", SECONDS, nullable=False),
    Column("name", Text, nullable=False),
    Column("member", Text),
    Column("ended_at", SECONDS),
    Column("result", Word(StepResult)),
    Column("message", Text, nullable=False),
    Index(None, "group", "at"),
    Index(None, "at"),
    Index("ix_steps_open", "group", sqlite_where=text("result IS NULL"), postgresql_where=text("result IS NULL")),
    sqlite_autoincrement=True,  # an id is an open step's only handle: never used again after retention
)

decisions = Table(
    "decisions",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    group_column(),
    Column("at", SECONDS, nullable=False),
    Column("name", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("desired_from", Integer),
    Column("desired_to", Integer),
    Column("clamps", JsonColumn(tuple[Clamp, ...]), nullable=False),
    Column("message", Text, nullable=False),
    Index(None, "group", "at"),
    Index(None, "at"),
)

givens = Table(
    "givens",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    group_column(),
    Column("at", SECONDS, nullable=False),
    Column("given", JsonColumn(RecordedInputs), nullable=False),
    Index(None, "group"),
    Index(None, "at"),
)
"""What decisions were given from elsewhere: `trigger.explain.recorded_inputs`."""

notes = Table(
    "notes",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    group_column(),
    Column("at", SECONDS, nullable=False),
    Column("name", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("desired_from", Integer),
    Column("desired_to", Integer),
    Column("message", Text, nullable=False),
    Index(None, "group", "at"),
    Index(None, "at"),
)

answers = Table(
    "answers",
    METADATA,
    group_column(primary_key=True),
    Column("request", Text, primary_key=True),
    Column("at", SECONDS, nullable=False),
    Column("reason", Word(Reason), nullable=False),
    Column("desired_from", Integer),
    Column("desired_to", Integer),
    Index(None, "at"),
)

deliveries = Table(
    "deliveries",
    METADATA,
    group_column(primary_key=True),
    Column("alert", Text, primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    Column("starts_at", SECONDS, primary_key=True),
    Column("status", Word(AlertStatus), primary_key=True),
    Column("at", SECONDS, nullable=False),
    Column("decision", Text, nullable=False),
    Column("last_at", SECONDS, nullable=False),
    Index(None, "last_at"),
)

notices = Table(
    "notices",
    METADATA,
    Column("number", NUMBER, primary_key=True),  # the order of filing, whatever the clock did meanwhile
    Column("id", Text, nullable=False),
    group_column(),
    Column("at", SECONDS, nullable=False),
    Column("kind", Text, nullable=False),
    Column("notice", JsonColumn(cast("type[News]", News)), nullable=False),
    Column("target", JsonColumn(cast("type[NotifyTarget]", NotifyTarget)), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", SECONDS),
    Column("delivered_at", SECONDS),
    UniqueConstraint("id"),
    Index(None, "group"),
    Index(None, "next_at"),
)

spans = Table(
    "spans",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    group_column(),
    Column("first_at", SECONDS, nullable=False),
    Column("last_at", SECONDS, nullable=False),
    Column("ticks", Integer, nullable=False),
    Column("first", JsonColumn(Explanation), nullable=False),
    Column("least", JsonColumn(tuple[float | None, ...]), nullable=False),
    Column("greatest", JsonColumn(tuple[float | None, ...]), nullable=False),
    Index(None, "group", "first_at"),
    Index(None, "group"),
    Index(None, "last_at"),
)

states = Table(
    "states",
    METADATA,
    group_column(primary_key=True, of_groups=True),
    Column("member", Text, primary_key=True),
    Column("state", Word(MemberState), nullable=False),
    Column("at", SECONDS, nullable=False),
)
"""Since when each member is in the state that it is shown in."""

statements = Table(
    "statements",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""One row: what the file says that was taken last."""

edits = Table(
    "edits",
    METADATA,
    Column("id", NUMBER, primary_key=True),
    group_column(),
    Column("at", SECONDS, nullable=False),
    Column("by", Text, nullable=False),
    Column("edits", JsonColumn(tuple[Edit, ...]), nullable=False),
    Index(None, "group", "at"),
)


def every(table: Table) -> Select[Any]:
    """All columns, under the names that dataclasses give them."""
    return select(*(column.label(column.key) for column in table.c))
