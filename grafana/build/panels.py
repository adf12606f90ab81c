"""The few kinds of panel that the dashboards are made of. Every panel says what it answers, and in which unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common as build
from grafana_foundation_sdk.builders import dashboard as board
from grafana_foundation_sdk.builders import prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.build.measures import unit_from

Panel = Builder[dashboard.Panel]
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
"""Whatever the reader has chosen: no dashboard knows a datasource of its own."""
COUNT, SECONDS, SHARE, PER_SECOND, BYTES, MOMENT = "short", "s", "percentunit", "ops", "bytes", "dateTimeFromNow"
GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = "green", "yellow", "orange", "red", "blue", "purple", "#8e8e8e"


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """A question to Prometheus, and what its answers are called."""

    expression: str
    legend: str = ""


def lines(title: str, about: str, *asks: PanelQuery, unit: str = COUNT) -> timeseries.Panel:
    """Values over time, 12 wide."""
    legend = build.VizLegendOptions().display_mode(common.LegendDisplayMode.LIST)
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(12)
        .height(8)
        .fill_opacity(8)
        .line_width(2)
        .show_points(common.VisibilityMode.NEVER)
        .axis_soft_min(0)
        .legend(legend.placement(common.LegendPlacement.BOTTOM).show_legend(True).calcs([]))
        .tooltip(build.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    )
    for place, ask in enumerate(asks):
        panel.with_target(_range(ask, place))
    return panel


def hiding(panel: timeseries.Panel) -> timeseries.Panel:
    """A panel that leaves out what was zero all the time: it says so where nothing is left."""
    return panel.no_value("None in the time shown")


def measured(title: str, about: str, *asks: PanelQuery, unit_query: str) -> timeseries.Panel:
    """Values over time in the unit that a query finds, 24 wide."""
    panel, letter = lines(title, about, *asks).span(24), _letter(len(asks))
    return panel.with_target(_instant(unit_query, letter)).with_transformation(unit_from(letter))


def stacked(title: str, about: str, *asks: PanelQuery, unit: str = COUNT) -> timeseries.Panel:
    """Parts of a whole over time, 12 wide."""
    panel = lines(title, about, *asks, unit=unit).fill_opacity(45).line_width(1)
    return panel.stacking(build.StackingConfig().mode(common.StackingMode.NORMAL).group("A"))


def steps(title: str, about: str, *asks: PanelQuery, unit: str = COUNT) -> timeseries.Panel:
    """Sizes over time, which change at once or not at all, 12 wide."""
    return lines(title, about, *asks, unit=unit).line_interpolation(common.LineInterpolation.STEP_AFTER)


def bars(title: str, about: str, *asks: PanelQuery, unit: str = COUNT) -> timeseries.Panel:
    """How often something happened, 12 wide."""
    return stacked(title, about, *asks, unit=unit).draw_style(common.GraphDrawStyle.BARS).fill_opacity(70)


def figure(title: str, about: str, ask: PanelQuery, *, unit: str = COUNT, bad_from: float | None = None) -> stat.Panel:
    """One number as it is now, 4 wide; orange from ``bad_from`` on."""
    colours = [Threshold(value=None, color=GREEN if bad_from is not None else BLUE)]
    if bad_from is not None:
        colours.append(Threshold(value=bad_from, color=ORANGE))
    return (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(4)
        .height(4)
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.NONE)
        .reduce_options(build.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .thresholds(board.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(colours))
        .with_target(_range(ask, 0))
    )


def words(title: str, about: str, ask: PanelQuery) -> stat.Panel:
    """A label's value as it is now, 4 wide: the legend is what is shown."""
    return figure(title, about, ask).text_mode(common.BigValueTextMode.NAME)


