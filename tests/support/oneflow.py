"""Service templates, from the published ones to the smallest; what they come to; and how groups of them decide."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aggregator.frames import Aggregate, Cell, Insufficient
from config.importers.oneflow.imported import Imported, ImportOptions, imported
from config.importers.oneflow.json_text import read_json
from config.importers.oneflow.reading import read_template
from config.importers.oneflow.template import NoteKind, Template
from config.importers.oneflow.writing import declaration
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import CounterId, GroupId, PolicyId
from tests.support.trigger import a_fleet, a_frame, at, measured
from trigger.conditions.timers import Kept, restarted
from trigger.decide import decide
from trigger.policies.evaluate import evaluate, requests_from
from trigger.requests import GroupState

SCALABILITY = """\
/*
  The first example of OpenNebula's page on auto-scaling.
*/
{
  "name": "Scalability1",
  "deployment": "none",
  "roles": [
    {
      "name": "frontend",
      "cardinality": 2,
      "vm_template": 0,

      "min_vms" : 1,
      "max_vms" : 5,

      "elasticity_policies" : [
        {
          // two more once it was true three times, ten seconds apart
          "expression" : "ATT > 50",
          "type" : "CHANGE",
          "adjust" : 2,
          "period_number" : 3,
          "period" : 10
        },
        {
          // a tenth fewer, two at least
          "expression" : "ATT < 20",
          "type" : "PERCENTAGE_CHANGE",
          "adjust" : -10,
          "min_adjust_step" : 2
        }
      ]
    }
  ]
}
"""

TIME_WINDOWS = """\
{
  "name": "Time_windows",
  "deployment": "none",
  "roles": [
    {
      "name": "frontend",
      "cardinality": 1,
      "vm_template": 0,
      "min_vms" : 1,
      "max_vms" : 15,

      // the second example of the same page: 6 from 9:00, 10 from 13:00, 2 from 22:30
      "scheduled_policies" : [
        {"type": "CARDINALITY", "recurrence": "0 9 * * mon,tue,wed,thu,fri", "adjust": 6},
        {"type": "CARDINALITY", "recurrence": "0 13 * * mon,tue,wed,thu,fri", "adjust": 10},
        {"type": "CARDINALITY", "recurrence": "30 22 * * mon,tue,wed,thu,fri", "adjust": 2}
      ]
    }
  ]
}
"""

BASE = """\
counters:
  Cpu: {snmp: UCD-SNMP-MIB::ssCpuUser.0}   # ours
clouds: {local: {process: {}}}
profiles:
  web: {cloud: local, command: [serve]}
"""

Object = dict[str, Any]


def elastic(expression: str = "ATT > 50", type: str = "CHANGE", adjust: object = 1, **more: object) -> Object:
    """An elasticity policy."""
    return {"expression": expression, "type": type, "adjust": adjust, **more}


def a_role(*policies: Object, name: str = "web", **more: object) -> Object:
    """A role of 1 to 100 VMs, as 7.x writes it."""
    bounds = {"type": "vm", "template_id": 7, "cardinality": 1, "min_vms": 1, "max_vms": 100}
    return {"name": name, **bounds, "elasticity_policies": [*policies], **more}


def a_service(*roles: Object, **more: object) -> Object:
    return {"name": "shop", "deployment": "none", "roles": [*roles], **more}


def template_of(service: Object | str) -> Template:
    text = service if isinstance(service, str) else json.dumps(service, indent=1)
    return read_template(read_json(text.encode(), "shop.json"))


def imported_from(service: Object | str, **options: Any) -> Imported:
    return imported(template_of(service), ImportOptions(**options))


def catalogue_of(service: Object | str) -> Catalogue:
    """A declaration that passes `trimtab check`: the template, upon clouds and profiles."""
    return parse(declaration(imported_from(service, profile="web", counters=["Cpu"]), BASE), "shop.yaml")


def notes(made: Imported, kind: NoteKind) -> list[str]:
    return [note.text for note in made.of(kind)]


def sizes(service: Object | str, start: int, values: Sequence[Mapping[str, float | Cell]]) -> list[int]:
    """Run a group through ticks of 30 s, and tell the desired size after each; ``values``: by attribute, tick by tick.

    Quiet times are over at every tick, so that one policy after another can be watched.
    """
    catalogue = catalogue_of(service)
    (group,) = catalogue.groups.values()
    holds: Mapping[PolicyId, Kept] = {}
    state, found = GroupState(desired=start), []
    for tick, known in enumerate(values):
        now = at(30.0 * tick)
        cells = {
            CounterId("Cpu" if name == "CPU" else name.lower()): value
            if isinstance(value, (Aggregate, Insufficient))
            else measured(value)
            for name, value in known.items()
        }
        evaluation = evaluate(catalogue, GroupId(group.id), a_frame(catalogue, cells, now=now), holds, now)
        fleet = a_fleet(in_service=state.desired or 0)
        decision = decide(group, requests_from(catalogue, evaluation), fleet, state, now, evaluation=evaluation)
        holds = restarted(evaluation.holds) if decision.restarts_holds else evaluation.holds
        state = GroupState(desired=decision.state.desired)
        found.append(decision.desired_to or 0)
    return found
