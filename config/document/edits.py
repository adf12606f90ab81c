"""What an edit of the file changes, key by key, and which groups that touches. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.document.statement import Statement, Values, entry_of, is_masked
from config.model.catalogue import Site
from config.model.edits import Act, Edit
from config.model.where import Where, dotted
from config.units import GroupId, parse_span


def edits(before: Statement, after: Statement, sites: Mapping[Where, Site], file: str) -> tuple[Edit, ...]:
    """Return what an edit changed, in the order of keys.

    Args:
        before: the file before the edit.
        after: the file after the edit.
        sites: file and line of every value now.
        file: its name, for values that were removed.
    """
    users = _users(before, after)
    found = sorted(set(_differing(before.values, after.values)), key=lambda each: each[0])
    nowhere = Site(file=file, line=1, column=1)
    return tuple(
        Edit(
            key=dotted(where),
            act=act,
            before=_shown(before.values.get(where)),
            after=_shown(after.values.get(where)),
            file=(site := _site(where, sites) or nowhere).file,
            line=site.line,
            groups=tuple(sorted(users.get(entry_of(where), ()))),
        )
        for where, act in found
    )


def _users(before: Statement, after: Statement) -> Mapping[Where, set[GroupId]]:
    """Entry → the groups that went by it, or do now."""
    users: dict[Where, set[GroupId]] = {}
    for statement in (before, after):
        for group, entries in statement.used.items():
            for entry in entries:
                users.setdefault(entry, set()).add(group)
    return users


def _differing(before: Values, after: Values) -> Iterator[tuple[Where, Act]]:
    had, has = ({entry_of(where) for where in values} for values in (before, after))
    for where in {*before, *after}:
        entry, old, new = entry_of(where), before.get(where), after.get(where)
        if entry not in had:
            yield entry, Act.ADDED
        elif entry not in has:
            yield entry, Act.REMOVED
        elif old is None or new is None:
            yield where, Act.ADDED if old is None else Act.REMOVED
        elif not _is_same(old, new):
            yield where, Act.CHANGED


def _is_same(before: str, after: str) -> bool:
    """Whether two texts mean the same: ``60s`` is ``1m``."""
    if before == after:
        return True
    try:
        return parse_span(before) == parse_span(after)
    except ValueError:
        return False


def _shown(text: str | None) -> str | None:
    return None if text is None or is_masked(text) else text


def _site(where: Where, sites: Mapping[Where, Site]) -> Site | None:
    """Where a value stands, or else the nearest thing around it."""
    around = (where[:length] for length in range(len(where), 0, -1))
    return next((sites[each] for each in around if each in sites), None)
