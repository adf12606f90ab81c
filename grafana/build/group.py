"""*Group*: the measured values of one group, the guards that hold it back, and its steps."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build.frame import GROUP, HERE, calls, choice, decisions, edits, filled, frame
from grafana.build.measures import unit_query
from grafana.build.panels import (
    BLUE,
    GREEN,
    GREY,
    MOMENT,
    ORANGE,
    RED,
    SECONDS,
    SHARE,
    Panel,
    PanelQuery,
    bars,
    dashed,
    figure,
    hiding,
    lines,
    mapping,
    measured,
    stacked,
    steps,
    timeline,
    to_console,
    words,
)
from grafana.build.queries import STATES, events, ever, rank

_CONDITION = f'{GROUP}, condition=~"$condition"'


def dashboard() -> Dashboard:
    """The finished dashboard."""
    whole = frame(
        "group",
        "Trimtab / Group",
        "One group: conditions against thresholds, timers, guards, members, steps.",
        console=to_console("${group}"),
    )
    whole.with_variable(choice("group", "Group", f"label_values(trimtab_group_min{{{HERE}}}, group)"))
    judged = f"label_values(trimtab_condition_threshold{{{GROUP}}}, condition)"
    whole.with_variable(choice("condition", "Condition", judged, several=True))
    whole.annotation(decisions(GROUP)).annotation(calls(GROUP)).annotation(edits(GROUP))
    filled(whole, *_figures(), *_size())
    filled(whole.with_row(Row("Conditions")), *_conditions())
    filled(whole.with_row(Row("Observed counters")), *_observed())
    filled(whole.with_row(Row("Forecast")), *_forecast())
    filled(whole.with_row(Row("Boot and drain")), *_times())
    filled(whole.with_row(Row("Timers and guards")), *_guards())
    filled(whole.with_row(Row("Convergence")), *_convergence())
    filled(whole.with_row(Row("Rolls")), *_rolls())
    return whole.build()


def _figures() -> list[Panel]:
    decided = f"max(trimtab_group_decided_timestamp_seconds{{{GROUP}}}) * 1000"
    converged = f"max(trimtab_group_converged_timestamp_seconds{{{GROUP}}}) * 1000"
    return [
        figure("State", "The group's state, as in `trimtab status`.", PanelQuery(rank(GROUP))).mappings(
            [mapping(STATES)]
        ),
        words(
            "Mode",
            "act changes members; advise only shows what it would do; off does not evaluate.",
            PanelQuery(f"trimtab_group_mode{{{GROUP}}} == 1", "{{mode}}"),
        ),
        words(
            "Paused",
            "What a person has stopped: no, decisions, or all.",
            PanelQuery(f"trimtab_group_pause{{{GROUP}}} == 1", "{{pause}}"),
        ),
        figure(
            "Last decision", "When the group was last decided: once per interval.", PanelQuery(decided), unit=MOMENT
        ),
        figure("Last at rest", "When convergence last had nothing to do.", PanelQuery(converged), unit=MOMENT),
        figure(
            "Creates left",
            "Creates that the hourly budgets of group and cloud still allow. At 0 the group does not grow.",
            PanelQuery(f"min(trimtab_group_creates_left{{{GROUP}}})"),
        ),
    ]


def _size() -> list[Panel]:
    desired = f"trimtab_group_desired{{{GROUP}}}"
    return [
        steps(
            "Size",
            "Members in service, the desired size, and the bounds. In mode advise, recommended differs from desired.",
            PanelQuery(f'trimtab_group_members{{{GROUP}, state="in_service"}}', "in service"),
            PanelQuery(desired, "desired"),
            PanelQuery(f"trimtab_group_recommended{{{GROUP}}} or {desired}", "recommended"),
            PanelQuery(f"trimtab_group_min{{{GROUP}}}", "min"),
            PanelQuery(f"trimtab_group_max{{{GROUP}}}", "max"),
        )
        .override_by_regexp("min|max", list(dashed(RED)))
        .override_by_name("recommended", list(dashed(BLUE))),
        hiding(
            stacked(
                "Members by state",
                "building, joining the balancers, in service, draining, leaving, broken, unknown, stuck.",
                ever(f"trimtab_group_members{{{GROUP}}}", "{{state}}"),
            )
        ),
    ]


def _conditions() -> list[Panel]:
    return [
        measured(
            "$condition",
            "What was measured, by policy, against the threshold, in the counter's own unit. A gap: not enough data.",
            PanelQuery(f"trimtab_condition_value{{{_CONDITION}}}", "{{policy}}"),
            PanelQuery(f"trimtab_condition_threshold{{{_CONDITION}}}", "{{policy}} threshold"),
            unit_query=unit_query(_CONDITION),
        )
        .override_by_regexp(".*threshold", list(dashed(RED)))
        .repeat("condition")
        .repeat_direction("h"),
        timeline(
            "Truth of each condition",
            "Whether it held at each tick. A gap is UNKNOWN: it fires nothing, and restarts the policy's hold.",
            PanelQuery(f"trimtab_condition_met{{{GROUP}}}", "{{policy}}: {{condition}}"),
            states={0: ("false", GREY), 1: ("true", GREEN)},
        ).height(6),
        lines(
            "Held, of the time needed",
            "How long each policy's conditions have held, and for how long they must.",
            PanelQuery(f"trimtab_policy_held_seconds{{{GROUP}}}", "{{policy}}"),
            PanelQuery(f"trimtab_policy_duration_seconds{{{GROUP}}}", "{{policy}} needed"),
            unit=SECONDS,
        ).override_by_regexp(".*needed", list(dashed(RED))),
        lines(
            "Must still hold",
            "How long each policy's conditions must still hold. A gap: they do not hold.",
            PanelQuery(f"trimtab_policy_ready_seconds_remaining{{{GROUP}}}", "{{policy}}"),
            unit=SECONDS,
        ),
        lines(
            "Members that answer",
            "How many members are behind each value, and how many should be.",
            PanelQuery(f"trimtab_condition_heard_members{{{GROUP}}}", "{{policy}}: {{condition}}"),
            PanelQuery(f"max(trimtab_condition_expected_members{{{GROUP}}})", "expected"),
        ).override_by_name("expected", list(dashed(RED))),
        lines(
            "Age of values",
            "Age of the newest answer behind each condition. It should stay below the group's interval.",
            PanelQuery(f"trimtab_counter_age_seconds{{{GROUP}}}", "{{policy}}: {{condition}}"),
            PanelQuery(f"max(trimtab_group_interval_seconds{{{GROUP}}})", "interval"),
            unit=SECONDS,
        ).override_by_name("interval", list(dashed(RED))),
    ]


def _observed() -> list[Panel]:
    members = f"trimtab_observed_expected_members{{{GROUP}}} - trimtab_observed_heard_members{{{GROUP}}}"
    return [
        lines(
            "Observed counters",
            "Counters that the group observes, in their own units: the average of its members, the least and greatest.",
            PanelQuery(f"trimtab_observed_value{{{GROUP}}}", "{{counter}} {{across}}"),
        ),
        lines(
            "Members without a value",
            "How many members did not answer for an observed counter.",
            PanelQuery(members, "{{counter}}"),
        ),
    ]


def _forecast() -> list[Panel]:
    return [
        lines(
            "Load and forecast",
            "The measured load in members, what is forecast for a boot time ahead, and the same with its headroom.",
            PanelQuery(f"trimtab_forecast_load_members{{{GROUP}}}", "{{policy}}: load"),
            PanelQuery(f"trimtab_forecast_coming_members{{{GROUP}}}", "{{policy}}: forecast"),
            PanelQuery(f"trimtab_forecast_at_most_members{{{GROUP}}}", "{{policy}}: at most"),
        ).override_by_regexp(".*(forecast|at most)", list(dashed(BLUE))),
        steps(
            "Needed and enough",
            "Below what is needed the group grows, above what is enough it shrinks. In mode advise it does neither.",
            PanelQuery(f"trimtab_group_desired{{{GROUP}}}", "desired"),
            PanelQuery(f"trimtab_forecast_needed_members{{{GROUP}}}", "{{policy}}: needed"),
            PanelQuery(f"trimtab_forecast_enough_members{{{GROUP}}}", "{{policy}}: enough"),
        ).override_by_regexp(".*(needed|enough)", list(dashed(RED))),
        lines(
            "What a member carries",
            "In the unit of the load, where that is learned from how hard members work.",
            PanelQuery(f"trimtab_forecast_member_carries{{{GROUP}}}", "{{policy}}"),
        ),
        lines(
            "Load that the headroom missed",
            "The part of the load of the last days beyond the virtual fleet that the group follows.",
            PanelQuery(f"trimtab_forecast_missed_ratio{{{GROUP}}}", "{{policy}}"),
            unit=SHARE,
        ),
    ]


def _times() -> list[Panel]:
    return [
        lines(
            "Time to serve, and to leave",
            "Within what half and nine of ten of the newest members served after they were ordered, and were gone "
            "after their draining began.",
            PanelQuery(f"trimtab_member_boot_seconds{{{GROUP}}}", "serves, quantile {{quantile}}"),
            PanelQuery(f"trimtab_member_drain_seconds{{{GROUP}}}", "leaves, quantile {{quantile}}"),
            unit=SECONDS,
        ),
        lines(
            "Members behind these times",
            "The newest members whose time to serve is known, at most a hundred. Fewer than five are no evidence.",
            PanelQuery(f"trimtab_member_boots{{{GROUP}}}", "members"),
        ),
    ]


def _guards() -> list[Panel]:
    return [
        timeline(
            "Reasons in force",
            "Every reason of each tick: why a policy did not ask, or why a guard did not grant its request.",
            PanelQuery(f"trimtab_restricted{{{GROUP}}} == 1", "{{reason}}"),
            states={1: ("in force", BLUE)},
        ),
        lines(
            "Timers",
            "Quiet time still to run, and how long growth waits after builds that failed in a row.",
            PanelQuery(f"trimtab_group_quiet_seconds_remaining{{{GROUP}}}", "quiet"),
            PanelQuery(f"trimtab_group_back_off_seconds_remaining{{{GROUP}}}", "build back-off"),
            unit=SECONDS,
        ),
        hiding(
            bars(
                "Refused requests",
                "Requests for another size that a guard refused, by reason.",
                events(f"trimtab_restrictions_total{{{GROUP}}}", "{{reason}}", "reason"),
            )
        ),
        hiding(
            bars(
                "Decisions",
                "The results of ticks, by reason. Mostly no change, which is normal.",
                events(f"trimtab_decisions_total{{{GROUP}}}", "{{reason}}", "reason"),
            )
        ),
        steps(
            "Drift and distrust",
            "Members too many or too few; 1 while the inventory is in doubt.",
            PanelQuery(f"trimtab_drift_members{{{GROUP}}}", "drift"),
            PanelQuery(f"trimtab_inventory_distrust{{{GROUP}}}", "distrust"),
            PanelQuery(f"trimtab_group_unheard_members{{{GROUP}}}", "unheard"),
        ),
        timeline(
            "Doubts about the inventory",
            "Why the cloud's listing is in doubt: no member leaves as surplus meanwhile.",
            PanelQuery(f"trimtab_inventory_doubt{{{GROUP}}} == 1", "{{ground}}"),
            states={1: ("doubted", ORANGE)},
        )
        .no_value("None in the time shown")
        .height(5),
    ]


def _convergence() -> list[Panel]:
    made = events(f"trimtab_actions_total{{{GROUP}}}", "{{step}}, {{result}}", "step", "result")
    passes = events(f"trimtab_converge_passes_total{{{GROUP}}}", "{{result}}", "result")
    return [
        hiding(bars("Steps", "Calls to the cloud and the balancers, by result.", made)),
        hiding(bars("Passes", "Convergence passes, by the worst result in each.", passes)),
        hiding(
            steps(
                "Waits",
                "Members that convergence waits for, or does not touch, by cause.",
                ever(f"trimtab_group_waits{{{GROUP}}}", "{{wait}}"),
            )
        ),
        steps(
            "Brakes",
            "Creates that the budgets still allow, and builds that failed in a row: three stop growth for a while.",
            PanelQuery(f"trimtab_group_creates_left{{{GROUP}}}", "creates left"),
            PanelQuery(f"trimtab_group_failed_builds{{{GROUP}}}", "failed builds"),
        ),
    ]


def _rolls() -> list[Panel]:
    return [
        timeline(
            "Last roll",
            "How the last roll stands. Members are replaced for their profile while it is rolling, and only then.",
            PanelQuery(f"trimtab_group_roll{{{GROUP}}}", "{{state}}"),
            states={0: ("no", GREY), 1: ("yes", BLUE)},
        ).height(5),
        stacked(
            "Members by profile",
            "current: in service, and made of the profile in force. old: made of another one, and rolled if asked for.",
            PanelQuery(f"trimtab_group_profile_members{{{GROUP}}}", "{{made}}"),
        ),
        steps(
            "Revisions",
            "Revision of the desired size, and of the profile that new members are made of; pending: 1 until done.",
            PanelQuery(f"trimtab_group_revision{{{GROUP}}}", "desired size"),
            PanelQuery(f"trimtab_group_definition{{{GROUP}}}", "profile"),
            PanelQuery(f"trimtab_group_pending{{{GROUP}}}", "pending"),
        ),
    ]
