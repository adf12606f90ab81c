"""The columns of HAProxy's ``show stat`` that are numbers: in a member's server line, and in a backend's.

Source: HAProxy management guide, section 9.1, "CSV format", compared with what HAProxy 2.6 fills; columns that only
frontends have are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from config.counters.objects import ObjectShape
from config.model.counters import CounterKind
from config.model.reductions import Reduce


def _rising(unit: str) -> ObjectShape:
    return ObjectShape(kind=CounterKind.RISING, bits=64, unit=unit)


def _told(shape: ObjectShape, description: str) -> ObjectShape:
    return replace(shape, description=description)


_MILLISECONDS = ObjectShape(unit="ms", bits=64)

COLUMNS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "qcur": _told(ObjectShape(unit="requests", bits=64), "Requests waiting in its own queue."),
        "qmax": _told(
            ObjectShape(unit="requests", bits=64), "Greatest number of requests that ever waited in its own queue."
        ),
        "scur": _told(ObjectShape(unit="sessions", bits=64), "Sessions now."),
        "smax": _told(ObjectShape(unit="sessions", bits=64), "Greatest number of sessions ever."),
        "slim": _told(ObjectShape(unit="sessions", bits=64), "Sessions that there may be."),
        "stot": _told(_rising("sessions/s"), "Sessions that began."),
        "bin": _told(_rising("bytes/s"), "Bytes from clients."),
        "bout": _told(_rising("bytes/s"), "Bytes to clients."),
        "dresp": _told(_rising("responses/s"), "Responses refused by a rule."),
        "econ": _told(_rising("errors/s"), "Connections to a server that failed."),
        "eresp": _told(_rising("errors/s"), "Responses that failed."),
        "wretr": _told(_rising("retries/s"), "Connections tried again."),
        "wredis": _told(_rising("redispatches/s"), "Requests sent to another server than the one that was chosen."),
        "weight": _told(ObjectShape(bits=64), "Weight as it is now."),
        "uweight": _told(ObjectShape(bits=64), "Weight as it was set."),
        "chkfail": _told(_rising("checks/s"), "Health checks that failed."),
        "chkdown": _told(_rising("transitions/s"), "Changes from up to down."),
        "downtime": _told(ObjectShape(unit="s", bits=64), "Time that it has been down."),
        "throttle": _told(
            ObjectShape(unit="percent", bits=64, range=(0.0, 100.0)),
            "Share of its work that it gets while it starts slowly.",
        ),
        "lbtot": _told(_rising("requests/s"), "Times that it was chosen."),
        "rate": _told(ObjectShape(unit="sessions/s", bits=64), "Sessions that began in the last second."),
        "rate_max": _told(
            ObjectShape(unit="sessions/s", bits=64), "Greatest number of sessions that began in one second."
        ),
        "check_duration": _told(_MILLISECONDS, "Time that the last health check took."),
        "agent_duration": _told(_MILLISECONDS, "Time that the last agent check took."),
        "hanafail": _told(_rising("failures/s"), "Failures seen in its traffic."),
        "hrsp_1xx": _told(_rising("responses/s"), "Responses with status 100 to 199."),
        "hrsp_2xx": _told(_rising("responses/s"), "Responses with status 200 to 299."),
        "hrsp_3xx": _told(_rising("responses/s"), "Responses with status 300 to 399."),
        "hrsp_4xx": _told(_rising("responses/s"), "Responses with status 400 to 499."),
        "hrsp_5xx": _told(_rising("responses/s"), "Responses with status 500 to 599."),
        "hrsp_other": _told(_rising("responses/s"), "Responses with another status."),
        "req_tot": _told(_rising("requests/s"), "HTTP requests."),
        "cli_abrt": _told(_rising("sessions/s"), "Transfers that clients broke off."),
        "srv_abrt": _told(_rising("sessions/s"), "Transfers that servers broke off."),
        "lastsess": _told(ObjectShape(unit="s", bits=64), "Time since a session was last given to it."),
        "qtime": _told(_MILLISECONDS, "Time in the queue, on average over the last 1,024 requests."),
        "ctime": _told(_MILLISECONDS, "Time to connect, on average over the last 1,024 requests."),
        "rtime": _told(_MILLISECONDS, "Time to the response, on average over the last 1,024 requests; 0 for TCP."),
        "ttime": _told(_MILLISECONDS, "Time of a whole session, on average over the last 1,024 requests."),
        "connect": _told(_rising("connections/s"), "Connections tried."),
        "reuse": _told(_rising("connections/s"), "Connections used again."),
        "wrew": _told(_rising("failures/s"), "Headers that could not be rewritten."),
        "eint": _told(_rising("errors/s"), "Internal errors."),
        "srv_icur": _told(ObjectShape(unit="connections", bits=64), "Idle connections that can be used again."),
        "idle_conn_cur": _told(
            ObjectShape(unit="connections", bits=64), "Idle connections that are not safe to use again."
        ),
        "safe_conn_cur": _told(
            ObjectShape(unit="connections", bits=64), "Idle connections that are safe to use again."
        ),
        "used_conn_cur": _told(ObjectShape(unit="connections", bits=64), "Connections in use."),
        "need_conn_est": _told(ObjectShape(unit="connections", bits=64), "Connections that it is thought to need."),
        "qtime_max": _told(_MILLISECONDS, "Greatest time in the queue."),
        "ctime_max": _told(_MILLISECONDS, "Greatest time to connect."),
        "rtime_max": _told(_MILLISECONDS, "Greatest time to a response."),
        "ttime_max": _told(_MILLISECONDS, "Greatest time of a session."),
    }
)

_OF_BACKENDS_TOO = (
    *("qcur", "qmax", "scur", "smax", "slim", "stot", "bin", "bout", "dresp", "econ", "eresp"),
    *("wretr", "wredis", "weight", "uweight", "req_tot", "chkdown", "downtime", "lbtot", "rate", "rate_max"),
    *("hrsp_1xx", "hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other"),
    *("cli_abrt", "srv_abrt", "lastsess", "qtime", "ctime", "rtime", "ttime", "connect", "reuse", "wrew", "eint"),
    *("qtime_max", "ctime_max", "rtime_max", "ttime_max"),
)

BACKEND_COLUMNS: Mapping[str, ObjectShape] = MappingProxyType(
    {column: COLUMNS[column] for column in _OF_BACKENDS_TOO}
    | {
        "act": _told(ObjectShape(unit="members", bits=64), "Active members that are up."),
        "bck": _told(ObjectShape(unit="members", bits=64), "Backup members that are up."),
        "dreq": _told(_rising("requests/s"), "Requests refused by a rule."),
        "comp_in": _told(_rising("bytes/s"), "Bytes of responses fed into compression."),
        "comp_out": _told(_rising("bytes/s"), "Bytes of responses that compression gave out."),
        "comp_byp": _told(
            _rising("bytes/s"), "Bytes of responses that were not compressed for want of CPU or bandwidth."
        ),
        "comp_rsp": _told(_rising("responses/s"), "Responses that were compressed."),
        "cache_lookups": _told(_rising("requests/s"), "Requests looked up in the cache."),
        "cache_hits": _told(_rising("requests/s"), "Requests answered from the cache."),
    }
)

TOGETHER: Mapping[str, Reduce] = MappingProxyType(
    dict.fromkeys(
        (
            *("qtime", "ctime", "rtime", "ttime", "check_duration", "agent_duration"),
            *("qtime_max", "ctime_max", "rtime_max", "ttime_max", "qmax", "smax", "rate_max"),
            *("weight", "uweight", "throttle", "downtime", "act", "bck"),
        ),
        Reduce.MAX,
    )
    | {"lastsess": Reduce.MIN}
)
"""How lines of several backends become one number, where it is not their sum.

Averages and peaks cannot be added: it is unknown how many requests are behind an average, and peaks are not of one
moment; so the worst counts. Members that sit on several balancers are the same members, so ``act``, ``bck`` and weights
are not added either. The last session is the latest of all.
"""