def timeline(title: str, about: str, *asks: PanelQuery, states: Mapping[int, tuple[str, str]]) -> statetimeline.Panel:
    """States over time, 24 wide; ``states`` is value → (word, colour)."""
    panel = (
        statetimeline.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .span(24)
        .height(8)
        .mappings([mapping(states)])
        .color_scheme(board.FieldColor().mode(FieldColorModeId.THRESHOLDS))
        .show_value(common.VisibilityMode.AUTO)
        .row_height(0.85)
        .line_width(0)
        .fill_opacity(75)
        .merge_values(True)
    )
    for place, ask in enumerate(asks):
        panel.with_target(_range(ask, place))
    return panel


def rows(title: str, about: str, columns: Mapping[str, str], labels: Mapping[str, str | None]) -> table.Panel:
    """A table of what is now, 24 wide, joined on the labels that the answers share.

    Args:
        title: what stands above it.
        about: what it answers.
        columns: heading → instant query; the value becomes a column.
        labels: label → instant query that brings it, whose value is not shown; ``None``: all queries bring it.
    """
    bringing = [query for query in labels.values() if query is not None]
    letters = [_letter(place) for place in range(len(columns) + len(bringing))]
    panel = table.Panel().title(title).description(about).datasource(SOURCE).span(24).height(9)
    for letter, expression in zip(letters, (*columns.values(), *bringing), strict=True):
        panel.with_target(_instant(expression, letter))
    values = [f"Value #{letter}" for letter in letters]
    headings = {label: label.capitalize() for label in labels} | dict(zip(values, columns, strict=False))
    arranged = {
        "excludeByName": {"Time": True} | dict.fromkeys(values[len(columns) :], True),
        "indexByName": {name: place for place, name in enumerate(headings)},
        "renameByName": headings,
    }
    return panel.with_transformation(DataTransformerConfig(id_val="merge", options={})).with_transformation(
        DataTransformerConfig(id_val="organize", options=arranged)
    )


def mapping(states: Mapping[int, tuple[str, str]]) -> ValueMap:
    """Value → (word, colour), for numbers that stand for words."""
    return ValueMap(
        options={
            str(value): ValueMappingResult(text=word, color=colour, index=place)
            for place, (value, (word, colour)) in enumerate(states.items())
        }
    )


def dashed(colour: str) -> Sequence[DynamicConfigValue]:
    """The look of a limit: dashed, without a fill."""
    return [
        DynamicConfigValue(id_val="custom.lineStyle", value={"fill": "dash", "dash": [8, 6]}),
        DynamicConfigValue(id_val="custom.fillOpacity", value=0),
        DynamicConfigValue(id_val="custom.lineWidth", value=1),
        DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour}),
    ]


def to_group(cell: str) -> board.DashboardLink:
    """A link from a series or a row to its group's dashboard; ``cell`` is Grafana's name of the group there."""
    kept = "${datasource:queryparam}&${instance:queryparam}&${console:queryparam}&from=${__from}&to=${__to}"
    link = board.DashboardLink("Open the group").type(DashboardLinkType.LINK)
    return link.url(f"/d/trimtab-group?var-group={cell}&{kept}")


def to_console(cell: str | None = None) -> board.DashboardLink:
    """A link to the daemon's own pages: of a group, by Grafana's name of it there, or of all groups."""
    path, title = ("/", "Console") if cell is None else (f"/groups/{cell}", "Open the group in the console")
    link = board.DashboardLink(title).type(DashboardLinkType.LINK).icon("external link").target_blank(True)
    return link.url(f"${{console:raw}}{path}").tooltip("What the daemon itself shows, now")


def _range(ask: PanelQuery, place: int) -> prometheus.Dataquery:
    query = prometheus.Dataquery().expr(ask.expression).legend_format(ask.legend or "__auto").range()
    return query.ref_id(_letter(place)).datasource(SOURCE)


def _instant(expression: str, letter: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .expr(expression)
        .instant()
        .format(PromQueryFormat.TABLE)
        .ref_id(letter)
        .datasource(SOURCE)
    )


def _letter(place: int) -> str:
    return chr(ord("A") + place)
