"""What all dashboards share: the variables, the links between them, and the marks of decisions, edits and steps."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as board
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from grafana.build.panels import SOURCE, Panel

HERE = 'instance=~"$instance"'
"""The daemons that the reader has chosen."""
GROUP = f'{HERE}, group="$group"'
_TAG = "trimtab"


class _Marks(AnnotationQuery):
    """An annotation query of Prometheus: the builders support neither step nor texts."""

    def __init__(self, name: str, expression: str, colour: str, text: str) -> None:
        source = DataSourceRef(type_val=SOURCE.type_val, uid=SOURCE.uid)
        super().__init__(name=name, datasource=source, enable=True, icon_color=colour, expr=expression)
        self._text = text

    def to_json(self) -> dict[str, object]:
        return {**super().to_json(), "step": "1m", "titleFormat": self.name, "textFormat": self._text}


class _Prepared(board.AnnotationQuery):
    def __init__(self, marks: _Marks) -> None:
        super().__init__()
        self._internal = marks


def frame(name: str, title: str, about: str, *, console: board.DashboardLink) -> board.Dashboard:
    """An empty dashboard that can choose a datasource and daemons, and leads to the others and to the console."""
    others = board.DashboardLink("Trimtab").type(DashboardLinkType.DASHBOARDS).tags([_TAG]).icon("external link")
    return (
        board.Dashboard(title)
        .uid(f"trimtab-{name}")
        .description(about)
        .tags([_TAG])
        .editable()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-1h", "now")
        .refresh("10s")
        .timezone("browser")
        .link(others.as_dropdown(False).include_vars(True).keep_time(True).tooltip("The other dashboards of Trimtab"))
        .link(console)
        .with_variable(_datasource())
        .with_variable(choice("instance", "Daemon", "label_values(trimtab_build_info, instance)", several=True))
        .with_variable(_console())
    )


def filled(whole: board.Dashboard, *panels: Panel) -> board.Dashboard:
    """Put panels below the present ones, from left to right."""
    for panel in panels:
        whole.with_panel(panel)
    return whole


def choice(name: str, label: str, query: str, *, several: bool = False) -> board.QueryVariable:
    """Return a variable whose values Prometheus lists."""
    variable = (
        board.QueryVariable(name)
        .label(label)
        .query(query)
        .datasource(SOURCE)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )
    if not several:
        return variable
    return variable.multi(True).include_all(True).current(VariableOption(text=["All"], value=["$__all"]))


def decisions(selector: str) -> board.AnnotationQuery:
    """Return a mark for each minute with a change of size."""
    changed = f'increase(trimtab_decisions_total{{{selector}, direction!="none"}}[1m]) > 0'
    return _Prepared(_Marks("Decisions", changed, "purple", "{{group}}: {{direction}}, {{reason}}"))


def edits(selector: str) -> board.AnnotationQuery:
    """Return a mark for each minute with an edit of the file that concerns a group, also while the daemon was down."""
    edited = f"changes(trimtab_group_edited_timestamp_seconds{{{selector}}}[1m]) > 0"
    return _Prepared(
        _Marks("Edits of the file", edited, "orange", "{{group}}: trimtab definitions {{group}} says what")
    )


def calls(selector: str) -> board.AnnotationQuery:
    """Return a mark for each minute with a call to a cloud or a balancer."""
    made = f"increase(trimtab_actions_total{{{selector}}}[1m]) > 0"
    return _Prepared(_Marks("Steps", made, "blue", "{{group}}: {{step}}, {{result}}"))


def _console() -> board.TextBoxVariable:
    """Return the variable of the console's address, since Prometheus has only the addresses that it scrapes."""
    return board.TextBoxVariable("console").label("Console at").default_value("http://127.0.0.1:8460")


def _datasource() -> board.DatasourceVariable:
    return board.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
