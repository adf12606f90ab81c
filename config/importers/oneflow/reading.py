"""A JSON document → a service template, or everything that OneFlow itself would refuse.

Taken are the body of a template or of a service as OneFlow's API has it, and what ``oneflow-template show --json``
prints: a body within ``DOCUMENT``. Whole numbers may be written as text, as OneFlow allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Final

from config.document.places import ParsedText, Plain
from config.document.wording import show
from config.errors import DeclarationError, Problem
from config.importers.oneflow import keys
from config.importers.oneflow.schedules import refusal
from config.importers.oneflow.template import (
    Adjust,
    AdjustmentType,
    ElasticityPolicy,
    Leftover,
    OneflowRole,
    ScheduledPolicy,
    Template,
)
from config.model.expressions import Expression, ExpressionError
from config.model.oneflow_dialect import parse
from config.model.where import Where, dotted, hint
from config.units import Seconds

_MOST = 10**6
"""Members of a group."""
_LONGEST = 366 * 86400
_MOST_TIMES = 1000
_MOST_PROBLEMS = 100
"""More of them do not help the reader."""
_ROLE: Final = re.compile(r"[A-Za-z0-9_]{1,80}")
_WHOLE: Final = re.compile(r"\s*[-+]?[0-9]{1,40}\s*")


def read_template(reading: ParsedText) -> Template:
    """Take a template out of a JSON document.

    Raises:
        DeclarationError: with every problem, in the order of the file.
    """
    service = _Part(reading, *_body(reading))
    service.problems.extend(reading.problems)
    leftovers = [*service.leftovers(keys.SERVICE, keys.SERVICE_READ)]
    roles = tuple(_role(part, leftovers) for part in service.parts("roles"))
    if not roles and not service.problems:
        service.wrong((), "roles is missing: a service has one role at least")
    _refuse_same_names(roles, service)
    name = service.text("name") or "service"
    if service.problems:
        raise DeclarationError(tuple(sorted(set(service.problems)))[:_MOST_PROBLEMS])
    return Template(where=service.where, name=name, roles=roles, leftovers=tuple(leftovers))


def _body(reading: ParsedText) -> tuple[Where, Mapping[str, Plain]]:
    """Where the service itself stands: at the top, or within what the command line of OneFlow prints."""
    where: Where = ()
    data = reading.data
    for key in ("DOCUMENT", "TEMPLATE", "BODY"):
        inner = data.get(key)
        if "roles" in data or not isinstance(inner, dict):
            break
        where, data = (*where, key), inner
    return where, data


def _refuse_same_names(roles: tuple[OneflowRole, ...], service: _Part) -> None:
    seen: set[str] = set()
    for role in roles:
        if role.name and role.name in seen:
            service.wrong((*role.where, "name"), f"the role {role.name!a} stands twice", absolute=True)
        seen.add(role.name)


def _role(part: _Part, leftovers: list[Leftover]) -> OneflowRole:
    leftovers += part.leftovers(keys.ROLE, keys.ROLE_READ)
    kind = part.word("type", ("vm", "vr")) or "vm"
    template = part.data.get("template_id", part.data.get("vm_template"))
    elasticity = tuple(_elasticity(each, leftovers) for each in part.parts("elasticity_policies"))
    scheduled = tuple(_scheduled(each, leftovers) for each in part.parts("scheduled_policies"))
    role = OneflowRole(
        where=part.where,
        name=_role_name(part),
        type=kind,
        template=None if template is None else show(template),
        cardinality=part.whole("cardinality", least=0) or 0,
        min_vms=part.whole("min_vms", least=0),
        max_vms=part.whole("max_vms", least=0),
        cooldown=part.span("cooldown"),
        elasticity=elasticity,
        scheduled=scheduled,
    )
    _bounds(role, part)
    return role


def _role_name(part: _Part) -> str:
    name = part.text("name", must=True)
    if name is not None and not _ROLE.fullmatch(name):
        part.wrong(("name",), f"{show(name)} is not a role's name: up to 80 letters, digits and _")
    return name or ""


def _bounds(role: OneflowRole, part: _Part) -> None:
    if role.min_vms is not None and role.max_vms is not None and role.min_vms > role.max_vms:
        part.wrong(("min_vms",), f"{role.min_vms} is more than max_vms, {role.max_vms}")
    if role.elasticity or role.scheduled:
        for key in ("min_vms", "max_vms"):
            if part.data.get(key) is None:
                part.wrong((), f"{key} is missing: a role with policies needs it")


def _elasticity(part: _Part, leftovers: list[Leftover]) -> ElasticityPolicy:
    leftovers += part.leftovers({}, keys.ELASTICITY_READ)
    return ElasticityPolicy(
        where=part.where,
        adjust=_adjust(part),
        expression=_expression(part),
        period_number=part.whole("period_number", least=0, most=_MOST_TIMES),
        period=part.span("period"),
        cooldown=part.span("cooldown"),
    )


def _scheduled(part: _Part, leftovers: list[Leftover]) -> ScheduledPolicy:
    leftovers += part.leftovers({}, keys.SCHEDULED_READ)
    recurrence, start_time = part.text("recurrence"), part.text("start_time")
    if (part.data.get("recurrence") is None) == (part.data.get("start_time") is None):
        part.wrong((), "a scheduled policy has a recurrence or a start_time: one of the two")
    if recurrence and (unread := refusal(recurrence)):
        part.wrong(("recurrence",), f"OneFlow refuses the recurrence {show(recurrence)}: it does not read {unread}")
    return ScheduledPolicy(
        where=part.where,
        adjust=_adjust(part),
        recurrence=recurrence,
        start_time=start_time,
        cooldown=part.span("cooldown"),
    )


def _adjust(part: _Part) -> Adjust:
    word = part.word("type", tuple(each.value for each in AdjustmentType), must=True)
    step = part.whole("min_adjust_step")
    return Adjust(
        type=AdjustmentType(word) if word else AdjustmentType.CHANGE,
        amount=part.whole("adjust", must=True) or 0,
        min_adjust_step=None if step is None else abs(step),
    )


def _expression(part: _Part) -> Expression:
    text = part.text("expression", must=True)
    try:
        return parse("0 = 0" if text is None else text)
    except ExpressionError as error:
        part.wrong(("expression",), f"the expression, {error}")
        return parse("0 = 0")


class _Part:
    """One object of the document: gives its values, and collects their problems."""

    def __init__(
        self, reading: ParsedText, where: Where, data: Mapping[str, Plain], problems: list[Problem] | None = None
    ) -> None:
        self.where = where
        self.data = data
        self.problems: list[Problem] = [] if problems is None else problems
        self._reading = reading

    def wrong(self, key: Where, message: str, *, absolute: bool = False) -> None:
        where = key if absolute else (*self.where, *key)
        head = f"{dotted(where)}: " if where else ""
        self.problems.append(self._reading.problem(self._reading.site(where), f"{head}{message}"))

    def leftovers(self, why: Mapping[str, str], read: Set[str]) -> Iterator[Leftover]:
        for key, value in self.data.items():
            if key in read or (key in keys.RUN_TIME and key not in why) or (key in why and keys.is_idle(key, value)):
                continue
            yield Leftover(where=(*self.where, key), why=why.get(key, keys.UNKNOWN))

    def text(self, key: str, *, must: bool = False) -> str | None:
        value = self.data.get(key)
        if value is None:
            self._missing(key, must=must)
            return None
        if not isinstance(value, str):
            self.wrong((key,), f"{show(value)} is not text")
            return None
        return value

    def word(self, key: str, words: tuple[str, ...], *, must: bool = False) -> str | None:
        text = self.text(key, must=must)
        if text is None or text in words:
            return text
        self.wrong((key,), f"{show(text)} is not one of {', '.join(words)}{hint(text, words)}")
        return None

    def whole(self, key: str, *, least: int = -_MOST, most: int = _MOST, must: bool = False) -> int | None:
        value = self.data.get(key)
        if value is None:
            self._missing(key, must=must)
            return None
        number = _whole(value)
        if number is None or not least <= number <= most:
            self.wrong((key,), f"{show(value)} is not a whole number from {least} to {most}")
            return None
        return number

    def span(self, key: str) -> Seconds | None:
        seconds = self.whole(key, least=0, most=_LONGEST)
        return None if seconds is None else float(seconds)

    def parts(self, key: str) -> Iterator[_Part]:
        value = self.data.get(key)
        if value is not None and not isinstance(value, list):
            self.wrong((key,), f"{show(value)} is not a list")
            return
        for index, item in enumerate(value or ()):
            where = (*self.where, key, str(index))
            if isinstance(item, dict):
                yield _Part(self._reading, where, item, self.problems)
            else:
                self.wrong((key, str(index)), f"{show(item)} is not an object")

    def _missing(self, key: str, *, must: bool) -> None:
        if must:
            self.wrong((), f"{key} is missing")


def _whole(value: Plain) -> int | None:
    """A whole number, also one that is written as text."""
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer():
            return int(value)
        case str() if _WHOLE.fullmatch(value):
            return int(value)
        case _:
            return None
