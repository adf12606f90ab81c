"""How what a counter reads is written: SNMP objects, columns, statistics, paths, names of metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import PlainValidator, ValidationInfo

from config.counters.cloud_measures import CLOUDSTACK_FIELDS, NOVA_FIELDS
from config.counters.cloudstack import SHIPPED, read_builtin
from config.counters.haproxy import BACKEND_COLUMNS, COLUMNS
from config.counters.nitro import CLOUDSTACK_NAMES, MEMBER_STATISTICS, VSERVER_STATISTICS
from config.counters.objects import Lexicon, ObjectShape, numeric
from config.counters.well_known import WELL_KNOWN
from config.document.declared import worded
from config.model.counters import SnmpObject
from config.model.where import hint


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenObject:
    """An SNMP object as it is written, and what is known of its readings."""

    object: SnmpObject
    shape: ObjectShape | None


def read_object(value: object, lexicon: Lexicon) -> WrittenObject:
    """Read the name or the numeric OID of an SNMP object, or of a column of a table.

    While a MIB of the operator's cannot be read, a name that is not known may be one of its: it is let through, since
    the MIB is refused already.

    Raises:
        ValueError: says what was expected, with the nearest known names.
    """
    name = value.strip() if isinstance(value, str) else ""
    known = lexicon.resolve(name) or lexicon.column(name)
    oid = known.oid if known else numeric(name)
    if oid is None and name and not lexicon.whole:
        oid = _NOWHERE
    if oid is not None:
        return WrittenObject(object=SnmpObject(oid=oid, name=name), shape=known.shape if known else None)
    rivals = lexicon.rivals(name)
    if rivals:
        raise ValueError(f"clear, since several MIBs define it: write {' or '.join(rivals)}")
    close = lexicon.nearest(name)
    hinted = f"; the nearest known: {', '.join(close)}" if close else ""
    raise ValueError(
        f"a numeric OID with its instance, nor a well-known name such as UCD-SNMP-MIB::ssCpuUser.0{hinted}"
    )


_NOWHERE = "0.0"
"""zeroDotZero (RFC 2578): no object."""


def _read_in_context(value: object, info: ValidationInfo) -> WrittenObject:
    """The context of a validation is the lexicon of the file's own MIBs."""
    return read_object(value, info.context if isinstance(info.context, Lexicon) else WELL_KNOWN)


SnmpName = Annotated[WrittenObject, PlainValidator(_read_in_context), worded("SNMP object", type="string")]

BuiltinName = Annotated[
    str,
    PlainValidator(read_builtin),
    worded("counter that CloudStack ships", type="string", enum=[shipped.name for shipped in SHIPPED if shipped.keys]),
]


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
    worded("column of `show stat`", type="string", enum=sorted(COLUMNS.keys() | BACKEND_COLUMNS.keys())),
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


NetscalerStatistic = Annotated[str, PlainValidator(read_statistic), worded("statistic of NITRO", type="string")]


def read_path(value: object) -> str:
    """Read a JSONPath.

    Raises:
        ValueError: says what was expected, and where the path stops making sense.
    """
    if not isinstance(value, str):
        raise ValueError("a JSONPath such as $.queue.waiting")
    import jsonpath  # few files have one

    try:
        jsonpath.compile(value)
    except jsonpath.JSONPathError as error:
        raise ValueError(f"a JSONPath such as $.queue.waiting ({error.args[0]})") from error
    return value


JsonPath = Annotated[str, PlainValidator(read_path), worded("JSONPath", type="string")]

_METRIC = "[a-zA-Z_:][a-zA-Z0-9_:]*"


def read_metric(value: object) -> str:
    """Read the name of a metric. Source: OpenMetrics 1.0, `metricname`.

    Raises:
        ValueError: says what was expected.
    """
    if isinstance(value, str) and re.fullmatch(_METRIC, value):
        return value
    raise ValueError("the name of a metric, such as http_requests_in_flight; its labels go into labels")


MetricName = Annotated[
    str, PlainValidator(read_metric), worded("name of a metric", type="string", pattern=f"^{_METRIC}$")
]

_ATTRIBUTE = "[A-Za-z][A-Za-z0-9_]{0,63}"


def read_attribute(value: object) -> str:
    """Read the name of an attribute of OpenNebula, which stores names in upper case.

    Raises:
        ValueError: says what was expected.

    >>> read_attribute("nettx")
    'NETTX'
    """
    if isinstance(value, str) and re.fullmatch(_ATTRIBUTE, value):
        return value.upper()
    raise ValueError("the name of an attribute of OpenNebula, such as NETTX")


AttributeName = Annotated[
    str, PlainValidator(read_attribute), worded("attribute of OpenNebula", type="string", pattern=f"^{_ATTRIBUTE}$")
]


def read_cloudstack_field(value: object) -> str:
    """Read the name of a field of CloudStack's ``listVirtualMachinesMetrics``.

    Raises:
        ValueError: says what was expected, with the nearest known names.
    """
    if isinstance(value, str) and value in CLOUDSTACK_FIELDS:
        return value
    raise ValueError(f"a measurement of listVirtualMachinesMetrics{hint(str(value), CLOUDSTACK_FIELDS.keys())}")


CloudstackName = Annotated[
    str,
    PlainValidator(read_cloudstack_field),
    worded("field of CloudStack's metrics", type="string", enum=sorted(CLOUDSTACK_FIELDS)),
]


def read_nova_field(value: object) -> str:
    """Read the name of a field of Nova's diagnostics, with the part of the answer that it is in.

    Raises:
        ValueError: says what was expected, with the nearest known names.
    """
    if isinstance(value, str) and value in NOVA_FIELDS:
        return value
    raise ValueError(f"a measurement in Nova's diagnostics{hint(str(value), NOVA_FIELDS.keys())}")


NovaName = Annotated[
    str, PlainValidator(read_nova_field), worded("field of Nova's diagnostics", type="string", enum=sorted(NOVA_FIELDS))
]
