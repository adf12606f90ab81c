"""Select numbers from documents: by a JSONPath, or by the name of a metric. Pure.

Results of a selection:

* nothing, or JSON's ``null``: NO_SUCH_COUNTER. An empty answer is absence, never zero, even if rows are counted;
* a number, or text that is a decimal number: its value;
* ``true`` and ``false``: MALFORMED. Many programs write ``false`` where they failed, and it would become a zero;
* text, a list, an object, NaN, an infinity: MALFORMED;
* several: see `collector.sources.reducing`; one row that is not a number fails all;
* a duplicate series or key of an object: AMBIGUOUS, even if rows are added up;
* a document that is visibly cut short: INCOMPLETE.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonpath

from collector.clients.http.client import HttpFailure
from collector.parsing import DuplicateKey, loads, number
from collector.samples import Reply
from collector.sources.http.metrics_text import FamilySamples, Sample, identity, samples_of, stem_of
from config.model.counters import JsonPick, MetricPick

LONGEST_JSON = 2 * 1024 * 1024
"""A longer document would hold every other thread for more than 20 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedNumber:
    """One number of a document."""

    value: float
    name: str | None
    """Identifies it in the next document; ``None``: it has only a position in a list."""
    taken: float | None = None
    """Its time, in seconds since the epoch by the server's clock; ``None``: now."""
    created: float | None = None
    """When the count began, likewise; ``None``: unknown."""


Picked = Sequence[PickedNumber] | HttpFailure
"""At least one row."""


def picked(body: bytes, content_type: str, picks: Sequence[JsonPick | MetricPick]) -> Sequence[Picked]:
    r"""Select several numbers from one answer.

    >>> document = b'{"queue": {"waiting": "42", "workers": [{"busy": 3}, {"busy": 4}]}}'
    >>> found = picked(document, "", [JsonPick(path="$.queue.waiting"), JsonPick(path="$.queue.workers[*].busy")])
    >>> [[row.value for row in rows] for rows in found]
    [[42.0], [3.0, 4.0]]
    >>> text = b"# TYPE jobs gauge\njobs{queue=\"a\"} 42\n"
    >>> picked(text, "text/plain; version=0.0.4", [MetricPick(name="jobs", labels={"queue": "a"})])[0][0].value
    42.0
    """
    document: _Document | None = None
    done: list[Picked] = []
    for pick in picks:
        if isinstance(pick, MetricPick):
            done.append(_metric(samples_of(body, content_type, pick.name), pick))
            continue
        document = document or _document(body)
        done.append(_at(document, pick.path))
    return done


@dataclass(frozen=True, slots=True)
class _Document:
    content: Any
    failure: HttpFailure | None = None


def _document(body: bytes) -> _Document:
    if len(body) > LONGEST_JSON:
        return _Document(None, HttpFailure(reply=Reply.MALFORMED, detail=f"more than {LONGEST_JSON} bytes of JSON"))
    try:
        return _Document(loads(body))
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip())
        detail = f"invalid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        return _Document(None, HttpFailure(reply=Reply.INCOMPLETE if cut and body else Reply.MALFORMED, detail=detail))
    except DuplicateKey as error:
        return _Document(None, HttpFailure(reply=Reply.AMBIGUOUS, detail=str(error)))
    except (ValueError, RecursionError) as error:
        return _Document(None, HttpFailure(reply=Reply.MALFORMED, detail=f"invalid JSON: {type(error).__name__}"))


@lru_cache(maxsize=1024)
def _compiled(path: str) -> jsonpath.JSONPath | jsonpath.CompoundJSONPath:
    return jsonpath.compile(path)


def _at(document: _Document, path: str) -> Picked:
    if document.failure is not None:
        return document.failure
    try:
        matches = list(_compiled(path).finditer(document.content))
    except (jsonpath.JSONPathError, RecursionError, ValueError, TypeError) as error:
        return HttpFailure(reply=Reply.MALFORMED, detail=f"{path} cannot be evaluated ({type(error).__name__})")
    rows: list[PickedNumber] = []
    for match in matches:
        value = _number(match.obj)
        if isinstance(value, HttpFailure):
            return value
        listed = any(isinstance(part, int) for part in match.parts)
        rows.append(PickedNumber(value=value, name=None if listed else str(match.path)))
    return rows or HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"{path} finds nothing")


def _number(found: object) -> float | HttpFailure:
    match found:
        case None:
            return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail="null")
        case bool():
            return HttpFailure(reply=Reply.MALFORMED, detail=f"{str(found).lower()} is not a number")
        case int() | float():
            try:
                return float(found)
            except OverflowError:
                return HttpFailure(reply=Reply.MALFORMED, detail="the number is too large")
        case str():
            value = number(found)
            return HttpFailure(reply=value, detail=f"{found!a} is not a number") if isinstance(value, Reply) else value
        case _:
            kind = "a list" if isinstance(found, list) else "an object"
            return HttpFailure(reply=Reply.MALFORMED, detail=f"{kind} is not a number")


def _metric(found: FamilySamples | HttpFailure, pick: MetricPick) -> Picked:
    if isinstance(found, HttpFailure):
        return found
    samples = found.all
    named = [sample for sample in samples if sample.name == pick.name]
    created = {
        identity(sample.labels): sample.value for sample in samples if sample.name == f"{stem_of(pick.name)}_created"
    }
    rows = [
        PickedNumber(
            value=sample.value,
            name=identity(sample.labels),
            taken=sample.taken,
            created=created.get(identity(sample.labels)),
        )
        for sample in named
        if all(sample.labels.get(label, "") == value for label, value in pick.labels.items())
    ]
    if any((name, row.name) in found.twice for row in rows for name in (pick.name, f"{stem_of(pick.name)}_created")):
        return HttpFailure(reply=Reply.AMBIGUOUS, detail=f"{pick.name} occurs twice with the same labels")
    return rows or HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=_missing(pick.name, samples, labelled=bool(named)))


def _missing(name: str, samples: Sequence[Sample], *, labelled: bool) -> str:
    if labelled:
        return f"no sample of {name} has these labels"
    others = sorted({sample.name for sample in samples})[:3]
    return f"no {name}" + (f", but {', '.join(others)}" if others else "")
