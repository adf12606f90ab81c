"""Freeze windows of a group as they are written."""

from __future__ import annotations

from typing import Annotated

from pydantic import Strict

from config.document.declared import Declared, key, must
from config.document.scalars import PositiveSpan
from config.document.schedules import Cron, Timezone
from config.model.calendars import Calendar
from config.model.effects import Way
from config.model.freezes import FreezeWindow


class FreezeDocument(Declared):
    """A time that recurs, at which policies and alarms leave the size alone."""

    schedule: Cron = must("When it begins: five fields as cron has them.", "0 22 * * fri")
    duration: PositiveSpan = must("How long it lasts each time.", "58h")
    timezone: Timezone = key("Where the clock stands that the schedule means.", "Europe/Paris", default="UTC")
    direction: Annotated[Way, Strict(False)] = key(
        "Which changes of size are frozen: in, out or both.", "in", default="both"
    )

    @property
    def window(self) -> FreezeWindow:
        """What the core sees."""
        calendar = Calendar(cron=self.schedule, timezone=self.timezone)
        return FreezeWindow(calendar=calendar, duration=self.duration, way=self.direction)
