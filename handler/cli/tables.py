"""Tables for people, from the API's JSON; the command line and the demo share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from config.units import format_span
from handler.cli.columns import Column, table
from handler.cli.roll_tables import rolling_lines
from handler.cli.time_format import clock_text, moment_text
from handler.logs import printable
from handler.operations.plan_text import waits_text
from handler.planning.status import GroupCondition, severity
from trigger.explain.forecast_words import say_learned
from trigger.explain.time_words import say_pause
from trigger.forecast.leads import LearnedTime
from trigger.requests import Pause

Row = dict[str, Any]
"""One object of the API's JSON."""


def _members_in_words(group: Row) -> str:
    counts = Counter(member["state"] for member in group["members"])
    return ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items()) or "none"


def _rolling(roll: Row | None) -> str:
    if roll is None or roll["state"] != "running":
        return ""
    return f", rolling {roll['done']}/{roll['done'] + roll['remaining']}"


def _desired(group: Row) -> str:
    return _known(group["desired"]) + (" forced" if group["desired"] is not None and group["forced"] else "")


def _known(value: object) -> str:
    return "–" if value is None else str(value)


_GROUPS: tuple[Column[Row], ...] = (
    Column("GROUP", itemgetter("group")),
    Column("STATE", itemgetter("condition"), itemgetter("condition")),
    Column("DESIRED", _desired),
    Column("BOUNDS", lambda group: f"{group['minimum']}..{group['maximum']}"),
    Column("MEMBERS", lambda group: _members_in_words(group) + _rolling(group["roll"])),
    Column("REASON", itemgetter("reason")),
    Column("MODE", itemgetter("mode")),
)


def groups_table(groups: list[Row], endpoints: Sequence[Row] = ()) -> RenderableType:
    """Return one line for each group, those in trouble first; above them, what concerns several groups."""
    if not groups:
        return Text("no groups are declared")
    drawn = table(_GROUPS, sorted(groups, key=lambda each: severity(GroupCondition(each["condition"]))))
    stopped = groups[0]["fleet_pause"]
    above = [] if stopped is None else [_fleet_paused(stopped)]
    above += [Text(printable(each["because"]), style="yellow") for each in endpoints if each["because"]]
    return Group(*above, Text(), drawn) if above else drawn


def _fleet_paused(stopped: Row) -> Text:
    """Return the banner of a pause of all groups: what is stopped, since when, by which person, and why."""
    because = f": {stopped['because']}" if stopped["because"] else ""
    what = say_pause(Pause(stopped["pause"])).upper()
    banner = f"THE WHOLE FLEET: {what} by {stopped['by']} since {clock_text(stopped['since'])} UTC{because}"
    return Text(printable(banner), style="bold reverse yellow")


def group_page(group: Row) -> RenderableType:
    """Return one group on one screen."""
    parts: list[RenderableType] = [groups_table([group])]
    parts += [Text(printable(f"  {message}"), style="yellow") for message in group["messages"]]
    parts += [Text(printable(f"  {message}"), style="yellow") for message in group.get("unbelieved", ())]
    policies = ", ".join(f"{policy} {reason}" for policy, reason in group["policies"].items())
    if policies:
        parts.append(Text(f"policies: {policies}"))
    parts += _held(group)
    parts += [Text(printable(line), style="cyan") for line in rolling_lines(group)]
    waits = waits_text(group["waits"], group)
    if waits:
        parts.append(Text(f"waiting: {waits}"))
    for key in ("boot", "drain"):
        if group.get(key) is not None:
            parts.append(Text(f"members {key}: {say_learned(LearnedTime(**group[key]))}"))
    return Group(*parts, Text(), members_table(group["members"]))


def _held(group: Row) -> Iterator[Text]:
    """Yield what holds changes of size back: pauses, quiet times, freezes, the turn of another group."""
    if group["pause"] in _PAUSES:
        yield Text(_PAUSES[group["pause"]], style="cyan")
    for quiet in group["quiets"]:
        yield Text(f"quiet until {clock_text(quiet['until'])} UTC after {quiet['policy'] or 'a resize'}")
    for freeze in group.get("freezes", ()):
        yield Text(printable(_frozen(freeze)), style="cyan")
    if group["queued"] is not None:
        queued = group["queued"]
        asked, kept = queued["request"], clock_text(queued["until"])
        message = f"waiting for its turn in the service: {asked['cause']} {asked['by']}, kept until {kept} UTC"
        yield Text(printable(message), style="cyan")


def _frozen(freeze: Row) -> str:
    what = "scaling" if freeze["direction"] == "both" else f"scale-{freeze['direction']}"
    because = f": {freeze['because']}" if freeze["because"] else ""
    return f"{what} frozen until {clock_text(freeze['until'])} UTC by {freeze['by']}{because}"


