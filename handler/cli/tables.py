"""Tables for people, from the API's JSON: the command line and the demo show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from config.units import format_span
from handler.cli.moments import clock_text, moment_text
from handler.cli.roll_tables import rolling_lines
from handler.logs import printable
from handler.planning.status import GroupCondition, severity
from trigger.explain.pause_words import say_pause
from trigger.requests import Pause

_STYLE = {
    "error": "bold red", "warning": "yellow", "orphaned": "yellow", "deleting": "yellow", "paused": "cyan",
    "starting": "cyan", "scaling": "green", "cooldown": "blue", "running": "green",
    "broken": "red", "unknown": "yellow", "in_service": "green", "failed": "red", "retry": "yellow",
    "limited": "yellow",
}  # fmt: skip


def _styled(word: str) -> Text:
    return Text(printable(word), style=_STYLE.get(word, ""))


def _cells(*texts: str) -> tuple[Text, ...]:
    """Plain text: what looks like markup is none."""
    return tuple(Text(printable(text)) for text in texts)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _members_in_words(members: list[dict[str, Any]]) -> str:
    counts = Counter(member["state"] for member in members)
    return ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items()) or "none"


def _rolling(roll: dict[str, Any] | None) -> str:
    if roll is None or roll["state"] != "running":
        return ""
    return f", rolling {roll['done']}/{roll['done'] + roll['remaining']}"


def groups_table(groups: list[dict[str, Any]], endpoints: Sequence[dict[str, Any]] = ()) -> RenderableType:
    """One line a group, those in trouble first; before them, what concerns more than one."""
    table = _table("GROUP", "STATE", "DESIRED", "BOUNDS", "MEMBERS", "REASON", "MODE")
    for group in sorted(groups, key=lambda each: severity(GroupCondition(each["condition"]))):
        desired = "–" if group["desired"] is None else str(group["desired"]) + (" forced" if group["forced"] else "")
        bounds = f"{group['minimum']}..{group['maximum']}"
        members = _members_in_words(group["members"]) + _rolling(group["roll"])
        rest = _cells(desired, bounds, members, group["reason"], group["mode"])
        table.add_row(*_cells(group["group"]), _styled(group["condition"]), *rest)
    if not groups:
        return Text("no groups are declared")
    stopped = groups[0]["fleet_pause"]
    above = [] if stopped is None else [_fleet_paused(stopped)]
    above += [Text(printable(each["because"]), style="yellow") for each in endpoints if each["because"]]
    return Group(*above, Text(), table) if above else table


def _fleet_paused(stopped: dict[str, Any]) -> Text:
    """The banner: what is stopped in all groups, since when, by whom and why."""
    because = f": {stopped['because']}" if stopped["because"] else ""
    what = say_pause(Pause(stopped["pause"])).upper()
    said = f"THE WHOLE FLEET: {what} by {stopped['by']} since {clock_text(stopped['since'])} UTC{because}"
    return Text(printable(said), style="bold reverse yellow")


def group_page(group: dict[str, Any]) -> RenderableType:
    """One group on one screen."""
    parts: list[RenderableType] = [groups_table([group])]
    parts += [Text(printable(f"  {message}"), style="yellow") for message in group["messages"]]
    parts += [Text(printable(f"  {said}"), style="yellow") for said in group.get("unbelieved", ())]
    policies = ", ".join(f"{policy} {reason}" for policy, reason in group["policies"].items())
    if policies:
        parts.append(Text(f"policies: {policies}"))
    if group["pause"] in _PAUSES:
        parts.append(Text(_PAUSES[group["pause"]], style="cyan"))
    for quiet in group["quiets"]:
        parts.append(Text(f"quiet until {clock_text(quiet['until'])} UTC after {quiet['policy'] or 'a resize'}"))
    if group["queued"] is not None:
        queued = group["queued"]
        asked, kept = queued["request"], clock_text(queued["until"])
        said = f"waiting for its turn in the service: {asked['cause']} {asked['by']}, kept until {kept} UTC"
        parts.append(Text(printable(said), style="cyan"))
    parts += [Text(printable(line), style="cyan") for line in rolling_lines(group)]
    waits = _waits(group["waits"], group)
    if waits:
        parts.append(Text(f"waiting: {waits}"))
    return Group(*parts, Text(), members_table(group["members"]))


def members_table(members: list[dict[str, Any]]) -> RenderableType:
    """One line a member."""
    table = _table("MEMBER", "STATE", "SINCE (UTC)", "ADDRESS", "MADE (UTC)", "CLOUD SAYS", "NOTES")
    for member in members:
        notes = [word for word in ("protected", "warming") if member[word]]
        if member["unheard_since"] is not None:
            notes.append(f"unheard since {clock_text(member['unheard_since'])}")
        if member["unready"]:
            notes.append(f"probe: {member['unready']}")
        address, made = member["address"] or "–", clock_text(member["since"])
        row = (clock_text(member["state_since"]), address, made, member["raw_state"], ", ".join(notes))
        table.add_row(*_cells(member["name"]), _styled(member["state"]), *_cells(*row))
    return table if members else Text("no members")


def _age(seconds: float) -> str:
    """How old, no finer than its size deserves.

    >>> _age(187500.0), _age(42.7)
    ('2d4h', '42s')
    """
    step = next((step for least, step in _AGES if seconds >= least), 1)
    return format_span(seconds // step * step)


_AGES = ((86400, 3600), (3600, 60))


def garbage_table(items: list[dict[str, Any]]) -> RenderableType:
    """One line a piece of garbage."""
    table = _table("NAME", "KIND", "AGE", "WHERE", "THERE", "WHY")
    for item in items:
        age = "–" if item["age"] is None else _age(item["age"])
        there = " ".join(part for part in (item["server_id"] or "", item["raw_state"]) if part) or "–"
        kind = item["kind"].replace("_", " ")
        table.add_row(*_cells(item["name"], kind, age, item["where"], there, item["because"]))
    return table if items else Text("no garbage")


def history_table(events: list[dict[str, Any]]) -> RenderableType:
    """One line an event, newest first."""
    table = _table("WHEN (UTC)", "WHAT", "WHO", "SIZE", "RESULT")
    for event in events:
        size = ""
        if event["desired_to"] is not None:
            clamps = "".join(f", {clamp['guard']} {clamp['before']}→{clamp['after']}" for clamp in event["clamps"])
            size = (
                f"{event['desired_from'] if event['desired_from'] is not None else '–'} → {event['desired_to']}{clamps}"
            )
        result = _styled(event["result"] or "")
        if event["message"]:
            result.append(printable(f" {event['message']}"))
        table.add_row(*_cells(moment_text(event["at"]), event["name"], event["by"], size), result)
    return table if events else Text("nothing has happened yet")


_PAUSES = {
    "decisions": "decisions are paused; repair goes on",
    "out": "scale-outs are paused; all else goes on",
    "in": "scale-ins are paused; all else goes on",
}
"""What the word PAUSED does not say."""

_WAITS = {
    "no_desired": "a first desired size",
    "paused": "a resume",
    "partial": "a complete listing",
    "balancer_unknown": "a balancer that can be read",
    "balancer_not_found": "a balancer that does not exist",
    "distrust": "a listing that can be believed",
    "vanished": "the size to follow members that are gone",
    "balancer_busy": "another group's changes of a shared balancer",
    "back_off": "calls that failed, to be made again",
    "rate_limit": "the cloud's rate limit",
    "full": "room in the cloud",
    "enough": "the next pass for the rest",
    "many_vanished": "evidence that many members are lost; to believe it without: trimtab converge GROUP",
    "returning": "members that are back to serve, before those leave that were made in their place",
    "older_store": "a person, since the store may be older than the fleet: trimtab store adopt GROUP",
    "unrepaired": "a person, since repair of what is lost is switched off: trimtab converge GROUP",
    "many_failing": "more members to answer their health checks",
}
"""What is waited for, where it is not a state of so many members."""


def _waits(waits: Iterable[tuple[str, int]], told: Mapping[str, Any]) -> str:
    """What is waited for. ``told`` says of a quota or a budget which one it is."""
    return ", ".join(_wait(wait, count, told.get(wait)) for wait, count in waits)


def _wait(wait: str, count: int, which: str | None) -> str:
    if wait in {"quota", "budget"} and which:
        return f"{count} for {wait} ({printable(which)})"
    return _WAITS.get(wait) or f"{count or ''} {wait.replace('_', ' ')}".lstrip()


_APART = frozenset({"kind", "because"})


def step_text(step: dict[str, Any]) -> str:
    """One step in words."""
    rest = " ".join(_said(key, value) for key, value in step.items() if key not in _APART and value is not None)
    because = f" ({step['because']})" if step.get("because") else ""
    return f"{step['kind'].replace('_', ' ')} {rest}".rstrip() + because


def _said(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"not {key}"
    return str(value)


def plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    """One line a step, then what is waited for."""
    for step in plan["steps"]:
        yield step_text(step)
    waits = _waits(plan["waits"].items(), plan)
    if waits:
        yield f"waiting: {waits}"
    stuck = plan.get("stuck", ())
    for name in stuck:
        yield f"stuck: {name} cannot be removed; trimtab converge {plan['group']} tries it again at once"
    if not plan["steps"] and not waits:
        yield f"converged but for {', '.join(stuck)}: nothing else to do" if stuck else "converged: nothing to do"


def world_table(world: dict[str, Any]) -> RenderableType:
    """What was observed: each member as the cloud, the balancers and the store have it."""
    table = _table("MEMBER", "REMEMBERED", "CLOUD", "READY", "SEATS")
    for member in world["members"]:
        seats = [
            f"{balancer} {seating['seats'][member['name']]['state']}"
            for balancer, seating in world["seatings"].items()
            if seating["seats"] is not None and member["name"] in seating["seats"]
        ]
        phase = member["record"]["phase"] if member["record"] else "–"
        cloud = member["server"]["raw_state"] if member["server"] else ("gone" if member["disproved"] else "not listed")
        ready = {True: "yes", False: "no", None: "–"}[member["ready"]]
        table.add_row(*_cells(member["name"], phase, cloud, ready, ", ".join(seats) or "–"))
    whole = Text(
        "the listing is complete" if world["complete"] else printable(f"the listing is partial: {world['because']}")
    )
    return Group(table, whole)


def hooks_table(hooks: list[dict[str, Any]]) -> RenderableType:
    """One line a webhook."""
    table = _table("NAME", "GROUPS", "EFFECTS", "DIRECTIONS", "LAST USED (UTC)", "NOTES")
    for hook in hooks:
        notes = [word for word, told in (("signed", hook["signed"]), ("two tokens live", hook["rotating"])) if told]
        if hook["revoked_at"] is not None:
            notes = [f"revoked {clock_text(hook['revoked_at'])}"]
        table.add_row(
            hook["name"],
            ", ".join(hook["groups"]) or "all",
            "pushed values" if hook["push"] else ", ".join(hook["effects"]),
            "" if hook["push"] else ", ".join(hook["directions"]) or "none",
            clock_text(hook["last_used_at"]),
            ", ".join(notes),
        )
    return table if hooks else Text("there are no webhooks: trimtab hook new NAME")


_NO_RATE = "no rate yet: the source had no newer count a second later; ask again, or see why for the last one"


def probe_table(found: list[dict[str, Any]]) -> RenderableType:
    """One line a reading; below them, for each kind of failure, what is wrong and what to do."""
    table = _table("MEMBER", "COUNTER", "VALUE", "READING", "TYPE", "AGE", "TOOK")
    wrong: dict[str, dict[str, None]] = {}
    for each in found:
        table.add_row(*_cells(each["member"] or "the group", each["counter"]), *_reading_cells(each))
        if each["reply"] != "ok":
            said = f" ({each['said']})" if each["said"] else ""
            told = f"{each['reply'].replace('_', ' ')}{said}; {each['remedy']}"
            wrong.setdefault(told, {})[each["counter"]] = None
        elif each["value"] is None and each["kind"] == "counter":
            wrong.setdefault(_NO_RATE, {})[each["counter"]] = None
    if not found:
        return Text("there is nobody to ask: no member is in service")
    lines = (f"{', '.join(counters)}: {told}" for told, counters in wrong.items())
    return Group(table, *(Text(printable(line), style="yellow") for line in lines))


def _reading_cells(each: dict[str, Any]) -> tuple[Text, ...]:
    if each["reply"] != "ok":
        return (_styled(each["reply"].replace("_", " ")),)
    value = "–" if each["value"] is None else f"{each['value']:.6g} {each['unit']}".rstrip()
    return _cells(
        value, f"{each['reading']:.15g}", each["kind"], f"{each['age']:.1f} s", f"{each['took'] * 1000:.1f} ms"
    )


def counters_page(counters: list[dict[str, Any]]) -> RenderableType:
    """One line a counter that has a name, below whose name it is."""
    table = _table("WRITE", "KIND", "UNIT", "PER", "WHAT IT TELLS")
    group = ""
    for each in counters:
        if each["group"] != group:
            group = each["group"]
            table.add_row(Text(printable(group), style="bold cyan"))
        name = each["name"] + (".N" if each["table"] else "")
        rest = _cells(each["kind"], each["unit"] or "–", ", ".join(each["per"]), each["description"] or "–")
        table.add_row(*_cells(f"  {each['source']}: {name}"), *rest)
    notes = [Text(".N: a row of a table; or leave .N away, and say with rows how all rows become one value")]
    return Group(table, *(notes if any(each["table"] for each in counters) else ()))
