"""*Members*: how many there are and in what state, how long they take, and what each shows by itself."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build.frame import HERE, choice, filled, frame
from grafana.build.panels import SECONDS, Panel, PanelQuery, figure, hiding, lines, stacked, steps, to_console
from grafana.build.queries import ever

_CHOSEN = f'{HERE}, group=~"$group"'
_VALUE = f'trimtab_member_value{{{_CHOSEN}, counter=~"$counter"}}'


def dashboard() -> Dashboard:
    """The finished dashboard."""
    whole = frame(
        "members",
        "Trimtab / Members",
        "Members of the chosen groups: states, time to serve and to leave, silence, and each member's own values.",
        console=to_console(),
    )
    whole.with_variable(choice("group", "Group", f"label_values(trimtab_group_min{{{HERE}}}, group)", several=True))
    measured = f"label_values(trimtab_member_value{{{_CHOSEN}}}, counter)"
    whole.with_variable(choice("counter", "Counter", measured, several=True))
    filled(whole, *_figures())
    filled(whole.with_row(Row("States")), *_states())
    filled(whole.with_row(Row("Time to serve and to leave")), *_times())
    filled(whole.with_row(Row("Values of each member")), *_values())
    return whole.build()


def _figures() -> list[Panel]:
    return [
        figure("In service", "Members that serve.", _in("in_service")),
        figure("Building", "Members that are made, or join their balancers.", _in("building|joining")),
        figure("Going", "Members that finish their work, or are removed.", _in("draining|leaving")),
        figure("Broken", "Members that are to be replaced.", _in("broken"), bad_from=1),
        figure("Stuck", "Members that have left and cannot be removed. They cost money.", _in("stuck"), bad_from=1),
        figure(
            "Without an answer",
            "Members that have not answered for more than ten intervals.",
            PanelQuery(f"sum(trimtab_group_unheard_members{{{_CHOSEN}}})"),
            bad_from=1,
        ),
    ]


def _in(states: str) -> PanelQuery:
    return PanelQuery(f'sum(trimtab_group_members{{{_CHOSEN}, state=~"{states}"}})')


def _states() -> list[Panel]:
    return [
        hiding(
            stacked(
                "Members of all these groups",
                "building, joining the balancers, in service, draining, leaving, broken, unknown, stuck.",
                ever(f"trimtab_group_members{{{_CHOSEN}}}", "{{state}}", "state"),
            )
        ),
        steps(
            "Too many or too few",
            "How far the members in service are from the desired size, by group.",
            PanelQuery(f"trimtab_drift_members{{{_CHOSEN}}}", "{{group}}"),
        ),
        hiding(
            steps(
                "Silent members",
                "Members without an answer for more than ten intervals. `trimtab status GROUP` names them.",
                ever(f"trimtab_group_unheard_members{{{_CHOSEN}}}", "{{group}}", "group"),
            )
        ),
        hiding(
            steps(
                "Builds that failed in a row",
                "After three of them growth waits.",
                ever(f"trimtab_group_failed_builds{{{_CHOSEN}}}", "{{group}}", "group"),
            )
        ),
    ]


def _times() -> list[Panel]:
    return [
        lines(
            f"Time {what}",
            f"Within what {most} of a group's newest members {done}.",
            PanelQuery(f'trimtab_member_{name}_seconds{{{_CHOSEN}, quantile="{share}"}}', "{{group}}"),
            unit=SECONDS,
        )
        for name, share, what, most, done in (
            ("boot", "0.5", "to serve, half", "half", "served after they were ordered"),
            ("boot", "0.9", "to serve, nine of ten", "nine of ten", "served after they were ordered"),
            ("drain", "0.5", "to leave, half", "half", "were gone after their draining began"),
            ("drain", "0.9", "to leave, nine of ten", "nine of ten", "were gone after their draining began"),
        )
    ]


def _values() -> list[Panel]:
    apart, together = (f"{how} by (instance, group, counter) ({_VALUE})" for how in ("stddev", "avg"))
    beside = "on (instance, group, counter) group_left ()"
    return [
        lines(
            "$counter of each member",
            "What each member showed at the last tick, where the group exports it (`member_values`).",
            PanelQuery(_VALUE, "{{member}}"),
        )
        .repeat("counter")
        .repeat_direction("h"),
        lines(
            "Farthest from the others",
            "The ten members whose value is farthest from their group's average, in the counter's own unit.",
            PanelQuery(f"topk(10, abs({_VALUE} - {beside} {together}))", "{{member}} {{counter}}"),
        ),
        lines(
            "Standard deviation",
            "How far the members of a group are apart, in the counter's own unit.",
            PanelQuery(apart, "{{group}} {{counter}}"),
        ),
    ]
