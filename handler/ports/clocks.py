"""What time it is at the other side of an endpoint."""

from __future__ import annotations

from collections.abc import Callable

import requests

from collector.clients.http.pool import Bounded
from collector.clients.http.unanswered import why
from config.errors import Transient
from config.model.access import Trust
from config.units import CloudId, Instant, Seconds
from handler.ports.examination import Look, clock_look


def look_at_clock(cloud: CloudId, endpoint: str, trust: Trust, within: Seconds, clock: Callable[[], Instant]) -> Look:
    """Compare clocks by any answer at all: nothing is asked for, and no secret is sent.

    Raises:
        Transient: there was no answer.
    """
    before = clock()
    try:
        with Bounded(within) as session:
            date = session.get(endpoint, verify=trust.ca or not trust.insecure).headers.get("Date")
    except (requests.RequestException, OSError) as error:
        raise Transient(f"{cloud}: {endpoint} was not answered: {why(error)}") from None
    return clock_look(date, before, clock())
