"""*Clouds and balancers*: whether they answer, what is asked of them and what becomes of it, and what is believed."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build.frame import HERE, filled, frame
from grafana.build.panels import (
    GREEN,
    PER_SECOND,
    RED,
    SECONDS,
    SHARE,
    YELLOW,
    Panel,
    PanelQuery,
    bars,
    dashed,
    figure,
    hiding,
    lines,
    steps,
    timeline,
    to_console,
)
from grafana.build.queries import events, ever, quantile

_CALLS = f"trimtab_actions_total{{{HERE}}}"


def dashboard() -> Dashboard:
    """The finished dashboard."""
    whole = frame(
        "clouds",
        "Trimtab / Clouds and balancers",
        "Endpoints, calls and their results, inventories that are not believed, claims on members.",
        console=to_console(),
    )
    filled(whole, *_figures())
    filled(whole.with_row(Row("Endpoints")), *_endpoints())
    filled(whole.with_row(Row("Event buses")), *_event_buses())
    filled(whole.with_row(Row("Calls")), *_calls())
    filled(whole.with_row(Row("What is believed")), *_believed())
    filled(whole.with_row(Row("Which daemon keeps the members")), *_claims())
    return whole.build()


def _figures() -> list[Panel]:
    rate = f"rate({_CALLS}[$__rate_interval])"
    well = f'rate(trimtab_actions_total{{{HERE}, result="done"}}[$__rate_interval])'
    return [
        figure(
            "Endpoints left alone",
            "Endpoints of clouds and balancers that did not answer: one call at a time is sent to see whether they do.",
            PanelQuery(f'count(trimtab_endpoint_circuit{{{HERE}, position!="closed"}} == 1) or vector(0)'),
            bad_from=1,
        ),
        figure("Calls", "Calls to clouds and balancers, per second.", PanelQuery(f"sum({rate})"), unit=PER_SECOND),
        figure("Done", "Share of calls that were done.", PanelQuery(f"sum({well}) / sum({rate})"), unit=SHARE),
        figure(
            "Slow calls", "95 % of calls end within this.", PanelQuery(quantile(0.95, "action_duration")), unit=SECONDS
        ),
        figure(
            "Inventories in doubt",
            "Groups whose listing is not believed: nothing is removed as surplus there.",
            PanelQuery(f"sum(trimtab_inventory_distrust{{{HERE}}})"),
            bad_from=1,
        ),
        figure(
            "Without room",
            "Groups that wait for room on their cloud, or for its quota.",
            PanelQuery(f'sum(trimtab_group_waits{{{HERE}, wait="quota"}})'),
            bad_from=1,
        ),
    ]


def _endpoints() -> list[Panel]:
    opened, half = (f'trimtab_endpoint_circuit{{{HERE}, position="{word}"}}' for word in ("open", "half_open"))
    return [
        timeline(
            "Circuit of each endpoint",
            "Whether an endpoint of a cloud or balancer is called, left alone since it did not answer, or tried again.",
            PanelQuery(f"2 * {opened} + ignoring (position) {half}", "{{endpoint}}"),
            states={0: ("closed", GREEN), 1: ("half_open", YELLOW), 2: ("open", RED)},
        ),
        hiding(
            bars(
                "Calls that were not sent",
                "Calls that were kept back, since their endpoint did not answer those before.",
                events(f"trimtab_endpoint_unsent_calls_total{{{HERE}}}", "{{endpoint}}", "endpoint"),
            )
        ),
    ]


def _event_buses() -> list[Panel]:
    return [
        timeline(
            "Event bus of each cloud",
            "Whether the message bus of a cloud is listened to. Without it groups are looked at in turn.",
            PanelQuery(f"1 - trimtab_event_bus_connected{{{HERE}}}", "{{cloud}}"),
            states={0: ("connected", GREEN), 1: ("away", YELLOW)},
        ),
        hiding(
            bars(
                "Messages on event buses",
                "Messages of clouds, and what became of them.",
                events(f"trimtab_event_bus_messages_total{{{HERE}}}", "{{cloud}}, {{result}}", "cloud", "result"),
            )
        ),
    ]


def _calls() -> list[Panel]:
    return [
        hiding(
            bars(
                "Steps",
                "Calls to clouds and balancers, and what became of them.",
                events(_CALLS, "{{step}}, {{result}}", "step", "result"),
            )
        ),
        lines(
            "Duration of steps",
            "95 % of calls end within this, by step. Empty while nothing is done.",
            PanelQuery(quantile(0.95, "action_duration", "step"), "{{step}}"),
            unit=SECONDS,
        ),
        steps(
            "Creates left",
            "The least that the hourly budgets of any group and its cloud still allow.",
            PanelQuery(f"min by (instance) (trimtab_group_creates_left{{{HERE}}})", "{{instance}}"),
        ),
        hiding(
            steps(
                "Groups that wait",
                "How many groups wait for each thing: a budget, room, a balancer, a person.",
                ever(f"trimtab_group_waits{{{HERE}}}", "{{wait}}", "wait"),
            )
        ),
    ]


def _believed() -> list[Panel]:
    return [
        hiding(
            steps(
                "Grounds for doubt",
                "How many groups' inventories are doubted on each ground.",
                ever(f"trimtab_inventory_doubt{{{HERE}}}", "{{ground}}", "ground"),
            )
        ),
        hiding(
            steps(
                "Groups in doubt",
                "1 while what a cloud lists for a group is not believed.",
                ever(f"trimtab_inventory_distrust{{{HERE}}}", "{{group}}", "instance", "group"),
            )
        ),
    ]


def _claims() -> list[Panel]:
    return [
        steps(
            "Store generation",
            "Counter of each daemon's claim. A daemon whose members have a greater one is superseded: it does nothing.",
            PanelQuery(f"trimtab_generation{{{HERE}}}", "{{instance}}"),
            PanelQuery(f"trimtab_superseded{{{HERE}}}", "{{instance}} superseded"),
        ).override_by_regexp(".*superseded", list(dashed(RED))),
        hiding(
            lines(
                "Waiting for a person",
                "1 for a group whose store may be older than its members: trimtab store adopt confirms it.",
                ever(f"trimtab_group_older_store{{{HERE}}}", "{{group}}", "group"),
            )
        ),
        hiding(
            lines(
                "Claims that cannot be written",
                "1 for a cloud that does not take this daemon's claim: two daemons there could not detect each other.",
                ever(f"trimtab_claim_unwritten{{{HERE}}}", "{{instance}}: {{cloud}}"),
            )
        ),
    ]
