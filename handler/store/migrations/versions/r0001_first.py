"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from handler.store.columns import NUMBER

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    _create_state()
    _create_members()
    _create_history()
    _create_evaluations()


def _create_state() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.create_table(
        "groups",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("desired", sa.Integer),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("forced", sa.Boolean, nullable=False),
        sa.Column("kept", sa.Boolean, nullable=False),
        sa.Column("grown_at", sa.REAL),
        sa.Column("pause", sa.Text, nullable=False),
        sa.Column("orphaned", sa.Boolean, nullable=False),
        sa.Column("deleting", sa.Boolean, nullable=False),
        sa.Column("failed_builds", sa.Integer, nullable=False),
        sa.Column("back_off_until", sa.REAL),
        sa.PrimaryKeyConstraint("id", name="pk_groups"),
    )
    op.create_table(
        "sequences",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("last", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_sequences"),
    )
    op.create_table(
        "quiets",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("policy", sa.Text),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("direction", sa.Text, nullable=False),
        sa.Column("until", sa.REAL, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "ordinal", name="pk_quiets"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_quiets_group_id", ondelete="CASCADE"),
    )


def _create_members() -> None:
    op.create_table(
        "members",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("cloud", sa.Text, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("intended_at", sa.REAL, nullable=False),
        sa.Column("server_id", sa.Text),
        sa.Column("made_at", sa.REAL),
        sa.Column("in_service_at", sa.REAL),
        sa.Column("balancers", sa.Text, nullable=False),
        sa.Column("leaving", sa.Text),
        sa.Column("leaving_at", sa.REAL),
        sa.Column("drained_at", sa.REAL),
        sa.Column("protected", sa.Boolean, nullable=False),
        sa.Column("absent_listings", sa.Integer, nullable=False),
        sa.Column("absent_at", sa.REAL),
        sa.Column("create_attempts", sa.Integer, nullable=False),
        sa.Column("destroy_attempts", sa.Integer, nullable=False),
        sa.Column("gone_at", sa.REAL),
        sa.PrimaryKeyConstraint("group_id", "name", name="pk_members"),
        sa.UniqueConstraint("group_id", "sequence", name="uq_members_group_id_sequence"),
        sa.ForeignKeyConstraint(["group_id"], ["groups.id"], name="fk_members_group_id", ondelete="CASCADE"),
    )
    op.create_index("ix_members_phase", "members", ["phase"])
    op.create_index("ix_members_intended_at", "members", ["intended_at"])


def _create_history() -> None:
    op.create_table(
        "steps",
        *_event(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("member", sa.Text),
        sa.Column("ended_at", sa.REAL),
        sa.Column("result", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_steps"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "decisions",
        *_event(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("desired_from", sa.Integer),
        sa.Column("desired_to", sa.Integer),
        sa.Column("clamps", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_decisions"),
    )
    op.create_table(
        "notes",
        *_event(),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("desired_from", sa.Integer),
        sa.Column("desired_to", sa.Integer),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notes"),
    )
    for table in ("steps", "decisions", "notes"):
        op.create_index(f"ix_{table}_group_id_at", table, ["group_id", "at"])
        op.create_index(f"ix_{table}_at", table, ["at"])


def _create_evaluations() -> None:
    op.create_table(
        "answers",
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("desired_from", sa.Integer),
        sa.Column("desired_to", sa.Integer),
        sa.PrimaryKeyConstraint("group_id", "request", name="pk_answers"),
    )
    op.create_index("ix_answers_at", "answers", ["at"])
    op.create_table(
        "spans",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("first_at", sa.REAL, nullable=False),
        sa.Column("last_at", sa.REAL, nullable=False),
        sa.Column("ticks", sa.Integer, nullable=False),
        sa.Column("first", sa.Text, nullable=False),
        sa.Column("least", sa.Text, nullable=False),
        sa.Column("greatest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_spans"),
    )
    op.create_index("ix_spans_group_id_first_at", "spans", ["group_id", "first_at"])
    op.create_index("ix_spans_group_id", "spans", ["group_id"])
    op.create_index("ix_spans_last_at", "spans", ["last_at"])


def _event() -> tuple[sa.Column[int], sa.Column[str], sa.Column[float]]:
    return (
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("group_id", sa.Text, nullable=False),
        sa.Column("at", sa.REAL, nullable=False),
    )
