"""*Trimtab itself*, its connections to others: workers, notices, webhooks, pushes, and the recording."""

from __future__ import annotations

from grafana.build.frame import HERE
from grafana.build.panels import (
    BYTES,
    MOMENT,
    RED,
    SECONDS,
    Panel,
    PanelQuery,
    bars,
    dashed,
    figure,
    hiding,
    lines,
    steps,
)
from grafana.build.queries import events


def workers() -> list[Panel]:
    """Which worker holds the lease of a store that several share, and whether another one could take over."""
    return [
        hiding(
            steps(
                "Holder of the lease",
                "1 for the worker that has the lease and acts. The others stand by.",
                PanelQuery(f"trimtab_worker_holds_lease{{{HERE}}}", "{{instance}}"),
                PanelQuery(f"trimtab_worker_barred{{{HERE}}}", "{{instance}} cannot take over"),
            ).override_by_regexp(".*cannot take over", list(dashed(RED)))
        ),
        hiding(
            lines(
                "Standbys",
                "Workers that could take over now, as each worker sees them, and by whose turn it is (the epoch).",
                PanelQuery(f"trimtab_worker_standbys{{{HERE}}}", "{{instance}}"),
                PanelQuery(f"trimtab_worker_lease_epoch{{{HERE}}}", "{{instance}} epoch"),
            )
        ),
        hiding(
            lines(
                "Time left of the lease",
                "How long the holder may act if it cannot renew the lease, for example since the database is away.",
                PanelQuery(f"trimtab_worker_lease_left_seconds{{{HERE}}}", "{{instance}}"),
            ).unit("s")
        ),
        hiding(
            bars(
                "Takeovers",
                "How often a worker took the lease.",
                events(f"trimtab_worker_takeovers_total{{{HERE}}}", "{{instance}}", "instance"),
            )
        ),
    ]


def telling() -> list[Panel]:
    """What comes in from alerts and applications, and what goes out to people."""
    return [
        hiding(
            bars(
                "Notices",
                "Attempts to send a notice of a group's trouble. failed is tried again; given_up reached no receiver.",
                events(f"trimtab_notices_total{{{HERE}}}", "{{kind}}: {{result}}", "kind", "result"),
            )
        ),
        hiding(
            bars(
                "Webhooks",
                "Notifications of Alertmanager and Grafana, by result.",
                events(f"trimtab_webhook_requests_total{{{HERE}}}", "{{source}}: {{result}}", "source", "result"),
            )
        ),
        hiding(
            bars(
                "Pushes",
                "Requests that push values, by result.",
                events(f"trimtab_push_requests_total{{{HERE}}}", "{{shape}}: {{result}}", "shape", "result"),
            )
        ),
        lines(
            "Pushed values",
            "Values that members and applications have pushed and that are kept now.",
            PanelQuery(f"trimtab_pushed_values{{{HERE}}}", "{{instance}}"),
        ),
    ]


def vault() -> list[Panel]:
    """Whether secrets of the vault can be read."""
    return [
        lines(
            "Secrets",
            "Secrets of the vault by the section of the file that uses them: fresh, stale (the last value) or missing.",
            PanelQuery(f"trimtab_vault_secrets{{{HERE}}}", "{{section}}: {{state}}"),
        ),
        lines(
            "Secrets cannot be read for",
            "For how long at least one secret of the vault could not be read.",
            PanelQuery(f"trimtab_vault_failing_seconds{{{HERE}}}", "{{instance}}"),
            unit=SECONDS,
        ),
    ]


def recording() -> list[Panel]:
    """Whether samples are recorded, and how far back the recording reaches."""
    oldest, whole = (f"min(trimtab_recording_oldest_{word}timestamp_seconds{{{HERE}}})" for word in ("", "whole_"))
    return [
        figure("Recording", "Daemons that record their samples.", PanelQuery(f"sum(trimtab_recording{{{HERE}}})")),
        figure("Whole since", "Every sample is recorded from then on.", PanelQuery(f"{whole} * 1000"), unit=MOMENT),
        figure(
            "Anything since",
            "Samples of some groups are recorded from then on.",
            PanelQuery(f"{oldest} * 1000"),
            unit=MOMENT,
        ),
        lines(
            "Samples recorded",
            "Samples that were written, per second.",
            PanelQuery(f"rate(trimtab_recording_samples_total{{{HERE}}}[$__rate_interval])", "{{instance}}"),
        ).unit("ops"),
        lines(
            "Space for recordings",
            "Disk space of recordings, and their limit, beyond which the oldest are thinned and removed.",
            PanelQuery(f"trimtab_recording_bytes{{{HERE}}}", "{{instance}}"),
            PanelQuery(f"trimtab_recording_budget_bytes{{{HERE}}}", "{{instance}} limit"),
            unit=BYTES,
        ).override_by_regexp(".*limit", list(dashed(RED))),
        bars(
            "Ticks not recorded",
            "Ticks whose samples could not be recorded: the disk was full or too slow.",
            PanelQuery(
                f"sum by (instance) (increase(trimtab_recording_dropped_ticks_total{{{HERE}}}[$__rate_interval]))"
            ),
        ),
    ]
