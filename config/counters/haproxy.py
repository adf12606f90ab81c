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


def _documented(shape: ObjectShape, description: str) -> ObjectShape:
    return replace(shape, description=description)


_MILLISECONDS = ObjectShape(unit="ms", bits=64)

COLUMNS: Mapping[str, ObjectShape] = MappingProxyType(
    {
        "qcur": _documented(ObjectShape(unit="requests", bits=64), "Requests waiting in its own queue."),
        "qmax": _documented(
            ObjectShape(unit="requests", bits=64), "Greatest number of requests that ever waited in its own queue."
        ),
        "scur": _documented(ObjectShape(unit="sessions", bits=64), "Sessions now."),
        "smax": _documented(ObjectShape(unit="sessions", bits=64), "Greatest number of sessions ever."),
        "slim": _documented(ObjectShape(unit="sessions", bits=64), "Sessions that there may be."),
        "stot": _documented(_rising("sessions/s"), "Sessions that began."),
        "bin": _documented(_rising("bytes/s"), "Bytes from clients."),
        "bout": _documented(_rising("bytes/s"), "Bytes to clients."),
        "dresp": _documented(_rising("responses/s"), "Responses refused by a rule."),
        "econ": _documented(_rising("errors/s"), "Connections to a server that failed."),
        "eresp": _documented(_rising("errors/s"), "Responses that failed."),
        "wretr": _documented(_rising("retries/s"), "Connections tried again."),
        "wredis": _documented(
            _rising("redispatches/s"), "Requests sent to another server than the one that was chosen."
        ),
        "weight": _documented(ObjectShape(bits=64), "Weight as it is now."),
        "uweight": _documented(ObjectShape(bits=64), "Weight as it was set."),
        "chkfail": _documented(_rising("checks/s"), "Health checks that failed."),
        "chkdown": _documented(_rising("transitions/s"), "Changes from up to down."),
        "downtime": _documented(ObjectShape(unit="s", bits=64), "Time that it has been down."),
        "throttle": _documented(
            ObjectShape(unit="percent", bits=64, range=(0.0, 100.0)),
            "Share of its work that it gets while it starts slowly.",
        ),
        "lbtot": _documented(_rising("requests/s"), "Times that it was chosen."),
        "rate": _documented(ObjectShape(unit="sessions/s", bits=64), "Sessions that began in the last second."),
        "rate_max": _documented(
            ObjectShape(unit="sessions/s", bits=64), "Greatest number of sessions that began in one second."
        ),
        "check_duration": _documented(_MILLISECONDS, "Time that the last health check took."),
        "agent_duration": _documented(_MILLISECONDS, "Time that the last agent check took."),
        "hanafail": _documented(_rising("failures/s"), "Failures seen in its traffic."),
        "hrsp_1xx": _documented(_rising("responses/s"), "Responses with status 100 to 199."),
        "hrsp_2xx": _documented(_rising("responses/s"), "Responses with status 200 to 299."),
        "hrsp_3xx": _documented(_rising("responses/s"), "Responses with status 300 to 399."),
        "hrsp_4xx": _documented(_rising("responses/s"), "Responses with status 400 to 499."),
        "hrsp_5xx": _documented(_rising("responses/s"), "Responses with status 500 to 599."),
        "hrsp_other": _documented(_rising("responses/s"), "Responses with another status."),
        "req_tot": _documented(_rising("requests/s"), "HTTP requests."),
        "cli_abrt": _documented(_rising("sessions/s"), "Transfers that clients broke off."),
        "srv_abrt": _documented(_rising("sessions/s"), "Transfers that servers broke off."),
        "lastsess": _documented(ObjectShape(unit="s", bits=64), "Time since a session was last given to it."),
        "qtime": _documented(_MILLISECONDS, "Time in the queue, on average over the last 1,024 requests."),
        "ctime": _documented(_MILLISECONDS, "Time to connect, on average over the last 1,024 requests."),
        "rtime": _documented(
            _MILLISECONDS, "Time to the response, on average over the last 1,024 requests; 0 for TCP."
        ),
        "ttime": _documented(_MILLISECONDS, "Time of a whole session, on average over the last 1,024 requests."),
        "connect": _documented(_rising("connections/s"), "Connections tried."),
        "reuse": _documented(_rising("connections/s"), "Connections used again."),
        "wrew": _documented(_rising("failures/s"), "Headers that could not be rewritten."),
        "eint": _documented(_rising("errors/s"), "Internal errors."),
        "srv_icur": _documented(ObjectShape(unit="connections", bits=64), "Idle connections that can be used again."),
        "idle_conn_cur": _documented(
            ObjectShape(unit="connections", bits=64), "Idle connections that are not safe to use again."
        ),
        "safe_conn_cur": _documented(
            ObjectShape(unit="connections", bits=64), "Idle connections that are safe to use again."
        ),
        "used_conn_cur": _documented(ObjectShape(unit="connections", bits=64), "Connections in use."),
        "need_conn_est": _documented(
            ObjectShape(unit="connections", bits=64), "Connections that it is thought to need."
        ),
        "qtime_max": _documented(_MILLISECONDS, "Greatest time in the queue."),
        "ctime_max": _documented(_MILLISECONDS, "Greatest time to connect."),
        "rtime_max": _documented(_MILLISECONDS, "Greatest time to a response."),
        "ttime_max": _documented(_MILLISECONDS, "Greatest time of a session."),
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
        "act": _documented(ObjectShape(unit="members", bits=64), "Active members that are up."),
        "bck": _documented(ObjectShape(unit="members", bits=64), "Backup members that are up."),
        "dreq": _documented(_rising("requests/s"), "Requests refused by a rule."),
        "comp_in": _documented(_rising("bytes/s"), "Bytes of responses fed into compression."),
        "comp_out": _documented(_rising("bytes/s"), "Bytes of responses that compression gave out."),
        "comp_byp": _documented(
            _rising("bytes/s"), "Bytes of responses that were not compressed for want of CPU or bandwidth."
        ),
        "comp_rsp": _documented(_rising("responses/s"), "Responses that were compressed."),
        "cache_lookups": _documented(_rising("requests/s"), "Requests looked up in the cache."),
        "cache_hits": _documented(_rising("requests/s"), "Requests answered from the cache."),
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
