"""*Collector*: whether counters are read, how fast, and which members do not answer."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Row
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build.frame import HERE, filled, frame
from grafana.build.panels import (
    PER_SECOND,
    SECONDS,
    SHARE,
    Panel,
    PanelQuery,
    figure,
    hiding,
    lines,
    stacked,
    steps,
    to_console,
)
from grafana.build.queries import ever, flowing, mean, quantile

_REPLIES = f"rate(trimtab_poll_replies_total{{{HERE}}}[$__rate_interval])"
_GOOD = f'rate(trimtab_poll_replies_total{{{HERE}, reply="ok"}}[$__rate_interval])'


def dashboard() -> Dashboard:
    """The finished dashboard."""
    whole = frame(
        "collector",
        "Trimtab / Collector",
        "Replies by kind, poll duration, ages, members without an answer.",
        console=to_console(),
    )
    filled(whole, *_figures())
    filled(whole.with_row(Row("Answers")), *_answers())
    filled(whole.with_row(Row("Members without an answer")), *_silence())
    return whole.build()


def _figures() -> list[Panel]:
    share = f"sum({_GOOD}) / sum({_REPLIES})"
    oldest = f"max(trimtab_counter_age_seconds{{{HERE}}})"
    return [
        figure("Questions", "Readings asked for, per second.", PanelQuery(f"sum({_REPLIES})"), unit=PER_SECOND),
        figure("Answered", "Share of questions that brought a value.", PanelQuery(share), unit=SHARE).decimals(2),
        figure(
            "Members without an answer",
            "Members that have not answered for more than ten intervals.",
            PanelQuery(f"sum(trimtab_group_unheard_members{{{HERE}}})"),
            bad_from=1,
        ),
        figure(
            "Oldest value", "Age of the oldest value that a condition is judged by.", PanelQuery(oldest), unit=SECONDS
        ),
        figure(
            "Slow polls", "95 % of polls end within this.", PanelQuery(quantile(0.95, "poll_duration")), unit=SECONDS
        ),
        figure(
            "Daemons that answer",
            "Daemons whose metrics Prometheus can read.",
            PanelQuery(f"sum(up{{{HERE}}} and on (instance, job) trimtab_build_info)"),
        ),
    ]


def _answers() -> list[Panel]:
    asked, failed = (f"trimtab_poll_replies_total{{{HERE}{of}}}" for of in ("", ', reply!="ok"'))
    return [
        hiding(stacked("Replies by kind", "Requests by their result.", flowing(asked, "{{reply}}", "reply"))).unit(
            PER_SECOND
        ),
        hiding(
            stacked(
                "Failures by counter",
                "Questions without a value: timeout is silence, unreachable a source that no member is to blame for.",
                flowing(failed, "{{source}} {{counter}}: {{reply}}", "source", "counter", "reply"),
                unit=PER_SECOND,
            )
        ),
        lines(
            "Duration of polls",
            "From the first question to the end of waiting. A poll waits at most 80 % of the interval, or 10 s.",
            PanelQuery(quantile(0.5, "poll_duration"), "half"),
            PanelQuery(quantile(0.95, "poll_duration"), "95 %"),
            PanelQuery(mean("poll_duration"), "mean"),
            unit=SECONDS,
        ),
        lines(
            "Round trip by source",
            "From the first question to a source's last answer.",
            PanelQuery(quantile(0.5, "poll_answer", "source"), "{{source}} half"),
            PanelQuery(quantile(0.95, "poll_answer", "source"), "{{source}} 95 %"),
            unit=SECONDS,
        ),
    ]


def _silence() -> list[Panel]:
    counter = "on (instance, group, policy, condition) group_left (counter)"
    age = f"trimtab_counter_age_seconds{{{HERE}}} * {counter} trimtab_condition_info"
    heard, expected = (f"sum by (group) (trimtab_condition_{word}_members{{{HERE}}})" for word in ("heard", "expected"))
    return [
        lines(
            "Age by counter",
            "Age of the newest answer behind any condition, the oldest of each counter.",
            PanelQuery(f"max by (counter) ({age})", "{{counter}}"),
            unit=SECONDS,
        ),
        lines(
            "Age in intervals",
            "The same in intervals of the group: from 3 on a value is no longer fresh. The ten worst.",
            PanelQuery(
                f"topk(10, max by (instance, group) (trimtab_counter_age_seconds{{{HERE}}})"
                f" / on (instance, group) trimtab_group_interval_seconds)",
                "{{group}}",
            ),
        ),
        hiding(
            steps(
                "Members without an answer",
                "Members without an answer for more than ten intervals, by group. `trimtab status GROUP` names them.",
                ever(f"trimtab_group_unheard_members{{{HERE}}}", "{{group}}", "group"),
            )
        ),
        lines(
            "Share of members heard",
            "Members behind the values, of those that should be.",
            PanelQuery(f"{heard} / {expected}", "{{group}}"),
            unit=SHARE,
        ),
        hiding(
            steps(
                "Blind groups",
                "1 while a policy of the group has not enough data to judge.",
                ever(f'trimtab_restricted{{{HERE}, reason="blind"}}', "{{group}}", "group"),
            )
        ),
        hiding(
            steps(
                "Unknown conditions",
                "Conditions without a value at the last tick, by group.",
                PanelQuery(
                    f"sum by (group) (trimtab_condition_info{{{HERE}}}"
                    f" unless on (instance, group, policy, condition) trimtab_condition_met)",
                    "{{group}}",
                ),
            )
        ),
    ]
