"""What tells of trouble has a rule; all else has a reason why it needs none."""

from __future__ import annotations

import re

import pytest

from collector.samples import Reply
from handler.planning.steps import Wait
from tests.support.grafana import exported, rules

_DECLARED = "what a person has declared or ordered"
_PROGRESS = "goes up and down while all is well"
_DETAIL = "the detail of what another metric has a rule for"
_PLANNING = "a figure to plan by: no value of it is wrong for every fleet"
_QUIET = {
    "process_cpu_seconds_total": _PLANNING,
    "process_max_fds": _PLANNING,
    "process_open_fds": _PLANNING,
    "process_resident_memory_bytes": _PLANNING,
    "process_virtual_memory_bytes": _PLANNING,
    "trimtab_action_duration_seconds": _PLANNING,
    "trimtab_build_info": _DECLARED,
    "trimtab_condition_expected_members": _DETAIL,
    "trimtab_condition_heard_members": _DETAIL,
    "trimtab_condition_info": _DECLARED,
    "trimtab_condition_met": _PROGRESS,
    "trimtab_condition_threshold": _DECLARED,
    "trimtab_condition_value": _PROGRESS,
    "trimtab_config_hash_info": _DECLARED,
    "trimtab_config_last_reload_success_timestamp_seconds": _DETAIL,
    "trimtab_converge_passes_total": _DETAIL,
    "trimtab_counter_age_seconds": _DETAIL,
    "trimtab_decisions_total": _PROGRESS,
    "trimtab_endpoint_unsent_calls_total": _DETAIL,
    "trimtab_evaluation_duration_seconds": _DETAIL,
    "trimtab_fleet_pause": _DECLARED,
    "trimtab_forecast_at_most_members": _PROGRESS,
    "trimtab_forecast_coming_members": _PROGRESS,
    "trimtab_forecast_enough_members": _PROGRESS,
    "trimtab_forecast_load_members": _PROGRESS,
    "trimtab_forecast_member_carries": _PLANNING,
    "trimtab_forecast_missed_ratio": _PROGRESS,
    "trimtab_forecast_needed_members": _PROGRESS,
    "trimtab_generation": _DETAIL,
    "trimtab_group_back_off_seconds_remaining": _DETAIL,
    "trimtab_group_converged_timestamp_seconds": _DETAIL,
    "trimtab_group_creates_left": _DETAIL,
    "trimtab_group_definition": _DECLARED,
    "trimtab_group_desired": _PROGRESS,
    "trimtab_group_edited_timestamp_seconds": _DECLARED,
    "trimtab_group_max": _DECLARED,
    "trimtab_group_min": _DECLARED,
    "trimtab_group_pending": _PROGRESS,
    "trimtab_group_profile_members": _PROGRESS,
    "trimtab_group_quiet_seconds_remaining": _PROGRESS,
    "trimtab_group_recommended": _PROGRESS,
    "trimtab_group_roll": _PROGRESS,
    "trimtab_member_boot_seconds": _PLANNING,
    "trimtab_member_boots": _PLANNING,
    "trimtab_member_drain_seconds": _PLANNING,
    "trimtab_member_value": _PROGRESS,
    "trimtab_observed_expected_members": _DETAIL,
    "trimtab_observed_heard_members": _DETAIL,
    "trimtab_observed_value": _PROGRESS,
    "trimtab_policy_duration_seconds": _DECLARED,
    "trimtab_policy_held_seconds": _PROGRESS,
    "trimtab_policy_ready_seconds_remaining": _PROGRESS,
    "trimtab_poll_answer_seconds": _PLANNING,
    "trimtab_poll_duration_seconds": _PLANNING,
    "trimtab_pushed_values": _PROGRESS,
    "trimtab_recording": _DECLARED,
    "trimtab_recording_budget_bytes": _DECLARED,
    "trimtab_recording_bytes": _PLANNING,
    "trimtab_recording_oldest_timestamp_seconds": _PLANNING,
    "trimtab_recording_oldest_whole_timestamp_seconds": _PLANNING,
    "trimtab_recording_samples_total": _PROGRESS,
    "trimtab_restrictions_total": _PROGRESS,
    "trimtab_store_bytes": _PLANNING,
    "trimtab_store_write_seconds": _DETAIL,
    "trimtab_window_bytes": _PLANNING,
    "trimtab_worker_barred": _DETAIL,
    "trimtab_worker_lease_epoch": _DETAIL,
    "trimtab_worker_lease_left_seconds": _DETAIL,
    "trimtab_worker_takeovers_total": _DETAIL,
}
_HARMLESS_WAITS = {
    Wait.BUILDING, Wait.PASSING, Wait.NOT_READY, Wait.DRAINING, Wait.DELETING, Wait.RELEASING, Wait.VANISHED,
    Wait.RETURNING, Wait.FAILING, Wait.BALANCER_BUSY, Wait.ENOUGH, Wait.ROLLING, Wait.NO_DESIRED,
}  # fmt: skip
"""They end by themselves; where they do not, members stay too many or too few, and that has a rule."""
_ELSEWHERE_WAITS = {
    Wait.UNCONFIRMED: "TrimtabInventoryDistrusted",
    Wait.PARTIAL: "TrimtabInventoryDistrusted",
    Wait.DISTRUST: "TrimtabInventoryDistrusted",
    Wait.BACK_OFF: "TrimtabGroupInError",
    Wait.RATE_LIMIT: "TrimtabDriftStuck",
    Wait.BUILD_BACK_OFF: "TrimtabBuildsFailing",
    Wait.PROTECTED: "TrimtabDriftStuck",
    Wait.OLDER_STORE: "TrimtabOlderStore",
    Wait.PAUSED: "TrimtabDriftStuck",
}
"""Another series of the same trouble has the rule."""
_HARMLESS_REPLIES = {Reply.OK, Reply.TIMEOUT, Reply.UNREACHABLE, Reply.RATE_LIMITED, Reply.STALE}
"""Silence is told by group (TrimtabMembersUnheard, TrimtabBlind): one lost packet is no trouble."""


def _asked() -> str:
    return "\n".join(rule["expr"] for rule in rules())


def test_every_metric_has_a_rule_or_a_reason_why_it_needs_none() -> None:
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in exported()}

    unasked = {name for name in families if not re.search(rf"\b{name}(_bucket|_sum|_count)?\b", _asked())}

    assert unasked == _QUIET.keys()


@pytest.mark.parametrize("wait", Wait)
def test_every_wait_that_does_not_end_by_itself_has_a_rule(wait: Wait) -> None:
    words = "|".join(re.findall(r'trimtab_group_waits\{wait=~?"([^"]+)"\}', _asked())).split("|")
    alerts = {rule["alert"] for rule in rules()}

    assert (wait.value in words) + (wait in _HARMLESS_WAITS) + (wait in _ELSEWHERE_WAITS) == 1
    assert set(_ELSEWHERE_WAITS.values()) <= alerts


def test_every_answer_that_is_not_believed_has_a_rule() -> None:
    (words,) = re.findall(r'reply=~"([^"]+)"', _asked())

    assert set(words.split("|")) == {reply.name.lower() for reply in set(Reply) - _HARMLESS_REPLIES}
