"""*Trimtab itself*: whether the daemon is on time, what it costs, and what it runs."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build.alerts_panels import recording, telling, vault, workers
from grafana.build.frame import HERE, filled, frame
from grafana.build.panels import (
    BYTES,
    MOMENT,
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
    rows,
    stacked,
    to_console,
)
from grafana.build.queries import beyond, flowing, mean, quantile


def dashboard() -> Dashboard:
    """The finished dashboard."""
    whole = frame(
        "self",
        "Trimtab / Itself",
        "The daemon: punctuality, passes, store, event loop, configuration, process.",
        console=to_console(),
    )
    filled(whole, *_figures())
    filled(whole.with_row(Row("Deciding")), *_deciding())
    filled(whole.with_row(Row("Converging")), *_converging())
    filled(whole.with_row(Row("Workers")), *workers())
    filled(whole.with_row(Row("Notices, webhooks, pushes")), *telling())
    filled(whole.with_row(Row("Vault")), *vault())
    filled(whole.with_row(Row("Recording")), *recording())
    filled(whole.with_row(Row("Process")), *_process())
    return whole.build()


def _figures() -> list[Panel]:
    late = (
        f"time() - trimtab_group_decided_timestamp_seconds{{{HERE}}}"
        f" > 3 * trimtab_group_interval_seconds{{{HERE}}} + 10"
    )
    started = f"min(process_start_time_seconds{{{HERE}}}) * 1000"
    taken = f"max(trimtab_config_last_reload_success_timestamp_seconds{{{HERE}}}) * 1000"
    return [
        figure(
            "Late groups",
            "Groups that were not decided for three intervals and ten seconds.",
            PanelQuery(f"count({late}) or vector(0)"),
            bad_from=1,
        ),
        figure(
            "Lag", "99 % of ticks begin no later than this.", PanelQuery(quantile(0.99, "evaluation_lag")), unit=SECONDS
        ),
        figure(
            "Held loop",
            "Share of heartbeats that the event loop was more than 20 ms late for.",
            PanelQuery(beyond(0.02, "loop_hold")),
            unit=SHARE,
        ),
        figure(
            "Refused files",
            "Daemons whose changed file was refused: the one before it is in force. `trimtab check FILE` says why.",
            PanelQuery(f"count(trimtab_config_last_reload_successful{{{HERE}}} == 0) or vector(0)"),
            bad_from=1,
        ),
        figure("File taken", "When the configuration was last taken.", PanelQuery(taken), unit=MOMENT),
        figure("Started", "When the daemon was started; windows were empty then.", PanelQuery(started), unit=MOMENT),
    ]


def _deciding() -> list[Panel]:
    failures = f"sum by (instance) (increase(trimtab_store_write_failures_total{{{HERE}}}[$__rate_interval]))"
    return [
        lines(
            "Lag of ticks",
            "How late ticks begin. A daemon with too many groups for its machine shows it here first.",
            PanelQuery(quantile(0.5, "evaluation_lag"), "half"),
            PanelQuery(quantile(0.99, "evaluation_lag"), "99 %"),
            unit=SECONDS,
        ),
        lines(
            "Duration of deciding",
            "From the last answer of a poll until every decision of the slot is on disk.",
            PanelQuery(quantile(0.5, "evaluation_duration"), "half"),
            PanelQuery(quantile(0.99, "evaluation_duration"), "99 %"),
            PanelQuery(mean("evaluation_duration"), "mean"),
            unit=SECONDS,
        ),
        lines(
            "Writes of decisions",
            "How long decisions wait for the disk: a sync each, shared by what waits at the same time.",
            PanelQuery(quantile(0.5, "store_write"), "half"),
            PanelQuery(quantile(0.99, "store_write"), "99 %"),
            unit=SECONDS,
        ),
        bars("Failed writes", "Writes that failed: nothing was decided then.", PanelQuery(failures, "{{instance}}")),
        lines(
            "Event loop held",
            "How late heartbeats are. Nothing may hold the loop for more than 20 ms.",
            PanelQuery(quantile(0.5, "loop_hold"), "half"),
            PanelQuery(quantile(0.99, "loop_hold"), "99 %"),
            unit=SECONDS,
        ),
        lines(
            "Ticks",
            "Slots polled and decided, per second.",
            PanelQuery(f"sum by (instance) (rate(trimtab_evaluation_lag_seconds_count{{{HERE}}}[$__rate_interval]))"),
        ).unit("ops"),
    ]


def _converging() -> list[Panel]:
    passes = flowing(f"trimtab_converge_passes_total{{{HERE}}}", "{{result}}", "result")
    return [
        hiding(stacked("Passes", "Convergence passes, by the worst that happened in each.", passes, unit="ops")),
    ]


def _process() -> list[Panel]:
    return [
        rows(
            "What runs",
            "Version and configuration of each daemon.",
            {"Groups": f"count by (instance) (trimtab_group_min{{{HERE}}})"},
            {
                "instance": None,
                "version": f"max by (instance, version) (trimtab_build_info{{{HERE}}})",
                "hash": f"max by (instance, hash) (trimtab_config_hash_info{{{HERE}}})",
            },
        ).height(5),
        lines(
            "Processor",
            "Processor time used, in cores.",
            PanelQuery(f"rate(process_cpu_seconds_total{{{HERE}}}[$__rate_interval])", "{{instance}}"),
        ),
        lines(
            "Memory",
            "Resident memory.",
            PanelQuery(f"process_resident_memory_bytes{{{HERE}}}", "{{instance}}"),
            unit=BYTES,
        ),
        lines(
            "Memory of each group",
            "Resident memory, divided by the groups: it falls as groups share what the daemon needs by itself.",
            PanelQuery(
                f"process_resident_memory_bytes{{{HERE}}} / on (instance) "
                f"count by (instance) (trimtab_group_min{{{HERE}}})",
                "{{instance}}",
            ),
            unit=BYTES,
        ),
        lines(
            "Store",
            "What the store's files take on the disk. History is kept within its budget; see operating.md.",
            PanelQuery(f"trimtab_store_bytes{{{HERE}}}", "{{instance}}"),
            PanelQuery(
                f"trimtab_store_bytes{{{HERE}}} / on (instance) count by (instance) (trimtab_group_min{{{HERE}}})",
                "{{instance}}, each group",
            ),
            unit=BYTES,
        ),
        lines(
            "Windows",
            "Memory that the windows of all groups take. Only a reload changes it: it follows from what policies ask.",
            PanelQuery(f"trimtab_window_bytes{{{HERE}}}", "{{instance}}"),
            unit=BYTES,
        ),
        lines(
            "Open files",
            "Descriptors in use, and how many there may be.",
            PanelQuery(f"process_open_fds{{{HERE}}}", "{{instance}}"),
            PanelQuery(f"process_max_fds{{{HERE}}}", "{{instance}} limit"),
        ).override_by_regexp(".*limit", list(dashed(RED))),
        lines(
            "Reading the metrics",
            "How long Prometheus took to read them. It grows with the number of groups.",
            PanelQuery(f"scrape_duration_seconds{{{HERE}}}", "{{instance}}"),
            unit=SECONDS,
        ),
    ]
