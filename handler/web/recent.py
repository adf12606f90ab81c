"""``/api/v1/groups/{group}/series``: the numbers of the last half hour, for other programs' charts."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from config.units import GroupId
from handler.operations.facade import Operations
from handler.ports.stored import EventKind
from handler.web.description import api_router
from handler.web.needs import READS
from handler.web.render import Json, plain

_MARKS = 100
Column = list[float | None]


class SizesColumns(BaseModel):
    """Columns of equal length, oldest first; null: not known at that instant."""

    at: list[float] = Field(description="Seconds since the epoch.")
    desired: Column
    in_service: Column
    minimum: Column
    maximum: Column


class CurveColumns(BaseModel):
    """One condition at the instants of ``judged_at``; null: its value was unknown."""

    condition: str
    counter: str
    unit: str
    across: str
    aggregate: str
    window: float
    compare: str
    per_group: bool = Field(description="The counter has one value for the whole group: ignore across.")
    values: Column
    thresholds: Column


class SeriesBody(BaseModel):
    """At most half an hour and 600 ticks. Times without rows are unknown."""

    group: str
    interval: float = Field(description="Seconds between ticks; do not join rows that are much further apart.")
    began: float | None = Field(description="When this daemon recorded the first row; null: it has none.")
    sizes: SizesColumns
    judged_at: list[float]
    curves: list[CurveColumns]
    marks: list[dict[str, object]] = Field(description="Decisions and notes of this time, as in the history.")


def build_recent(operations: Operations) -> APIRouter:
    """Make the route."""
    routes = api_router(tags=["reading"], dependencies=[READS])

    @routes.get("/groups/{group}/series", response_model=SeriesBody)
    async def series(group: str) -> JSONResponse:
        kinds = frozenset({EventKind.DECISION, EventKind.NOTE})
        events = await operations.history(GroupId(group), before=None, limit=_MARKS, kinds=kinds)
        picture = operations.recent(GroupId(group)).picture(operations.now())
        first = min((*picture.sizes.at[:1], *picture.at[:1]), default=None)
        body: dict[str, Json] = {
            "group": group,
            "interval": picture.interval,
            "began": picture.began,
            "sizes": plain(picture.sizes),
            "judged_at": plain(picture.at),
            "curves": [
                {**_fields(plain(curve.line)), "values": plain(curve.values), "thresholds": plain(curve.thresholds)}
                for curve in picture.curves
            ],
            "marks": [plain(event) for event in events if first is not None and event.at >= first],
        }
        return JSONResponse(body)

    return routes


def _fields(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
