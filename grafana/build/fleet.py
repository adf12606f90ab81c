"""*Fleet*: the state of all groups, and which one to look at."""

from __future__ import annotations

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard, DynamicConfigValue

from grafana.build.frame import HERE, decisions, edits, filled, frame
from grafana.build.panels import (
    BLUE,
    SHARE,
    Panel,
    PanelQuery,
    bars,
    figure,
    hiding,
    lines,
    mapping,
    rows,
    stacked,
    timeline,
    to_console,
    to_group,
)
from grafana.build.queries import STATES, events, ever, rank

_SERVING = f'trimtab_group_members{{{HERE}, state="in_service"}}'


def dashboard() -> Dashboard:
    """The finished dashboard."""
    whole = frame("fleet", "Trimtab / Fleet", "Every group: size, bounds, state, reasons, drift.", console=to_console())
    whole.annotation(decisions(HERE).enable(False)).annotation(edits(HERE).enable(False))
    filled(whole, *_figures(), _groups(), _conditions())
    filled(whole.with_row(Row("Sizes")), *_sizes())
    filled(whole.with_row(Row("Why")), *_reasons())
    return whole.build()


def _figures() -> list[Panel]:
    troubled = f'trimtab_group_condition{{{HERE}, condition=~"error|warning"}}'
    moved = f'increase(trimtab_decisions_total{{{HERE}, direction!="none"}}[$__range])'
    return [
        figure("Groups", "Groups that the daemons manage.", PanelQuery(f"count(trimtab_group_min{{{HERE}}})")),
        figure("Members in service", "Members that serve, in all groups.", PanelQuery(f"sum({_SERVING})")),
        figure(
            "Members wanted",
            "Sum of the desired sizes. More than in service: some are on their way.",
            PanelQuery(f"sum(trimtab_group_desired{{{HERE}}})"),
        ),
        figure(
            "Groups in trouble",
            "Groups whose state is error or warning. `trimtab status GROUP` shows why.",
            PanelQuery(f"sum({troubled})"),
            bad_from=1,
        ),
        figure(
            "Blind groups",
            "Groups with a policy that has not enough data to judge. They never shrink by it.",
            PanelQuery(f'sum(trimtab_restricted{{{HERE}, reason="blind"}})'),
            bad_from=1,
        ),
        figure(
            "Changes of size", "Decisions that changed a size, in the time shown.", PanelQuery(f"sum({moved})")
        ).decimals(0),
    ]


def _groups() -> table.Panel:
    about = "Each group now. Drift: members in service too many or too few. A click on a group leads to it."
    columns = {
        "Condition": rank(HERE),
        "In service": _each(_SERVING),
        "Desired": _each(f"trimtab_group_desired{{{HERE}}}"),
        "Min": _each(f"trimtab_group_min{{{HERE}}}"),
        "Max": _each(f"trimtab_group_max{{{HERE}}}"),
        "Drift": _each(f"trimtab_drift_members{{{HERE}}}"),
        "Unheard": _each(f"trimtab_group_unheard_members{{{HERE}}}"),
        "Creates left": _each(f"trimtab_group_creates_left{{{HERE}}}"),
    }
    labels = {"group": None, "instance": None, "mode": _word("mode"), "pause": _word("pause")}
    states = [
        DynamicConfigValue(id_val="mappings", value=[mapping(STATES)]),
        DynamicConfigValue(id_val="custom.cellOptions", value={"type": "color-text"}),
    ]
    links = [
        DynamicConfigValue(id_val="links", value=[link("${__value.text}").build() for link in (to_group, to_console)])
    ]
    return rows("Groups", about, columns, labels).override_by_name("Condition", states).override_by_name("Group", links)


def _conditions() -> Panel:
    return timeline(
        "State of each group",
        "The state of each group over time, as in `trimtab status`.",
        PanelQuery(rank(HERE), "{{group}}"),
        states=STATES,
    ).data_links([to_group("${__field.labels.group}"), to_console("${__field.labels.group}")])


def _sizes() -> list[Panel]:
    desired, most = f"trimtab_group_desired{{{HERE}}}", f"trimtab_group_max{{{HERE}}}"
    return [
        stacked("Members in service", "Members that serve, by group.", PanelQuery(_each(_SERVING), "{{group}}")),
        hiding(
            stacked(
                "Members by state",
                "All members, by their state.",
                ever(f"trimtab_group_members{{{HERE}}}", "{{state}}", "state"),
            )
        ),
        lines(
            "Share of max",
            "Desired size over max. A group that stays at 100 % wants more than it may have.",
            PanelQuery(f"{_each(desired)} / {_each(most)}", "{{group}}"),
            unit=SHARE,
        ),
        lines(
            "Drift",
            "Members in service too many or too few. It is above 0 while members are built or drained, and no longer.",
            PanelQuery(_each(f"trimtab_drift_members{{{HERE}}}"), "{{group}}"),
        ),
        lines(
            "What mode advise would do",
            "The size that a group in mode advise would have; for the others, their desired size.",
            PanelQuery(f"{_each(f'trimtab_group_recommended{{{HERE}}}')} or {_each(desired)}", "{{group}}"),
        ),
        hiding(
            lines(
                "Distrust of the inventory",
                "1 while a group's listing is in doubt: no member leaves as surplus. See `trimtab why`.",
                ever(f"trimtab_inventory_distrust{{{HERE}}}", "{{group}}", "instance", "group"),
            )
        ),
    ]


def _reasons() -> list[Panel]:
    moved = f'trimtab_decisions_total{{{HERE}, direction!="none"}}'
    return [
        hiding(
            bars(
                "Changes of size",
                "Decisions that changed a size, by direction and reason.",
                events(moved, "{{direction}}, {{reason}}", "direction", "reason"),
            )
        ),
        hiding(
            bars(
                "Refused requests",
                "Requests that a guard refused, by reason.",
                events(f"trimtab_restrictions_total{{{HERE}}}", "{{reason}}", "reason"),
            )
        ),
        hiding(
            lines(
                "Reasons in force",
                "Groups, by the reasons of their last tick; one may have several. `trimtab why GROUP` explains them.",
                ever(f"trimtab_restricted{{{HERE}}}", "{{reason}}", "reason"),
            )
        ),
        hiding(
            lines(
                "What convergence waits for",
                "Members that convergence waits for or does not touch, by cause.",
                ever(f"trimtab_group_waits{{{HERE}}}", "{{wait}}", "wait"),
            )
        ),
        timeline(
            "Stopped in the whole fleet",
            "What a person has stopped in all groups with `trimtab pause --all`: no, all, decisions, out or in.",
            PanelQuery(f"trimtab_fleet_pause{{{HERE}}} == 1", "{{pause}}"),
            states={1: ("in force", BLUE)},
        ).height(5),
    ]


def _each(selector: str) -> str:
    return f"max by (instance, group) ({selector})"


def _word(name: str) -> str:
    """Return the query of a gauge that is 1 for one word of several, with the word as a label."""
    return f"max by (instance, group, {name}) (trimtab_group_{name}{{{HERE}}} == 1)"