def _member_notes(member: Row) -> str:
    notes = [word for word in ("protected", "warming") if member[word]]
    if member["unheard_since"] is not None:
        notes.append(f"no answer since {clock_text(member['unheard_since'])}")
    if member["unready"]:
        notes.append(f"probe: {member['unready']}")
    return ", ".join(notes)


_MEMBERS: tuple[Column[Row], ...] = (
    Column("MEMBER", itemgetter("name")),
    Column("STATE", itemgetter("state"), itemgetter("state")),
    Column("SINCE (UTC)", lambda member: clock_text(member["state_since"])),
    Column("ADDRESS", lambda member: member["address"] or "–"),
    Column("MADE (UTC)", lambda member: clock_text(member["since"])),
    Column("CLOUD SAYS", itemgetter("raw_state")),
    Column("NOTES", _member_notes),
)


def members_table(members: list[Row]) -> RenderableType:
    """Return one line for each member."""
    return table(_MEMBERS, members, nothing="no members")


def _age(seconds: float) -> str:
    """Return an age, rounded to its scale.

    >>> _age(187500.0), _age(42.7)
    ('2d4h', '42s')
    """
    step = next((step for least, step in _AGES if seconds >= least), 1)
    return format_span(seconds // step * step)


_AGES = ((86400, 3600), (3600, 60))


def _there(item: Row) -> str:
    return " ".join(part for part in (item["server_id"] or "", item["raw_state"]) if part) or "–"


_GARBAGE: tuple[Column[Row], ...] = (
    Column("NAME", itemgetter("name")),
    Column("KIND", lambda item: item["kind"].replace("_", " ")),
    Column("AGE", lambda item: "–" if item["age"] is None else _age(item["age"])),
    Column("WHERE", itemgetter("where")),
    Column("THERE", _there),
    Column("WHY", itemgetter("because")),
)


def garbage_table(items: list[Row]) -> RenderableType:
    """Return one line for each piece of garbage."""
    return table(_GARBAGE, items, nothing="no garbage")


def _sizes(event: Row) -> str:
    if event["desired_to"] is None:
        return ""
    clamps = "".join(f", {clamp['guard']} {clamp['before']}→{clamp['after']}" for clamp in event["clamps"])
    return f"{_known(event['desired_from'])} → {event['desired_to']}{clamps}"


def _result(event: Row) -> str:
    return event["result"] or ""


_HISTORY: tuple[Column[Row], ...] = (
    Column("WHEN (UTC)", lambda event: moment_text(event["at"])),
    Column("WHAT", itemgetter("name")),
    Column("WHO", itemgetter("by")),
    Column("SIZE", _sizes),
    Column("RESULT", lambda event: _result(event) + (f" {event['message']}" if event["message"] else ""), _result),
)


def history_table(events: list[Row]) -> RenderableType:
    """Return one line for each event, newest first."""
    return table(_HISTORY, events, nothing="nothing has happened yet")


_PAUSES = {
    "decisions": "decisions are paused; repair goes on",
    "out": "scale-outs are paused; all else goes on",
    "in": "scale-ins are paused; all else goes on",
}
"""What each pause stops."""


def _in_cloud(member: Row) -> str:
    if member["server"]:
        return str(member["server"]["raw_state"])
    return "gone" if member["disproved"] else "not listed"


def _registrations(balancer_views: Row, member: Row) -> str:
    held = (
        f"{balancer} {balancer_view['seats'][member['name']]['state']}"
        for balancer, balancer_view in balancer_views.items()
        if balancer_view["seats"] is not None and member["name"] in balancer_view["seats"]
    )
    return ", ".join(held) or "–"


def world_table(world: Row) -> RenderableType:
    """Return what was observed: each member as the cloud, the balancers and the store have it."""
    columns: tuple[Column[Row], ...] = (
        Column("MEMBER", itemgetter("name")),
        Column("REMEMBERED", lambda member: member["record"]["phase"] if member["record"] else "–"),
        Column("CLOUD", _in_cloud),
        Column("READY", lambda member: {True: "yes", False: "no", None: "–"}[member["ready"]]),
        Column("SEATS", partial(_registrations, world["seatings"])),
    )
    whole = "the listing is complete" if world["complete"] else f"the listing is partial: {world['because']}"
    return Group(table(columns, world["members"]), Text(printable(whole)))


def _hook_notes(hook: Row) -> str:
    if hook["revoked_at"] is not None:
        return f"revoked {clock_text(hook['revoked_at'])}"
    return ", ".join(word for word, key in (("signed", "signed"), ("two tokens live", "rotating")) if hook[key])


def _hook_effects(hook: Row) -> str:
    if hook.get("policy") is not None:
        return f"executes {hook['policy']}"
    if hook.get("observe"):
        return "has groups looked at"
    return "pushed values" if hook["push"] else ", ".join(hook["effects"])


_HOOKS: tuple[Column[Row], ...] = (
    Column("NAME", itemgetter("name")),
    Column("GROUPS", lambda hook: ", ".join(hook["groups"]) or "all"),
    Column("EFFECTS", _hook_effects),
    Column("DIRECTIONS", lambda hook: (", ".join(hook["directions"]) or "none") if hook["effects"] else ""),
    Column("LAST USED (UTC)", lambda hook: clock_text(hook["last_used_at"])),
    Column("NOTES", _hook_notes),
)


def hooks_table(hooks: list[Row]) -> RenderableType:
    """Return one line for each webhook."""
    return table(_HOOKS, hooks, nothing="there are no webhooks: trimtab hook new NAME")


_NO_RATE = "no rate yet: the source had no newer count a second later; probe again, or see why for the last one"


def _read(say: Callable[[Row], str]) -> Callable[[Row], str]:
    """Show a text only for a reading that exists."""
    return lambda each: say(each) if each["reply"] == "ok" else ""


def _reading(each: Row) -> str:
    if each["reply"] != "ok":
        return str(each["reply"].replace("_", " "))
    return "–" if each["value"] is None else f"{each['value']:.6g} {each['unit']}".rstrip()


_READINGS: tuple[Column[Row], ...] = (
    Column("MEMBER", lambda each: each["member"] or "the group"),
    Column("COUNTER", itemgetter("counter")),
    Column("VALUE", _reading),
    Column("READING", _read(lambda each: f"{each['reading']:.15g}")),
    Column("TYPE", _read(itemgetter("kind"))),
    Column("AGE", _read(lambda each: f"{each['age']:.1f} s")),
    Column("TOOK", _read(lambda each: f"{each['took'] * 1000:.1f} ms")),
)


def probe_table(found: list[Row]) -> RenderableType:
    """Return one line for each reading; below them, each kind of failure with its fix."""
    if not found:
        return Text("no member is in service, so there is none to ask")
    wrong: dict[str, dict[str, None]] = {}
    for each in found:
        if (trouble := _trouble(each)) is not None:
            wrong.setdefault(trouble, {})[each["counter"]] = None
    lines = (f"{', '.join(counters)}: {trouble}" for trouble, counters in wrong.items())
    return Group(table(_READINGS, found), *(Text(printable(line), style="yellow") for line in lines))


def _trouble(each: Row) -> str | None:
    if each["reply"] != "ok":
        detail = f" ({each['said']})" if each["said"] else ""
        return f"{each['reply'].replace('_', ' ')}{detail}; {each['remedy']}"
    return _NO_RATE if each["value"] is None and each["kind"] == "counter" else None


_COUNTERS: tuple[Column[Row], ...] = (
    Column("WRITE", lambda each: f"  {each['source']}: {each['name']}{'.N' if each['table'] else ''}"),
    Column("KIND", itemgetter("kind")),
    Column("UNIT", lambda each: each["unit"] or "–"),
    Column("PER", lambda each: ", ".join(each["per"])),
    Column("WHAT IT TELLS", lambda each: each["description"] or "–"),
)


def counters_page(counters: list[Row]) -> RenderableType:
    """Return one line for each named counter, below the system that names it."""
    notes = [Text(".N: a row of a table; or leave .N out, and set with rows how all rows become one value")]
    drawn = table(_COUNTERS, counters, section=itemgetter("group"))
    return Group(drawn, *(notes if any(each["table"] for each in counters) else ()))


def _audit_origin(line: Row) -> str:
    return " ".join(filter(None, (line["way"], line.get("credential", ""), line.get("peer", ""))))


def _audit_result(line: Row) -> str:
    return "unknown: the daemon ended" if line["result"] == "asked" else str(line["result"])


def _audit_subject(line: Row) -> str:
    return " ".join(filter(None, (line.get("on") or line["act"], line.get("given", ""))))


_AUDIT: tuple[Column[Row], ...] = (
    Column("AT (UTC)", lambda line: clock_text(line["at"])),
    Column("WHO", itemgetter("who")),
    Column("FROM", _audit_origin),
    Column("WHAT", _audit_subject),
    Column("RESULT", _audit_result),
    Column("OUTCOME", lambda line: str(line.get("outcome", ""))),
    Column("REASON", lambda line: str(line.get("because", ""))),
)


def audit_table(wanted: list[Row]) -> RenderableType:
    """Return one line for each request."""
    return table(_AUDIT, wanted, nothing="nothing was asked for")
