"""The alerts section of the YAML file as it is written; `config.document.file` holds all the others."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from config.document.declared import Declared, key, must
from config.document.scalars import Given, Label, Name, PositiveSpan, Text, Yes
from config.model.effects import EffectKind, Way


class AlertDocument(Declared):
    """An alert of Alertmanager or Grafana that means something here. Exactly one effect."""

    choice: ClassVar[tuple[str, ...]] = tuple(kind.value for kind in EffectKind)
    choice_of: ClassVar[str] = "the effect"

    match: Annotated[dict[Label, Text], Field(min_length=1)] = must(
        "Labels that the alert must have, each with exactly this value.", {"alertname": "WebSlow", "env": "prod"}
    )
    groups: Annotated[list[Name], Field(min_length=1)] = must("The groups that it may affect.", ["web"])
    group_label: Annotated[Label | None, Given] = key(
        "The label that names the one of these groups that is affected.", "service", left_out="all of them are"
    )
    fire: Annotated[Name | None, Given] = key(
        "Carry out this policy of the groups, once for each time that the alert begins.", "out"
    )
    floor: Annotated[Annotated[int, Field(ge=1)] | None, Given] = key(
        "While it fires: at least this many members.", 8, unit="members"
    )
    shield: Annotated[Yes | None, Given] = key("While it fires: no scale-in, except by a person.", True)
    freeze: Annotated[Annotated[Way, Strict(False)] | None, Given] = key(
        "While it fires: no change of size in this direction, except by a person: in, out or both.", "in"
    )
    value: Annotated[Label | None, Given] = key(
        "While it fires: its label, annotation or (Grafana) entry of values of this name is a number, which counters "
        "can read.",
        "depth",
    )
    ttl: PositiveSpan = must(
        "How long it counts without being told again, since its end may never be told: longer than the sender's "
        "repeat interval.",
        "15m",
    )
