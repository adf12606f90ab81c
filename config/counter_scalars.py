"""How what a counter reads is written: SNMP objects, columns, statistics, paths, names of metrics."""

from __future__ import annotations

import re
from typing import Annotated

import jsonpath
from pydantic import PlainValidator, WithJsonSchema

from config.columns import BACKEND_COLUMNS, COLUMNS
from config.counters import SnmpObject
from config.nearest import hint
from config.nitro import CLOUDSTACK_NAMES, MEMBER_STATISTICS, VSERVER_STATISTICS
from config.objects import column, nearest, numeric, resolve


def read_object(value: object) -> SnmpObject:
    """Read the name or the numeric OID of an SNMP object, or of a column of a table.

    Raises:
        ValueError: says what was expected, with the nearest known names.
    """
    name = value.strip() if isinstance(value, str) else ""
    known = resolve(name) or column(name)
    oid = known.oid if known else numeric(name)
    if oid is not None:
        return SnmpObject(oid=oid, name=name)
    close = nearest(name)
    hinted = f"; the nearest known: {', '.join(close)}" if close else ""
    raise ValueError(
        f"a numeric OID with its instance, nor a well-known name such as UCD-SNMP-MIB::ssCpuUser.0{hinted}"
    )


SnmpName = Annotated[SnmpObject, PlainValidator(read_object), WithJsonSchema({"type": "string"})]


def read_column(value: object) -> str:
    """Read the name of a column of HAProxy's statistics.

    Raises:
        ValueError: says what was expected, with the nearest known columns.
    """
    known = COLUMNS.keys() | BACKEND_COLUMNS.keys()
    if isinstance(value, str) and value in known:
        return value
    raise ValueError(f"a number in a server's line of HAProxy's show stat{hint(str(value), known)}")


HaproxyColumn = Annotated[
    str,
    PlainValidator(read_column),
    WithJsonSchema({"type": "string", "enum": sorted(COLUMNS.keys() | BACKEND_COLUMNS.keys())}),
]


def read_statistic(value: object) -> str:
    """Read the name of a NetScaler statistic: NITRO's, or one of CloudStack's counters, which is translated.

    Raises:
        ValueError: says what was expected, with the nearest known names.
    """
    text = value if isinstance(value, str) else ""
    known = MEMBER_STATISTICS.keys() | VSERVER_STATISTICS.keys()
    name = CLOUDSTACK_NAMES.get(text.upper(), text)
    if name in known:
        return name
    raise ValueError(f"a NITRO statistic, nor a counter of CloudStack's such as RESPTIME{hint(str(value), known)}")


NetscalerStatistic = Annotated[str, PlainValidator(read_statistic), WithJsonSchema({"type": "string"})]


def read_path(value: object) -> str:
    """Read a JSONPath.

    Raises:
        ValueError: says what was expected, and where the path stops making sense.
    """
    if not isinstance(value, str):
        raise ValueError("a JSONPath such as $.queue.waiting")
    try:
        jsonpath.compile(value)
    except jsonpath.JSONPathError as error:
        raise ValueError(f"a JSONPath such as $.queue.waiting ({error.args[0]})") from error
    return value


JsonPath = Annotated[str, PlainValidator(read_path), WithJsonSchema({"type": "string"})]

_METRIC = "[a-zA-Z_:][a-zA-Z0-9_:]*"


def read_metric(value: object) -> str:
    """Read the name of a metric. Source: OpenMetrics 1.0, `metricname`.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, str) and re.fullmatch(_METRIC, value):
        return value
    raise ValueError("the name of a metric, such as http_requests_in_flight; its labels go into labels")


MetricName = Annotated[str, PlainValidator(read_metric), WithJsonSchema({"type": "string", "pattern": f"^{_METRIC}$"})]
