"""The columns of HAProxy's ``show stat`` that are numbers: in a member's server line, and in a backend's.

Source: HAProxy management guide, section 9.1, "CSV format", compared with what HAProxy 2.6 fills; columns that only
frontends have are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from config.counters import Kind
from config.objects import Shape
from config.reductions import Reduce


def _rising(unit: str) -> Shape:
    return Shape(kind=Kind.RISING, bits=64, unit=unit)


_MILLISECONDS = Shape(unit="ms", bits=64)

COLUMNS: Mapping[str, Shape] = MappingProxyType(
    {
        "qcur": Shape(unit="requests", bits=64),  # waiting in the server's own queue
        "qmax": Shape(unit="requests", bits=64),
        "scur": Shape(unit="sessions", bits=64),
        "smax": Shape(unit="sessions", bits=64),
        "slim": Shape(unit="sessions", bits=64),
        "stot": _rising("sessions/s"),
        "bin": _rising("bytes/s"),
        "bout": _rising("bytes/s"),
        "dresp": _rising("responses/s"),
        "econ": _rising("errors/s"),
        "eresp": _rising("errors/s"),
        "wretr": _rising("retries/s"),
        "wredis": _rising("redispatches/s"),
        "weight": Shape(bits=64),  # as it is now; uweight: as it was set
        "uweight": Shape(bits=64),
        "chkfail": _rising("checks/s"),
        "chkdown": _rising("transitions/s"),
        "downtime": Shape(unit="s", bits=64),
        "throttle": Shape(unit="percent", bits=64, range=(0.0, 100.0)),
        "lbtot": _rising("requests/s"),
        "rate": Shape(unit="sessions/s", bits=64),  # over the last second, by HAProxy itself
        "rate_max": Shape(unit="sessions/s", bits=64),
        "check_duration": _MILLISECONDS,
        "agent_duration": _MILLISECONDS,
        "hanafail": _rising("failures/s"),
        "hrsp_1xx": _rising("responses/s"),
        "hrsp_2xx": _rising("responses/s"),
        "hrsp_3xx": _rising("responses/s"),
        "hrsp_4xx": _rising("responses/s"),
        "hrsp_5xx": _rising("responses/s"),
        "hrsp_other": _rising("responses/s"),
        "req_tot": _rising("requests/s"),
        "cli_abrt": _rising("sessions/s"),
        "srv_abrt": _rising("sessions/s"),
        "lastsess": Shape(unit="s", bits=64),
        "qtime": _MILLISECONDS,  # averages over the last 1,024 successful connections
        "ctime": _MILLISECONDS,
        "rtime": _MILLISECONDS,
        "ttime": _MILLISECONDS,
        "connect": _rising("connections/s"),
        "reuse": _rising("connections/s"),
        "wrew": _rising("failures/s"),
        "eint": _rising("errors/s"),
        "srv_icur": Shape(unit="connections", bits=64),
        "idle_conn_cur": Shape(unit="connections", bits=64),
        "safe_conn_cur": Shape(unit="connections", bits=64),
        "used_conn_cur": Shape(unit="connections", bits=64),
        "need_conn_est": Shape(unit="connections", bits=64),
        "qtime_max": _MILLISECONDS,
        "ctime_max": _MILLISECONDS,
        "rtime_max": _MILLISECONDS,
        "ttime_max": _MILLISECONDS,
    }
)

_OF_BACKENDS_TOO = (
    *("qcur", "qmax", "scur", "smax", "slim", "stot", "bin", "bout", "dresp", "econ", "eresp"),
    *("wretr", "wredis", "weight", "uweight", "req_tot", "chkdown", "downtime", "lbtot", "rate", "rate_max"),
    *("hrsp_1xx", "hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other"),
    *("cli_abrt", "srv_abrt", "lastsess", "qtime", "ctime", "rtime", "ttime", "connect", "reuse", "wrew", "eint"),
    *("qtime_max", "ctime_max", "rtime_max", "ttime_max"),
)

BACKEND_COLUMNS: Mapping[str, Shape] = MappingProxyType(
    {column: COLUMNS[column] for column in _OF_BACKENDS_TOO}
    | {
        "act": Shape(unit="members", bits=64),
        "bck": Shape(unit="members", bits=64),
        "dreq": _rising("requests/s"),
        "comp_in": _rising("bytes/s"),
        "comp_out": _rising("bytes/s"),
        "comp_byp": _rising("bytes/s"),
        "comp_rsp": _rising("responses/s"),
        "cache_lookups": _rising("requests/s"),
        "cache_hits": _rising("requests/s"),
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

Averages and peaks cannot be added: nobody knows how many requests are behind an average, and peaks are not of one
moment; so the worst counts. Members that sit on several balancers are the same members, so ``act``, ``bck`` and weights
are not added either. The last session is the latest of all.
"""
