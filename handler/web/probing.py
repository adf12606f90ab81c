"""What was probed, as JSON: the API and `trimtab probe --json` say the same."""

from __future__ import annotations

from collections.abc import Iterable

from handler.operations.readings import Probed
from handler.web.render import Json, plain


def probed_plain(found: Iterable[Probed]) -> list[Json]:
    """Every reading as an object; replies by name, in lower case."""
    return [_one(each) for each in found]


def _one(each: Probed) -> Json:
    fields = plain(each)
    return {**fields, "reply": each.reply.word} if isinstance(fields, dict) else fields
