"""A plan's answer, as the API gives it, in lines of text: for the command line and the console."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from handler.logs import printable

_WAITS = {
    "no_desired": "a first desired size",
    "paused": "a resume",
    "partial": "a complete listing",
    "balancer_unknown": "a balancer that can be read",
    "balancer_not_found": "a balancer that does not exist",
    "distrust": "a listing without doubt",
    "vanished": "the size to follow members that are gone",
    "balancer_busy": "another group's changes of a shared balancer",
    "back_off": "calls that failed, to be made again",
    "rate_limit": "the cloud's rate limit",
    "full": "capacity in the cloud",
    "enough": "the next pass for the rest",
    "many_vanished": "evidence that many members are lost; to confirm without it: trimtab converge GROUP",
    "returning": "returned members to serve, before their replacements leave",
    "older_store": "a person, since the store may be older than the fleet: trimtab store adopt GROUP",
    "unrepaired": "a person, since repair of lost members is switched off: trimtab converge GROUP",
    "many_failing": "more members to answer their health checks",
}
"""What a plan waits for, where it is not a number of members in a state."""


def waits_text(waits: Iterable[tuple[str, int]], limits: Mapping[str, Any]) -> str:
    """Return a plan's waits as text. ``limits`` names the quota or the budget."""
    return ", ".join(_wait(wait, count, limits.get(wait)) for wait, count in waits)


def _wait(wait: str, count: int, which: str | None) -> str:
    if wait in {"quota", "budget"} and which:
        return f"{count} for {wait} ({printable(which)})"
    return _WAITS.get(wait) or f"{count or ''} {wait.replace('_', ' ')}".lstrip()


_APART = frozenset({"kind", "because"})


def step_text(step: Mapping[str, Any]) -> str:
    """Return one step as text."""
    rest = " ".join(_value_text(key, value) for key, value in step.items() if key not in _APART and value is not None)
    because = f" ({step['because']})" if step.get("because") else ""
    return f"{step['kind'].replace('_', ' ')} {rest}".rstrip() + because


def _value_text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"not {key}"
    return str(value)


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each step, then the waits."""
    for step in plan["steps"]:
        yield step_text(step)
    waits = waits_text(plan["waits"].items(), plan)
    if waits:
        yield f"waiting: {waits}"
    stuck = plan.get("stuck", ())
    for name in stuck:
        yield f"stuck: {name} cannot be removed; trimtab converge {plan['group']} tries it again at once"
    if not plan["steps"] and not waits:
        yield f"converged but for {', '.join(stuck)}: nothing else to do" if stuck else "converged: nothing to do"
